package workload

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/stepscope/stepscope/internal/api/client"
)

// Sources lists the possible sources of a tokenizer.
type Sources struct {
	Flag   string         // --tokenizer: a model directory or a tokenizer.json
	Server *client.Server // nil: none
	Model  string         // model name on the server
	// Need makes Resolve return an error instead of an Estimate.
	Need bool
}

// Resolve finds a tokenizer in the same order as bench_serving. The first source is the flag. The second source is the
// directory that /model_info names as tokenizer_path or model_path, if the directory is on this machine. If both
// sources fail, bench_serving downloads from Hugging Face, whereas Resolve uses the server's /tokenize or, if that is
// not available, an Estimate. The result why is one line that names the chosen tokenizer and the sources that failed.
func Resolve(ctx context.Context, s Sources) (tok Tokenizer, why string, err error) {
	if s.Flag != "" {
		local, err := OpenLocal(s.Flag)
		if errors.Is(err, os.ErrNotExist) {
			return nil, "", fmt.Errorf("--tokenizer %s: no such directory or no tokenizer.json in it: give a directory on this machine (nothing is downloaded), or leave --tokenizer out to use the server's /tokenize", s.Flag)
		}
		if err != nil {
			return nil, "", fmt.Errorf("--tokenizer %s: %w", s.Flag, err)
		}
		return local, local.String(), nil
	}
	tried := "no --tokenizer"
	if s.Server != nil {
		served := NewServed(s.Server, s.Model)
		for _, path := range served.modelPaths(ctx) {
			if _, err := os.Stat(filepath.Join(path, "tokenizer.json")); err != nil {
				continue // the path exists only on the server's machine, or it is the name of a model at Hugging Face
			}
			local, err := OpenLocal(path)
			if err == nil {
				return local, local.String() + ", as reported by the server", nil
			}
			tried += fmt.Sprintf("; %v", err)
		}
		err := served.probe(ctx)
		if err == nil {
			return served, fmt.Sprintf("%s (%s)", served, tried), nil
		}
		if ctx.Err() != nil {
			return nil, "", ctx.Err()
		}
		tried += fmt.Sprintf("; %v", err)
	}
	if s.Need {
		return nil, "", fmt.Errorf("no tokenizer: %s: give a model directory with a tokenizer.json as --tokenizer", tried)
	}
	return Estimate{}, fmt.Sprintf("%s (%s)", Estimate{}, tried), nil
}

// probe checks whether the server has both /tokenize and /detokenize.
func (s *Served) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := specials(ctx, s); err != nil {
		return err
	}
	_, err := s.Decode(ctx, [][]int32{{0}}, false)
	return err
}

// modelPaths queries a server for the location of its tokenizer. vLLM does not report this location.
func (s *Served) modelPaths(ctx context.Context) []string {
	var info struct {
		Tokenizer string `json:"tokenizer_path"`
		Model     string `json:"model_path"`
	}
	for _, route := range []string{"/model_info", "/get_model_info"} { // the route's new name and its old name
		one, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := s.server.Get(one, route, &info)
		cancel()
		if err == nil {
			break
		}
	}
	var paths []string
	for _, p := range []string{info.Tokenizer, info.Model} {
		if p != "" {
			paths = append(paths, p)
		}
	}
	return paths
}
