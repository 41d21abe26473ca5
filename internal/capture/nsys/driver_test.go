package nsys

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestStart opens windows on sessions in every state. nsys answers a start of an unknown session with a new session and
// exit status 0, so the driver must not ask it.
func TestStart(t *testing.T) {
	taken := recorded(t, "2023.4.4/launch", "nsys start --session=demo", 1)
	for _, c := range []struct {
		name     string
		sessions []reply
		start    reply
		want     string // expected error; "": none
		asked    bool
	}{
		{"launched", []reply{list("1010417", "Launched", "demo"), list("1010417", "Collection", "demo")}, reply{}, "", true},
		{"coming up", []reply{list("1010417", "Idle", "demo"), list("1010417", "Launched", "demo"), list("1010417", "Collection", "demo")}, reply{}, "", true},
		{"start-later", []reply{list("1010417", "DelayedCollection", "demo"), list("1010417", "Collection", "demo")}, reply{}, "", true},
		{"unknown", []reply{none}, reply{}, "session 1010417 has ended", false},
		{"twice", []reply{list("1010417", "Collection", "demo")}, reply{}, "session demo is collecting: a window is open", false},
		{"writing", []reply{list("1010417", "Generation", "demo")}, reply{}, "session demo is writing a report: try again", false},
		{"waiting for a range", []reply{list("1010417", "StartRange", "demo")}, reply{}, "session demo is waiting for a range: the program opens", false},
		{"left over", []reply{list("1010417", "Started", "demo")}, reply{}, "session demo is without a program: it has nothing to record", false},
		{"started meanwhile", []reply{list("1010417", "Launched", "demo")}, taken, "nsys says: Configuring is not allowed in this state", true},
		{"ended meanwhile", []reply{list("1010417", "Launched", "demo"), none}, reply{}, "session demo ended when it was started", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			tool, calls := fake(t, map[string][]reply{"sessions": c.sessions, "start": {c.start}})
			err := tool.Start(t.Context(), "1010417", "/x/w.nsys-rep", []string{"--gpuctxsw=true"})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v, want %q", err, c.want)
			}
			want := "start --session=1010417 --sample=none --cpuctxsw=none --gpuctxsw=true --force-overwrite=true --output=/x/w.nsys-rep\n"
			if strings.Contains(calls(), want) != c.asked {
				t.Errorf("asked:\n%s", calls())
			}
		})
	}
}

func TestStop(t *testing.T) {
	collecting := []reply{list("1010417", "Collection", "demo")}
	for _, c := range []struct {
		name     string
		sessions []reply
		stop     reply
		made     []string
		want     string
	}{
		{"collecting", collecting, recorded(t, "2023.4.4/launch", "nsys stop --session=demo", 1), []string{"/tmp/demo/w/first.nsys-rep"}, ""},
		{"the name was taken", collecting, recorded(t, "2022.4.2/launch", "nsys stop --session=demo", 4), []string{"/tmp/nsys-report-b601.nsys-rep"}, ""},
		{"twice", []reply{list("1010417", "Launched", "demo")}, reply{}, nil, "session demo is not collecting: no window is open"},
		{"before the first start", []reply{list("1010417", "DelayedCollection", "demo")}, reply{}, nil, "session demo is waiting for start: no window is open"},
		{"being written", []reply{list("1010417", "RangeGeneration", "demo")}, reply{}, nil, "already closed"},
		{"no range yet", []reply{list("1010417", "StartRange", "demo")}, recorded(t, "2023.4.4/capture-nvtx-start-by-hand", "nsys stop --session=demo", 1),
			[]string{"/tmp/demo/w/hand.nsys-rep"}, ""},
		{"unknown", []reply{none}, reply{}, nil, "has ended"},
		{"stopped meanwhile, 2023", collecting, recorded(t, "2023.4.4/launch", "nsys stop --session=demo", 2), nil, "nsys says: Collection stop is not allowed in this state"},
		{"stopped meanwhile, 2022", collecting, recorded(t, "2022.4.2/launch", "nsys stop --session=demo", 2), nil, "nsys says: The request is not applicable in this state: StopRequest"},
		{"ended meanwhile", collecting, recorded(t, "2023.4.4/errors-no-session", "nsys stop", 1), nil, "nsys says: There are no active sessions"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tool, _ := fake(t, map[string][]reply{"sessions": c.sessions, "stop": {c.stop}})
			made, err := tool.Stop(t.Context(), "1010417", time.Minute)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) || !slices.Equal(made, c.made) {
				t.Errorf("%q, %v, want %q, %q", made, err, c.made, c.want)
			}
		})
	}
}

