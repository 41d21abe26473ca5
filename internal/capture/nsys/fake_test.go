package nsys

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// reply is a recorded reply of nsys.
type reply struct {
	out, err string
	status   int
}

// recorded returns a reply from a page of testdata, which lists real commands with their output: the nth of this
// command line, from 1.
func recorded(t *testing.T, page, command string, n int) (r reply) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", page+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	in := ""
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "$ "):
			in = ""
			if strings.TrimSuffix(line[2:], "\n") == command {
				if n--; n == 0 {
					in = "found"
				}
			}
		case in == "":
		case line == "--- stdout\n":
			in = "out"
		case line == "--- stderr\n":
			in = "err"
		case strings.HasPrefix(line, "--- exit "):
			r.status, err = strconv.Atoi(regexp.MustCompile(`\d+`).FindString(line))
			if err != nil {
				t.Fatal(err)
			}
			return r
		case in == "out":
			r.out += line
		case in == "err":
			r.err += line
		}
	}
	t.Fatalf("%s has no such reply to %q", page, command)
	return r
}

// list is the reply to sessions list with one session.
func list(id, state, name string) reply {
	return reply{out: fmt.Sprintf("              ID         TIME                       STATE LAUNCH NAME\n%16s%13s%28s%7d %s\n", id, "00:00", state, 1, name)}
}

var none = list("", "", "")

// fake is an nsys that gives the replies to each of its commands in turn and repeats the last one.
func fake(t *testing.T, replies map[string][]reply) (tool *Tool, calls func() string) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	for command, list := range replies {
		for i, r := range list {
			name := fmt.Sprintf("%s.%d.", command, i+1)
			write(name+"out", r.out, 0o666)
			write(name+"err", r.err, 0o666)
			write(name+"status", strconv.Itoa(r.status), 0o666)
		}
	}
	write("nsys", `#!/bin/sh
cd '`+dir+`'
echo "$@" >>calls
c=$1
if [ "$2" = --help ]; then c=$1-help; fi
n=$(cat $c.n 2>/dev/null || echo 0)
if [ -e $c.$((n+1)).status ]; then n=$((n+1)); echo $n >$c.n; fi
cat $c.$n.out
cat $c.$n.err >&2
exit $(cat $c.$n.status)
`, 0o777)
	if out, err := At(filepath.Join(dir, "nsys"), dir).run(t.Context(), quick, "--version"); err != nil || out.status == 0 {
		t.Skipf("no shell for a fake nsys: %v", err)
	}
	os.Remove(filepath.Join(dir, "calls"))
	return &Tool{Path: filepath.Join(dir, "nsys"), Version: Version{2023, 4, 4}, TmpDir: dir}, func() string {
		text, _ := os.ReadFile(filepath.Join(dir, "calls"))
		return string(text)
	}
}

// helps returns the help texts of the commands of a version, for fake.
func helps(t *testing.T, version string, replies map[string][]reply) map[string][]reply {
	t.Helper()
	for _, command := range []string{"profile", "launch", "start"} {
		text, err := os.ReadFile(filepath.Join("testdata", version, "help-"+command+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		replies[command+"-help"] = []reply{{out: string(text)}}
	}
	return replies
}
