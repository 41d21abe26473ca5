package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(own{m}, map[string]func(){
		"stepscope": func() { os.Exit(Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
	})
}

// own runs the tests with runs and caches of their own, not beside their user's.
type own struct{ *testing.M }

func (m own) Run() int {
	dir, err := os.MkdirTemp("", "stepscope-runs-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.Setenv("XDG_DATA_HOME", filepath.Join(dir, "data"))
	os.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	os.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	for _, name := range append(settingNames(), "config", "api_key", "admin_api_key") {
		os.Unsetenv("STEPSCOPE_" + strings.ToUpper(name))
	}
	return m.M.Run()
}

// captures is where the real captures lie.
var captures = filepath.Join("..", "..", "testdata", "traces")

// TestScript runs the manual: testdata/script has a page for each verb and
// case. Besides testscript's own commands there are those of commands.
func TestScript(t *testing.T) {
	t.Parallel()
	traces, err := filepath.Abs(captures)
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("TRACES", traces)
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Getuid() == 0, nil
			}
			return false, fmt.Errorf("no condition %q", cond)
		},
		Cmds: commands,
	})
}

type script = testscript.TestScript

var commands = map[string]func(ts *script, neg bool, args []string){
	"exits": exits, "jsonpath": jsonPath, "capture": copyCapture, "gunzip": gunzip, "cutoff": cutOff,
	"holds": holds, "lines": lines, "large": large, "waitfor": waitFor, "older": older,
}

// exits STATUS PROGRAM ARGS… runs a program that must end with this status.
func exits(ts *script, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit status %d, want %s\n%s", got, args[0], ts.ReadFile("stderr"))
	}
}

// jsonpath FILE PATH VALUE looks a value up, as in findings.0.cause; len at
// the end of the path is the length of a list.
func jsonPath(ts *script, neg bool, args []string) {
	var at any
	dec := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	dec.UseNumber() // as it is written
	ts.Check(dec.Decode(&at))
	if _, err := dec.Token(); err != io.EOF {
		ts.Fatalf("%s: more than one JSON value", args[0])
	}
	for key := range strings.SplitSeq(args[1], ".") {
		switch v := at.(type) {
		case map[string]any:
			at = v[key]
		case []any:
			if key == "len" {
				at = len(v)
				continue
			}
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(v) {
				ts.Fatalf("%s: no element %s of %d", args[1], key, len(v))
			}
			at = v[i]
		default:
			ts.Fatalf("%s: nothing at %s", args[1], key)
		}
	}
	if got := fmt.Sprint(at); (got == args[2]) == neg {
		ts.Fatalf("%s is %s, want %s", args[1], got, args[2])
	}
}

// capture NAME DIR copies a real capture.
func copyCapture(ts *script, _ bool, args []string) {
	ts.Check(os.CopyFS(ts.MkAbs(args[1]), os.DirFS(filepath.Join(ts.Getenv("TRACES"), args[0]))))
}

// gunzip FROM TO unpacks a file.
func gunzip(ts *script, _ bool, args []string) {
	zr, err := gzip.NewReader(strings.NewReader(ts.ReadFile(args[0])))
	ts.Check(err)
	text, err := io.ReadAll(zr)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), text, 0o666))
}

// cutoff FILE BYTES keeps the start of a file, as a killed server leaves it.
func cutOff(ts *script, _ bool, args []string) {
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), n))
}

// holds DIR NAMES… tells that these and no other files are in the directory.
func holds(ts *script, _ bool, args []string) {
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	var have []string
	for _, e := range entries {
		have = append(have, e.Name())
	}
	want := slices.Sorted(slices.Values(args[1:]))
	if !slices.Equal(have, want) {
		ts.Fatalf("%s holds %q, want %q", args[0], have, want)
	}
}

// lines FILE LOW HIGH tells that a text has so many lines, 0 to none say.
func lines(ts *script, _ bool, args []string) {
	n := strings.Count(ts.ReadFile(args[0]), "\n")
	low, err := strconv.Atoi(args[1])
	ts.Check(err)
	high, err := strconv.Atoi(args[2])
	ts.Check(err)
	if n < low || n > high {
		ts.Fatalf("%s has %d lines, want %d to %d", args[0], n, low, high)
	}
}

// large FILE makes a rank file of some GB of JSON, small on disk: work that
// does not end before it is interrupted.
func large(ts *script, _ bool, args []string) {
	pack := func(text string) []byte {
		var b bytes.Buffer
		zw := gzip.NewWriter(&b)
		_, err := zw.Write([]byte(text))
		ts.Check(err)
		ts.Check(zw.Close())
		return b.Bytes()
	}
	event := `{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1.5,"dur":2.5,"args":{"device":0,"stream":7,"correlation":9}}`
	many := pack(strings.Repeat(","+event, 10_000))
	file := pack(`{"traceEvents":[` + event)
	for range 4000 {
		file = append(file, many...)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), append(file, pack(`]}`)...), 0o666))
}

// waitfor PATTERN waits for a file to appear.
func waitFor(ts *script, _ bool, args []string) {
	for range 2000 {
		found, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		if len(found) > 0 {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	ts.Fatalf("no file %s", args[0])
}

// older FILES… makes files older than all others.
func older(ts *script, _ bool, args []string) {
	for _, name := range args {
		ts.Check(os.Chtimes(ts.MkAbs(name), time.Unix(1, 0), time.Unix(1, 0)))
	}
}