// TestSettleRecording checks that the importer is run again if nsys could not import its recording.
func TestSettleRecording(t *testing.T) {
	for _, c := range []struct{ name, importer, problem string }{
		{"works the second time", `cp "$2" "$4"`, ""},
		{"always fails", `echo half >"$4"; echo File is corrupted.; exit 2`, "QdstrmImporter cannot import it: File is corrupted."},
		{"no importer", "", "this nsys has no QdstrmImporter"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			put := func(name, text string) string {
				path := filepath.Join(dir, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o777)); err != nil {
					t.Fatal(err)
				}
				return path
			}
			tool := At(put("target-linux-x64/nsys", ""), dir)
			if c.importer != "" {
				put("host-linux-x64/QdstrmImporter", "#!/bin/sh\n"+c.importer+"\n")
			}
			raw, want := put("w.qdstrm", "recording"), filepath.Join(dir, "w.nsys-rep")
			path, size, err := tool.Settle(t.Context(), []string{raw}, want)
			left, _ := filepath.Glob(filepath.Join(dir, "w*"))
			if c.problem == "" {
				if path != want || size != 9 || err != nil || len(left) != 1 {
					t.Errorf("%q %d %v, left %q", path, size, err, left)
				}
				return
			}
			if path != "" || err == nil || !strings.HasPrefix(err.Error(), "nsys wrote no report of its recording "+raw) || !strings.Contains(err.Error(), c.problem) || len(left) != 1 {
				t.Errorf("%q %v, left %q", path, err, left)
			}
		})
	}
}

