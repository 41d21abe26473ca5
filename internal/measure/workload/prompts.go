package workload

import (
	"fmt"
	"os"
	"strings"
)

// Prompts reads a file with one prompt per line. A file without prompts is an error.
func Prompts(path string) (out []string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s has no prompt", path)
	}
	return out, nil
}
