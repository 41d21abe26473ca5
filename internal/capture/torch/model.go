package torch

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/stepscope/stepscope/internal/api/wire"
	"github.com/stepscope/stepscope/internal/base/atomicfile"
)

// mostConfig is the maximum size of a config.json, in bytes.
const mostConfig = 4 << 20

// modelConfig returns the config.json of the server's model, from which the work of its steps follows. It returns nil if
// the server runs on another host, if its model is in no directory of this host, or if the file is no JSON object.
func (m *member) modelConfig(ctx context.Context) []byte {
	if !here(ctx, m.URL) {
		return nil
	}
	var args struct {
		Model string `json:"model_path"`
	}
	json.Unmarshal(m.raw, &args) // without a path, the list of models has it
	if args.Model == "" {
		var list wire.ModelList
		if !m.askFor(ctx, "/v1/models", &list) || len(list.Data) == 0 {
			return nil
		}
		args.Model = list.Data[0].Root
	}
	for _, dir := range []string{args.Model, snapshot(args.Model)} {
		if !filepath.IsAbs(dir) {
			continue
		}
		path := filepath.Join(dir, "config.json")
		if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() || st.Size() > mostConfig {
			continue
		}
		text, err := atomicfile.ReadFile(path)
		var object map[string]any
		if err == nil && json.Unmarshal(text, &object) == nil {
			return text
		}
	}
	return nil
}

// snapshot returns the directory of the main revision of a model in the cache of Hugging Face; "": it is not there.
func snapshot(id string) string {
	org, name, ok := strings.Cut(id, "/")
	if !ok || org == "" || strings.Contains(name, "/") || strings.Contains(id, "..") {
		return ""
	}
	home := os.Getenv("HF_HOME")
	if home == "" {
		user, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		home = filepath.Join(user, ".cache", "huggingface")
	}
	dir := filepath.Join(home, "hub", "models--"+org+"--"+name)
	revision, err := os.ReadFile(filepath.Join(dir, "refs", "main"))
	if err != nil || !filepath.IsLocal(strings.TrimSpace(string(revision))) {
		return ""
	}
	return filepath.Join(dir, "snapshots", strings.TrimSpace(string(revision)))
}
