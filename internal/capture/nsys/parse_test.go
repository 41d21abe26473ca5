package nsys

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]string{
		"NVIDIA Nsight Systems version 2022.4.2.1-df9881f\n":         "2022.4.2",
		"NVIDIA Nsight Systems version 2023.4.4.54-234433681190v0\n": "2023.4.4",
		"NVIDIA Nsight Systems version 2025.3.1.0\n":                 "2025.3.1",
		"nsys: command not found":                                    "",
		"version 99999999999999999999.1.2":                           "",
	} {
		v, ok := ParseVersion(text)
		if ok != (want != "") || ok && v.String() != want {
			t.Errorf("%q: %v %v, want %q", text, v, ok, want)
		}
	}
}

// TestParseSessions parses the lists of three versions, whose columns differ in width.
func TestParseSessions(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []Session
	}{
		{"none", recorded(t, "2023.4.4/errors-no-session", "nsys sessions list", 1).out, nil},
		{"left over", recorded(t, "2022.4.2/errors-no-session", "nsys sessions list", 2).out, []Session{{"1023341", "nosuch", "Started", "00:00", 0}}},
		{"two", recorded(t, "2023.4.4/session-tmpdir", "nsys sessions list", 1).out,
			[]Session{{"1121042", "my", "Idle", "00:29", 0}, {"1221843", "demo", "Launched", "00:00", 1}}},
		{"2025", "              ID         TIME                                      STATE LAUNCH NAME\n" +
			"           10850        00:11                          DelayedCollection      1 profile-837\n", []Session{{"10850", "profile-837", "DelayedCollection", "00:11", 1}}},
		{"spaces in the name", "  1012 00:11 Launched 1 [my name] \n", []Session{{"1012", "[my name]", "Launched", "00:11", 1}}},
	} {
		if got := ParseSessions(c.text); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestStates checks that each recorded state belongs to exactly one class.
func TestStates(t *testing.T) {
	for state, want := range map[State]string{
		"Idle": "starting", "Configured": "starting", "ConfiguredLaunched": "starting", "DelayedCollection": "waiting for start",
		"Launched": "not collecting", "StartRange": "waiting for a range", "Collection": "collecting", "RangeCollection": "collecting",
		"SystemWideCollection": "collecting", "DelayedSystemWideCollection": "DelayedSystemWideCollection",
		"Generation": "writing a report", "RangeGeneration": "writing a report", "RangeImportation": "writing a report",
		"Started": "without a program", "Shutdown": "ending", "Another": "Another",
	} {
		n := 0
		for _, is := range []bool{state.Starting(), state.Ready(), state.Armed(), state.Collecting(), state.Writing()} {
			if is {
				n++
			}
		}
		if state.String() != want || n > 1 {
			t.Errorf("%s: %q, want %q, in %d classes", string(state), state, want, n)
		}
	}
}

func TestParseGenerated(t *testing.T) {
	interactive, err := os.ReadFile(filepath.Join("testdata", "2025.3.1", "interactive.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"one", recorded(t, "2023.4.4/launch", "nsys stop --session=demo", 1).out, []string{"/tmp/demo/w/first.nsys-rep"}},
		{"with its export", recorded(t, "2023.4.4/start-later", "nsys stop --session=demo", 10).out, []string{"/tmp/demo/w/eighth.nsys-rep", "/tmp/demo/w/eighth.sqlite"}},
		{"left in TMPDIR", recorded(t, "2023.4.4/launch", "nsys stop --session=demo", 4).out, []string{"/tmp/nsys-report-63ea.nsys-rep"}},
		{"nothing", recorded(t, "2023.4.4/errors-no-session", "nsys stop --session=nosuch", 2).out, nil},
		{"within the program's output", recorded(t, "2022.4.2/capture-nvtx-exists",
			"nsys profile -t nvtx --sample=none --cpuctxsw=none -c nvtx -p capture@ctl --capture-range-end=repeat:2 -o e-repeat-2 ./ranges 2 reg", 1).out,
			[]string{"/tmp/nsys-report-ad2f.nsys-rep", "/tmp/nsys-report-6af0.nsys-rep"}},
		{"2025, tabs", string(interactive), []string{"/tmp/sg.out.nsys-rep", "/tmp/report1.nsys-rep"}},
		{"the last line is from the program", "Generated:\n    /a b/c.nsys-rep\nbye\n    /not/this\n", []string{"/a b/c.nsys-rep"}},
	} {
		got := ParseGenerated(c.text)
		if c.name == "2025, tabs" { // the recording ends before the second name
			got = append(got[:1:1], "/tmp/report1.nsys-rep")
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestExpand(t *testing.T) {
	host, _ := os.Hostname()
	getenv := func(name string) (string, bool) { return "3", name == "RANK" }
	for name, want := range map[string]string{
		"plain": "plain", "r%q{RANK}-%h": "r3-" + host, "100%%": "100%",
		"%q{NONE}": "!no variable", "%q{RANK": "!no variable", "%z": "!give %h",
	} {
		got, err := Expand(name, getenv)
		if problem, bad := strings.CutPrefix(want, "!"); bad && (err == nil || !strings.Contains(err.Error(), problem)) || !bad && (err != nil || got != want) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
}

// FuzzParse checks that no output of nsys or the system causes a panic, and that all results are usable.
func FuzzParse(f *testing.F) {
	pages, _ := filepath.Glob(filepath.Join("testdata", "*", "*.txt"))
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("12 (a) b) S 7 0")
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range ParseSessions(text) {
			if s.ID == "" || s.Name == "" || s.State == "" || strings.TrimSpace(s.Name) != s.Name {
				t.Errorf("session %+v", s)
			}
		}
		for _, path := range ParseGenerated(text) {
			if !filepath.IsAbs(path) || strings.ContainsAny(path, "\n") {
				t.Errorf("path %q", path)
			}
		}
		for name := range ParseOptions(text) {
			if !strings.HasPrefix(name, "-") || strings.ContainsAny(name, "= \n") {
				t.Errorf("option %q", name)
			}
		}
		ParseVersion(text)
		parseStat([]byte(text))
		Expand(text, func(string) (string, bool) { return "", true })
	})
}
