package job

import (
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/atomicfile"
)

// Limits on the output that is shown for a failed task. The limits are necessary because server logs are long.
const (
	lastLines = 10
	lastBytes = 64 << 10 // number of bytes at the end of the output that are searched for these lines
)

// output returns the last lines of a task's output.
func (r *Run) output(p *Proc) string {
	name := p.Name
	for _, w := range r.workers {
		if w == p {
			base, _, _ := strings.Cut(p.Name, "_n")
			name = r.nodeName(p.Node) + "_" + base
		}
	}
	f, err := atomicfile.Open(filepath.Join(r.dir, name+".out"))
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

// reason returns the error message in the output of a load. If there is no error message, it returns the last line. The
// error message need not be the last line, because results on stdout may follow the message.
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
