package spec

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// jobFile matches the text of a job file.
var jobFile = regexp.MustCompile(`(?m)^(name|base):`)

// recipes returns the texts of all job files in the checkouts that STEPSCOPE_RECIPES lists.
func recipes(t *testing.T) map[string]string {
	t.Helper()
	list := os.Getenv("STEPSCOPE_RECIPES")
	if list == "" {
		t.Skip("STEPSCOPE_RECIPES has no checkouts of NVIDIA/srt-slurm and NVIDIA/srt-slurm-recipes")
	}
	all := map[string]string{}
	for _, dir := range filepath.SplitList(list) {
		for _, sub := range []string{"recipes", "examples"} {
			err := filepath.WalkDir(filepath.Join(dir, sub), func(path string, d os.DirEntry, err error) error {
				if err != nil || d.IsDir() || !strings.HasPrefix(filepath.Ext(path), ".y") {
					return nil
				}
				text, err := os.ReadFile(path)
				if err == nil && jobFile.Match(text) {
					all[path] = string(text)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return all
}

// TestRecipes loads the recipes of srtctl. srtctl itself accepts all of them but one, which has the dialect M.
func TestRecipes(t *testing.T) {
	texts := recipes(t)
	counts := map[string]int{}
	began := time.Now()
	for _, path := range slices.Sorted(maps.Keys(texts)) {
		f, err := Load(path, []byte(texts[path]), "")
		if err != nil {
			counts["invalid"]++
			t.Errorf("%v", err)
			continue
		}
		counts["valid"]++
		counts["dialect "+string(f.Dialect)]++
		counts["jobs"] += len(f.Variants)
		classes := map[string]bool{}
		for _, n := range f.Notes {
			classes[string(n.Class)] = true
			if strings.Contains(n.Text, "did you mean") && !strings.Contains(n.Text, "gsm8k") {
				t.Errorf("a hint about a key that srtctl knows: %v", n)
			}
		}
		for c := range classes {
			counts[strings.TrimSpace("notes "+c)]++
		}
		misfit := false
		for _, v := range f.Variants {
			if v.Misfit != "" {
				counts["misfit jobs"]++
				misfit = true
			}
		}
		if misfit {
			counts["misfit files"]++
		}
	}
	t.Logf("%v after %v", counts, time.Since(began))
	if !maps.Equal(counts, recipeCounts) {
		t.Errorf("got %v\nwant %v; if the checkouts are newer, change the table in docs/formats/job.md, too", counts, recipeCounts)
	}
}

// recipeCounts are the counts for srt-slurm of 2026-08-21 and srt-slurm-recipes of 2026-08-05.
var recipeCounts = map[string]int{
	"valid": 1071, "dialect ": 2, "dialect H": 1068, "dialect M": 1, "jobs": 5048, "misfit jobs": 1532, "misfit files": 28,
	"notes cannot_run": 701, "notes ignored": 1057, "notes warning": 37,
}
