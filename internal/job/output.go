package job

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Limits of the output shown for a failed task: server logs are long.
const (
	lastLines = 10
	lastBytes = 64 << 10 // searched for them
)

// output returns the end of a task's output.
func (r *Run) output(p *Proc) string {
	name := p.Name
	for _, w := range r.workers {
		if w == p {
			base, _, _ := strings.Cut(p.Name, "_n")
			name = r.nodeName(p.Node) + "_" + base
		}
	}
	f, err := os.Open(filepath.Join(r.dir, name+".out"))
	if err != nil {
		return ""
	}
	defer f.Close()
	if size, err := f.Seek(0, io.SeekEnd); err == nil {
		f.Seek(max(0, size-lastBytes), io.SeekStart)
	}
	text, _ := io.ReadAll(io.LimitReader(f, lastBytes))
	return string(text)
}

// reason returns a load's own error message, or else its last line: results on stdout may follow the message.
func reason(text string) string {
	lines := strings.Split(text, "\n")
	for _, line := range slices.Backward(lines) {
		if why, ok := strings.CutPrefix(line, "stepscope: "); ok {
			return why
		}
	}
	return lastLine(text)
}

// ending returns the last lines of a text.
func ending(text string) []string {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	return lines[max(0, len(lines)-lastLines):]
}
