// Command screens makes the screenshots in README and docs. The screenshots show real commands in a terminal and a
// browser. The command needs tmux and chromium.
//
//	go run ./scripts/screens [DIR]
package main

import (
	"bufio"
	"fmt"
	"html"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// screen is a screenshot of a command.
type screen struct {
	name       string
	cols, rows int
	line       string
	until      string // the screenshot is taken when this text is on the screen
	page       string // if set, show this page, which the command writes, instead of the terminal
	view       string // if set, show this view of the served viewer: the address after the #
	width      int    // width of the page in pixels
	height     int
}

const load = "--dataset-name random --num-prompts 1500 --random-input-len 200 --random-output-len 40 --request-rate 150"

const view = "exec stepscope view testdata/traces/compute_skew"

var screens = []screen{
	{name: "analyze", cols: 104, rows: 64, line: "stepscope analyze testdata/traces/compute_skew", until: `launches\n`},

	{name: "bench", line: "stepscope bench serving --url $URL " + load + " --profile --output-file $TMP/load.jsonl --html $TMP/bench.html", page: "bench.html", width: 1280, height: 1400},
	{name: "report", line: "stepscope analyze testdata/traces/compute_skew --html $TMP/report.html", page: "report.html", width: 1280, height: 1000},

	{name: "view-timeline", line: view, view: "tab=timeline&step=9&rank=2&align=step&only=2%2C0", width: 1280, height: 700},
	{name: "view-kernels", line: view + " --against testdata/traces/balanced", view: "tab=kernels&kind=decode&vs=against&sort=-diff&theme=dark", width: 1280, height: 700},
}

func main() {
	log.SetFlags(0)
	dir := "docs/pictures"
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if err := run(dir); err != nil {
		log.Fatal("screens: ", err)
	}
}

func run(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "screens")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	bin := filepath.Join(tmp, "bin")
	if out, err := exec.Command("go", "build", "-o", filepath.Join(bin, "stepscope"), "./cmd/stepscope").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	os.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	os.Setenv("XDG_DATA_HOME", filepath.Join(tmp, "data"))
	os.Setenv("TMP", tmp)
	const port = "30917"
	os.Setenv("URL", "http://localhost:"+port)
	server := exec.Command("stepscope", "serve", "--model-path", "builtin:llama-tiny", "--tp-size", "2", "--enable-metrics", "--port", port)
	if err := server.Start(); err != nil {
		return err
	}
	defer server.Wait()
	defer server.Process.Signal(os.Interrupt)
	if err := answers(os.Getenv("URL") + "/health"); err != nil {
		return err
	}
	for _, s := range screens {
		path := filepath.Join(dir, s.name+".png")
		switch {
		case s.page != "":
			err = s.browser(tmp, path)
		case s.view != "":
			err = s.viewer(path)
		default:
			err = s.terminal(tmp, path)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		fmt.Println(path)
	}
	return nil
}

// answers waits until a server answers at url.
func answers(url string) (err error) {
	for range 100 {
		var res *http.Response
		if res, err = http.Get(url); err == nil {
			return res.Body.Close()
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

// browser takes a screenshot of a page that the command writes.
func (s *screen) browser(tmp, path string) error {
	if out, err := exec.Command("sh", "-c", s.line).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", s.line, err, out)
	}
	return shoot("file://"+filepath.Join(tmp, s.page), path, s.width, s.height)
}

// viewer takes a screenshot of a view that the command serves.
func (s *screen) viewer(path string) error {
	cmd := exec.Command("sh", "-c", s.line)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	defer cmd.Wait()
	defer cmd.Process.Signal(os.Interrupt)
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return fmt.Errorf("%s: %w", s.line, err)
	}
	return shoot(strings.TrimSpace(address)+"#"+s.view, path, s.width, s.height)
}

// terminal takes a screenshot of a terminal in which the command runs.
func (s *screen) terminal(tmp, path string) error {
	tmux := func(args ...string) (string, error) {
		out, err := exec.Command("tmux", append([]string{"-L", "stepscope-screens"}, args...)...).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("tmux %v: %w: %s", args, err, out)
		}
		return string(out), nil
	}
	if _, err := tmux("-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(s.cols), "-y", fmt.Sprint(s.rows), "env PS1='$ ' sh -i"); err != nil {
		return err
	}
	defer tmux("kill-server")
	time.Sleep(300 * time.Millisecond) // wait for the shell's prompt
	if _, err := tmux("send-keys", "-l", strings.NewReplacer("$URL", os.Getenv("URL")).Replace(s.line)); err != nil {
		return err
	}
	if _, err := tmux("send-keys", "Enter"); err != nil {
		return err
	}
	shown, until := "", regexp.MustCompile(s.until)
	for range 300 {
		time.Sleep(200 * time.Millisecond)
		var err error
		if shown, err = tmux("capture-pane", "-e", "-p"); err != nil {
			return err
		}
		if until.MatchString(shown) {
			break
		}
	}
	if !until.MatchString(shown) {
		return fmt.Errorf("%s is not shown after a minute:\n%s", s.until, shown)
	}
	page := filepath.Join(tmp, s.name+".html")
	if err := os.WriteFile(page, []byte(terminalPage(shown)), 0o666); err != nil {
		return err
	}
	return shoot("file://"+page, path, s.cols*8+40, strings.Count(strings.TrimRight(shown, "\n"), "\n")*17+60)
}

// shoot takes a screenshot of the page at an address with a browser.
func shoot(page, path string, width, height int) error {
	out, err := exec.Command("chromium", "--headless", "--no-sandbox", "--hide-scrollbars", "--virtual-time-budget=20000",
		fmt.Sprintf("--window-size=%d,%d", width, height), "--screenshot="+path, page).CombinedOutput()
	if err != nil {
		return fmt.Errorf("chromium: %w: %s", err, out)
	}
	return nil
}

// attribute matches an escape sequence that sets the style of the following text (ECMA-48, SGR).
var attribute = regexp.MustCompile("\x1b\\[([0-9;]*)m")

var colours = [16]string{"#1e1e1e", "#f14c4c", "#23d18b", "#e5c07b", "#5aa5ff", "#d670d6", "#29b8db", "#d4d4d4",
	"#808080", "#ff6b6b", "#4be3a3", "#f5d76e", "#7ab8ff", "#e58ae5", "#5fd7f0", "#ffffff"}

// terminalPage returns an HTML page that looks like a terminal in which text is displayed.
func terminalPage(text string) string {
	var b strings.Builder
	b.WriteString(`<!doctype html><meta charset="utf-8"><style>body{margin:0;background:#1e1e1e;color:#d4d4d4}` +
		`pre{margin:16px;font:13px/17px "DejaVu Sans Mono",monospace}</style><pre>`)
	at, open := 0, false
	for _, m := range attribute.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(html.EscapeString(text[at:m[0]]))
		at = m[1]
		if open {
			b.WriteString("</span>")
			open = false
		}
		if style := styleOf(text[m[2]:m[3]]); style != "" {
			fmt.Fprintf(&b, `<span style="%s">`, style)
			open = true
		}
	}
	b.WriteString(html.EscapeString(strings.TrimRight(text[at:], "\n")))
	return b.String() + "</pre>\n"
}

// styleOf returns the CSS style of the text after an attribute. One attribute is enough, because each attribute that
// tmux writes contains all active styles.
func styleOf(attribute string) string {
	var style []string
	codes := strings.Split(attribute, ";")
	for i, code := range codes {
		var n int
		fmt.Sscan(code, &n)
		switch {
		case n == 1:
			style = append(style, "font-weight:bold")
		case n == 2:
			style = append(style, "opacity:.65")
		case n == 38 && i+2 < len(codes) && codes[i+1] == "5":
			var c int
			fmt.Sscan(codes[i+2], &c)
			if c < 16 {
				style = append(style, "color:"+colours[c])
			} else if c >= 232 {
				style = append(style, fmt.Sprintf("color:rgb(%d,%[1]d,%[1]d)", 8+10*(c-232)))
			}
			return strings.Join(style, ";")
		case n >= 30 && n < 38:
			style = append(style, "color:"+colours[n-30])
		case n >= 90 && n < 98:
			style = append(style, "color:"+colours[n-82])
		}
	}
	return strings.Join(style, ";")
}
