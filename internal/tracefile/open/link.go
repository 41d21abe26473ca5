package open

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// maxLink is the longest link, in bytes. Browsers take more, but what passes it on (a shell, a chat, a proxy's log)
// often does not.
const maxLink = 8000

// A Command is one of Perfetto's startup commands: an id from its allow-list
// (https://perfetto.dev/docs/visualization/commands-automation-reference) and its arguments.
//
// The arguments are strings even where they mean numbers: Perfetto checks the list as a whole, and a single number in
// it makes it drop every command without a word.
type Command struct {
	ID   string
	Args []string
}

// MarshalJSON writes {"id":…,"args":[…]}; args is never null, for the same reason.
func (c Command) MarshalJSON() ([]byte, error) {
	if c.Args == nil {
		c.Args = []string{}
	}
	return marshal(struct {
		ID   string   `json:"id"`
		Args []string `json:"args"`
	}{c.ID, c.Args})
}

// marshal is json.Marshal with <, > and & as they are: escaped for HTML they would double in the link.
func marshal(v any) ([]byte, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return []byte(strings.TrimSuffix(b.String(), "\n")), nil
}

// A link is the address that opens Perfetto, ready to receive a trace.
type link struct {
	url     string
	origin  string // scheme and host: the only sender and receiver of messages
	dropped int    // commands left off to keep url within maxLink
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

// escape makes s one value of a query string. A space becomes %20: a plus sign is a space only to some readers.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// browserOrigin writes the origin as a browser does in a message event: lower case, the scheme's own port left out.
// Written otherwise it would never compare equal.
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