// TestSettle checks a stop that nsys answers with status 0 and a path in TMPDIR, because it could not write the report
// to its destination.
func TestSettle(t *testing.T) {
	tmp, dir := t.TempDir(), t.TempDir()
	tool := At(filepath.Join(tmp, "nsys"), tmp)
	put := func(path, text string) string {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	want := filepath.Join(dir, "w.nsys-rep")
	left := put(filepath.Join(tmp, "nsys-report-63ea.nsys-rep"), "data")
	path, size, err := tool.Settle(t.Context(), []string{left, filepath.Join(tmp, "x.sqlite")}, want)
	if path != want || size != 4 || err != nil {
		t.Errorf("moved: %s %d %v", path, size, err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("still there: %v", err)
	}
	if path, size, err = tool.Settle(t.Context(), []string{want}, want); path != want || size != 4 || err != nil {
		t.Errorf("at its destination: %s %d %v", path, size, err)
	}
	if path, _, err = tool.Settle(t.Context(), []string{want}, ""); path != want || err != nil {
		t.Errorf("anywhere: %s %v", path, err)
	}
	if path, _, err = tool.Settle(t.Context(), []string{want}, filepath.Join(dir, "no", "w.nsys-rep")); path != want || err == nil || !strings.Contains(err.Error(), "it is "+want) {
		t.Errorf("no such directory: %s %v", path, err)
	}
	for name, made := range map[string][]string{"none": nil, "gone": {filepath.Join(tmp, "gone.nsys-rep")}, "empty": {put(filepath.Join(tmp, "e.nsys-rep"), "")}} {
		if path, _, err := tool.Settle(t.Context(), made, filepath.Join(dir, name+".nsys-rep")); path != "" || err == nil {
			t.Errorf("%s: %s %v", name, path, err)
		}
	}
}

// TestPlan checks the command line of each mode, for two versions.
func TestPlan(t *testing.T) {
	const server = "--trace=cuda,nvtx --trace-fork-before-exec=true --cuda-graph-trace=node "
	for _, c := range []struct {
		name, version string
		l             Launch
		args, start   string // "" and no start: rejected
	}{
		{"whole", "2023.4.4", Launch{Mode: Whole}, "profile " + server + "--sample=none --cpuctxsw=none --force-overwrite=true --output=/r/x --session-new=s", ""},
		{"start-later", "2023.4.4", Launch{Mode: Later}, "launch " + server + "--session-new=s", ""},
		{"start-later, which 2022 does not have", "2022.4.2", Launch{Mode: Later}, "launch " + server + "--session-new=s", ""},
		{"the user's own", "2023.4.4", Launch{Mode: Whole, Options: []string{"--trace=nvtx,osrt", "--sample=process-tree", "--stats=true"}},
			"profile --trace-fork-before-exec=true --cuda-graph-trace=node --cpuctxsw=none --force-overwrite=true --output=/r/x --session-new=s " +
				"--trace=nvtx,osrt --sample=process-tree --stats=true", "--sample=process-tree --stats=true"},
		{"options of start, under an old name", "2023.4.4", Launch{Mode: Later, Options: []string{"--gpu-metrics-devices=all", "--cuda-memory-usage=true"}},
			"launch " + server + "--session-new=s --cuda-memory-usage=true", "--gpu-metrics-device=all"},
		{"ranges of CUDA", "2022.4.2", Launch{Mode: Range, Range: "cudaProfilerApi"}, "launch " + server + "--session-new=s", ""},
		{"ranges of NVTX", "2022.4.2", Launch{Mode: Range, Range: "nvtx"}, "launch " + server + "--nvtx-capture=cudaProfilerApi@stepscope --session-new=s", ""},
		{"ranges by nsys", "2023.4.4", Launch{Mode: Own, Range: "nvtx", NVTX: "a@b", Options: []string{"--capture-range-end=repeat"}},
			"profile " + server + "--sample=none --cpuctxsw=none --force-overwrite=true --output=/r/x --capture-range=nvtx --nvtx-capture=a@b --session-new=s --capture-range-end=repeat", ""},
		{"an option that it lacks", "2022.4.2", Launch{Mode: Whole, Options: []string{"--python-sampling=true"}}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			tool, _ := fake(t, helps(t, c.version, map[string][]reply{}))
			c.l.Tool, c.l.Session, c.l.Output = tool, "s", "/r/x"
			p, err := c.l.Plan(t.Context())
			if err != nil {
				if c.args != "" || !strings.Contains(err.Error(), "has no option --python-sampling for profile") {
					t.Error(err)
				}
				return
			}
			if got := strings.Join(p.Args, " "); got != c.args {
				t.Errorf("%s\nwant %s", got, c.args)
			}
			if got := strings.Join(p.Start, " "); got != c.start {
				t.Errorf("start: %q, want %q", got, c.start)
			}
		})
	}
}

// TestRunRetries checks that a failed start of 2022.4.2 is retried, since it fails occasionally, and that an error in
// the command line is reported once.
func TestRunRetries(t *testing.T) {
	race := recorded(t, "2022.4.2/errors-startup-race", "nsys launch -t nvtx --session-new=demo /bin/bash graceful.sh", 1)
	illegal := recorded(t, "2022.4.2/errors-profile", "nsys profile -t bogus ./server 1", 1)
	tool, calls := fake(t, helps(t, "2022.4.2", map[string][]reply{"sessions": {none}, "launch": {race, {err: "Agent launcher failed.\n", status: 1}, illegal}}))
	var out, errs bytes.Buffer
	l := &Launch{
		Tool: tool, Dir: t.TempDir(), Session: "s", Mode: Later, Output: "/r/x", Command: []string{"true"},
		Stdout: &out, Stderr: &errs, Log: func(line string) { t.Log(line) },
	}
	_, err := l.Run(t.Context())
	if !errors.Is(err, ErrNotStarted) || !strings.Contains(err.Error(), "Illegal --trace argument 'bogus'") {
		t.Errorf("%v", err)
	}
	for _, name := range []string{"s", "s-2", "s-2-3"} {
		if strings.Count(calls(), "--session-new="+name+" ") != 1 {
			t.Errorf("no launch of %s:\n%s", name, calls())
		}
	}
}

// TestWindows checks that window numbers are used once, and that the report names of sessions stay apart.
func TestWindows(t *testing.T) {
	dir := t.TempDir()
	r := &Record{Nsys: "/n/nsys", Version: "2023.4.4", TmpDir: "/tmp", Session: "s", ID: "10417", Mode: Later, Output: filepath.Join(dir, "x")}
	if err := os.WriteFile(r.Output+"-window-2.nsys-rep", nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := r.Save(dir); err != nil {
		t.Fatal(err)
	}
	back, err := ReadRecord(dir)
	if err != nil || back.Tool().Version != (Version{2023, 4, 4}) {
		t.Fatalf("%+v, %v", back, err)
	}
	var outputs []string
	for _, output := range []string{"", "", "/mine.nsys-rep", ""} {
		w, err := back.NewWindow(dir, output)
		if err != nil {
			t.Fatal(err)
		}
		if outputs = append(outputs, w.Output); len(outputs) == 1 {
			if err := w.Close(dir, w.Output, 7, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if want := []string{r.Output + "-window-1.nsys-rep", r.Output + "-window-3.nsys-rep", "/mine.nsys-rep", r.Output + "-window-5.nsys-rep"}; !slices.Equal(outputs, want) {
		t.Errorf("%q, want %q", outputs, want)
	}
	if w := Open(dir); w == nil || w.N != 5 {
		t.Errorf("open: %+v", w)
	}
	Open(dir).Drop(dir)
	if list := Windows(dir); len(list) != 3 || list[0].Size != 7 {
		t.Errorf("%+v", list)
	}
}

// TestExport checks that errors of nsys about unreadable reports become one line.
func TestExport(t *testing.T) {
	report := filepath.Join(t.TempDir(), "x.nsys-rep")
	if err := os.WriteFile(report, []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	for said, want := range map[string]string{
		"Exportation error: Version number is invalid: 2025@3@1@54-234433681190v0.": "was written by nsys 2025.3.1.54, which is newer than this one (2023.4.4)",
		"Exportation error: Section Table Reference magic number mismatch.":         "is damaged or not an nsys report",
		"Exportation error: database is locked":                                     "write it elsewhere with -o",
		"Exportation error: something new":                                          "nsys 2023.4.4 cannot export it: something new",
	} {
		tool, _ := fake(t, map[string][]reply{"export": {{err: said + "\n", status: 1}}})
		dst := filepath.Join(t.TempDir(), "x.sqlite")
		if err := tool.Export(t.Context(), report, dst); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", said, err)
		}
		if left, _ := os.ReadDir(filepath.Dir(dst)); len(left) > 0 {
			t.Errorf("%s: left %v", said, left)
		}
	}
	tool, _ := fake(t, map[string][]reply{"export": {{}}})
	if err := tool.Export(t.Context(), report, filepath.Join(t.TempDir(), "x.sqlite")); err == nil || !strings.Contains(err.Error(), "exported nothing") {
		t.Errorf("%v", err)
	}
}
