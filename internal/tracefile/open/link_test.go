package open

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

func TestLink(t *testing.T) {
	pin := Command{"dev.perfetto.PinTracksByRegex", []string{`a+b & <c> #1/é "x"`, "path"}}
	tests := []struct {
		name    string
		opts    Options
		url     string
		origin  string
		decoded string // startupCommands after URL decoding
	}{
		{name: "bare", url: "https://ui.perfetto.dev/#!/", origin: "https://ui.perfetto.dev"},
		{name: "range", opts: Options{VisibleStart: 5, VisibleEnd: 4436349792008765123},
			url: "https://ui.perfetto.dev/#!/?visStart=5&visEnd=4436349792008765123", origin: "https://ui.perfetto.dev"},
		{name: "empty range", opts: Options{VisibleStart: 7, VisibleEnd: 7}, url: "https://ui.perfetto.dev/#!/", origin: "https://ui.perfetto.dev"},
		{name: "mirror below a path", opts: Options{UI: "HTTP://Perfetto.Example:80/v57/"},
			url: "http://Perfetto.Example:80/v57/#!/", origin: "http://perfetto.example"},
		{name: "commands", opts: Options{Commands: []Command{pin, {ID: "no.args"}}},
			url: "https://ui.perfetto.dev/#!/?startupCommands=", origin: "https://ui.perfetto.dev",
			decoded: `[{"id":"dev.perfetto.PinTracksByRegex","args":["a+b & <c> #1/é \"x\"","path"]},{"id":"no.args","args":[]}]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := newLink(tt.opts.withDefaults())
			if err != nil {
				t.Fatal(err)
			}
			head, list, _ := strings.Cut(got.url, "startupCommands=")
			if want := strings.TrimSuffix(tt.url, "startupCommands="); head != want || got.origin != tt.origin || got.dropped != 0 {
				t.Errorf("got %+v, want url %s, origin %s", got, tt.url, tt.origin)
			}
			if strings.ContainsAny(list, "+ #&<>\"") {
				t.Errorf("commands are not escaped: %s", list)
			}
			if decoded, err := url.PathUnescape(list); err != nil || decoded != tt.decoded {
				t.Errorf("commands\n got %s (%v)\nwant %s", decoded, err, tt.decoded)
			}
		})
	}
}

func TestLinkDropsFromTheEnd(t *testing.T) {
	var commands []Command
	for range 100 {
		commands = append(commands, Command{"x", []string{strings.Repeat("y", 250)}})
	}
	got, err := newLink(Options{Commands: commands, VisibleEnd: 9}.withDefaults())
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(got.url, "startupCommands=")
	decoded, err := url.PathUnescape(list)
	if err != nil {
		t.Fatal(err)
	}
	var kept []struct{ ID string }
	if err := json.Unmarshal([]byte(decoded), &kept); err != nil {
		t.Fatal(err)
	}
	if len(kept)+got.dropped != 100 || len(kept) == 0 {
		t.Errorf("kept %d, dropped %d of 100", len(kept), got.dropped)
	}
	// One more command needs 250 characters and its frame: the link must be filled up to that limit.
	if len(got.url) > maxLink || len(got.url) < maxLink-320 {
		t.Errorf("link has %d bytes, limit %d", len(got.url), maxLink)
	}
	if !strings.Contains(got.url, "visEnd=9") {
		t.Error("the range was lost")
	}
}

func TestLinkRefuses(t *testing.T) {
	for _, ui := range []string{"ui.perfetto.dev", "ftp://x", "https://", "https://x/?a=b", "https://x/#!/y", "https://u:p@x", "javascript:alert(1)", "http://a b"} {
		if got, err := newLink(Options{UI: ui}.withDefaults()); err == nil {
			t.Errorf("%q: got %+v, want an error", ui, got)
		} else if !strings.Contains(err.Error(), `"`+ui+`"`) {
			t.Errorf("%q: %v does not name the address", ui, err)
		}
	}
}
