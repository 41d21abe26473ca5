package open

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// maxLink is the maximum length of a link in bytes. Browsers accept longer links, but shells, chats and proxy logs
// often do not.
const maxLink = 8000

// Command is one of Perfetto's startup commands: an id from its allow-list
// (https://perfetto.dev/docs/visualization/commands-automation-reference) and its arguments.
//
// Arguments are strings even if they represent numbers: Perfetto validates the list as a whole and silently drops all
// commands if it contains a number.
type Command struct {
	ID   string
	Args []string
}

// MarshalJSON writes {"id":…,"args":[…]}. args must not be null: if it were, Perfetto would drop all commands.
func (c Command) MarshalJSON() ([]byte, error) {
	if c.Args == nil {
		c.Args = []string{}
	}
	return marshal(struct {
		ID   string   `json:"id"`
		Args []string `json:"args"`
	}{c.ID, c.Args})
}

// marshal is json.Marshal without HTML escapes of <, > and &, which would double their length in the link.
func marshal(v any) ([]byte, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return []byte(strings.TrimSuffix(b.String(), "\n")), nil
}

// link is the address at which Perfetto opens and waits for a trace.
type link struct {
	url     string
	origin  string // scheme and host of Perfetto, the only accepted sender and receiver of messages
	dropped int    // commands left out to keep url within maxLink
}

// newLink puts the visible range and as many startup commands as fit into the fragment of opts.UI.
func newLink(opts Options) (link, error) {
	u, err := url.Parse(opts.UI)
	if err != nil {
		return link{}, fmt.Errorf("perfetto address %q: %w", opts.UI, err)
	}
	if (u.Scheme != "https" && u.Scheme != "http") || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return link{}, fmt.Errorf("perfetto address %q: want one like %s, without query or fragment", opts.UI, DefaultUI)
	}
	base := u.Scheme + "://" + u.Host + strings.TrimSuffix(u.EscapedPath(), "/") + "/#!/"
	var args []string
	if opts.VisibleStart < opts.VisibleEnd {
		args = append(args,
			"visStart="+strconv.FormatInt(opts.VisibleStart, 10),
			"visEnd="+strconv.FormatInt(opts.VisibleEnd, 10))
	}
	l := link{origin: browserOrigin(u)}
	for n := len(opts.Commands); ; n-- {
		l.url, l.dropped = base, len(opts.Commands)-n
		all := args
		if n > 0 {
			list, err := marshal(opts.Commands[:n])
			if err != nil {
				return link{}, fmt.Errorf("startup commands: %w", err)
			}
			all = append(all[:len(all):len(all)], "startupCommands="+escape(string(list)))
		}
		if len(all) > 0 {
			l.url += "?" + strings.Join(all, "&")
		}
		if len(l.url) <= maxLink || n == 0 {
			return l, nil
		}
	}
}

// escape escapes s as a single value of a query string. A space becomes %20, because not all readers decode a plus sign
// as a space.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// browserOrigin returns the origin in the form of a browser's message event: lower case, without the scheme's default
// port. The page compares origins as strings, so any other form would never match.
func browserOrigin(u *url.URL) string {
	host := strings.ToLower(u.Host)
	switch {
	case u.Scheme == "https":
		host = strings.TrimSuffix(host, ":443")
	case u.Scheme == "http":
		host = strings.TrimSuffix(host, ":80")
	}
	return u.Scheme + "://" + host
}
