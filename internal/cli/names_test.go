//go:build unix

package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// evil is what a name may hold to deceive who reads it: a new line, a carriage return, ESC sequences of seven and of
// eight bits, DEL, marks that turn what follows around, and bytes that are no UTF-8.
const evil = "w\x1b[2J\x1b]0;t\a\u009b1m\x7f\u202egz\u2066\u200f\nstepscope: all is well\r\b\xff"

// TestEvilNames: what comes from outside, names of files and contents, reaches terminals without what would move
// their cursor, and begins no line of ours.
func TestEvilNames(t *testing.T) {
	dir := t.TempDir()
	quoted := strings.NewReplacer("\x1b", `\u001b`, "\a", `\u0007`, "\u009b", `\u009b`, "\u202e", `\u202e`, "\n", `\n`, "\r", `\r`, "\b", `\b`).Replace(evil)
	event := `{"ph":"X","cat":"CAT","name":"EVIL","pid":1,"tid":7,"ts":1,"dur":2,"args":{"stream":7,"device":0,"correlation":1}}`
	text := func(events ...string) string {
		return strings.ReplaceAll(`{"host_name":"EVIL","trace_id":"EVIL","distributedInfo":{"rank":0,"world_size":3,"backend":"EVIL"},"traceEvents":[`+
			strings.Join(events, ",\n"), "EVIL", quoted)
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Skip(err) // file systems that take no such names
		}
		return path
	}
	as := func(cat string) string { return strings.ReplaceAll(event, "CAT", cat) }
	step := `{"ph":"X","cat":"user_annotation","name":"step[DECODE bs=1]","pid":1,"tid":1,"ts":0,"dur":9}`
	set := filepath.Join(dir, "set")
	write("set/"+evil+"-TP-0.trace.json", text(step, as("kernel"), as("cuda_runtime"), as("cpu_op"), as("EVIL"))+"]}")
	write("set/"+evil+"-TP-1.trace.json", text(step, as("kernel"), as("EVIL"), `{"ph":"\u202e"},{{{`, as("kernel"), `{"ph":"X","na`)) // broken, and cut off
	one := write("one/"+evil+".json", text(step, as("kernel"), as("cuda_runtime"))+"]}")
	broken := write("broken/"+evil+".json", "no trace")
	out := filepath.Join(dir, evil)
	for _, args := range [][]string{
		{"trace", "check", set}, {"trace", "check", one}, {"trace", "check", broken}, {"trace", "check", evil},
		{"trace", "merge", set, "-o", filepath.Join(dir, "all"+evil+".json")}, {"trace", "merge", broken}, {"trace", "merge", one, "--profile-id", evil},
		{"trace", "merge", one, "-o", filepath.Join(out, "none", evil)}, {"trace", "merge", set, "--align", "always", "--format", "pftrace"},
		{"trace", "cut", set, "--steps", "0", "-o", filepath.Join(dir, "cut"+evil)}, {"trace", "cut", one, "--redact", "--merge"}, {"trace", "cut", one, "--steps", evil},
		{"trace", "export", set, "-o", filepath.Join(dir, "x"+evil+".csv")}, {"trace", "export", broken, "--format", "csv"},
		{"analyze", set}, {"analyze", set, "--markdown"}, {"analyze", one, "--all"}, {"analyze", broken}, {"analyze", set, "--rules", evil},
		{"compare", set, one, "--all"}, {"compare", one, one, "--markdown"},
		{"trace", "check", set, "--json"}, {"trace", "merge", set, "--json"}, {"analyze", set, "--json"}, {"compare", set, one, "--json"},
		{"runs", "show", evil}, {evil}, {"trace", "check", "--" + evil},
	} {
		var stdout, stderr bytes.Buffer
		Main(args, nil, &stdout, &stderr)
		if stdout.Len()+stderr.Len() == 0 {
			t.Errorf("%q says nothing", args)
		}
		for stream, said := range map[string]string{"stdout": stdout.String(), "stderr": stderr.String()} {
			if strings.ContainsFunc(said, func(r rune) bool {
				return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
			}) || strings.Contains(said, "\xff") {
				t.Errorf("%q: %s: %q", args, stream, said)
			}
			if strings.Contains("\n"+said, "\nstepscope: all is well") {
				t.Errorf("%q: %s has a line that is not ours:\n%s", args, stream, said)
			}
		}
	}
}
