package workload

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
)

// hubShareGPT returns the path of ShareGPT's file in the cache of the Hugging Face hub. If the cache does not contain
// the file, it returns "". SGLang's client also searches this cache first. The snapshot of the main branch has
// precedence over other snapshots.
func hubShareGPT(env func(string) string) string {
	home := ""
	if dir := cmp.Or(env("XDG_CACHE_HOME"), under(env("HOME"), ".cache")); dir != "" {
		home = filepath.Join(dir, "huggingface")
	}
	hub := cmp.Or(env("HF_HUB_CACHE"), env("HUGGINGFACE_HUB_CACHE"), under(cmp.Or(env("HF_HOME"), home), "hub"))
	if hub == "" {
		return ""
	}
	set := filepath.Join(hub, "datasets--anon8231489123--ShareGPT_Vicuna_unfiltered")
	var snapshots []string
	if main, err := os.ReadFile(filepath.Join(set, "refs", "main")); err == nil {
		snapshots = append(snapshots, filepath.Base(strings.TrimSpace(string(main))))
	}
	entries, _ := os.ReadDir(filepath.Join(set, "snapshots"))
	for _, e := range entries {
		snapshots = append(snapshots, e.Name())
	}
	for _, name := range snapshots {
		path := filepath.Join(set, "snapshots", name, shareGPTFile)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// under joins a directory and a name. It returns "" if dir is "".
func under(dir, name string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name)
}
