// Package redact makes a trace fit to be shown to strangers: it replaces what
// names people, machines, files, requests and processes, and leaves what an
// analysis needs. docs/formats/redacted.md says what becomes of what.
//
// It works from what may stay: an event's or a file's member that is not known
// is left out, a text that has none of the known forms is replaced. Equal texts
// get equal replacements in all files that one Redactor sees. Names of
// operators, kernels and Python functions are code and stay, but for the paths,
// addresses and secrets in them.
package redact

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
)

// Options say what else is secret, and what is not.
type Options struct {
	// KeepNames keeps the texts of annotations that have no known form.
	KeepNames bool
	// Hosts and Users are names to hide wherever they stand as words, besides
	// those that the files give.
	Hosts, Users []string
}

// Redactor redacts the files of one capture, one after the other. Look may be
// called at any time, from any goroutine, before the first Event or Member.
type Redactor struct {
	opt    Options
	vocab  [numKinds]map[string]int // secret → number
	places [numKinds]int64
	caches [numRules]map[string]cached
	left   map[string]int64 // members left out, by key
	words  []word           // to hide wherever they stand, longest first
	buf    []byte
	e      *chromejson.Event // under way
	now    []kind            // what was replaced in the text under way

	settled bool
	mu      sync.Mutex // guards seen
	seen    [2]map[string]bool
}

type word struct {
	text string
	kind kind
	of   string // the secret it stands for
}

type cached struct {
	text string // JSON
	what []kind
}

// kind is what a replacement stands for.
type kind uint8

const (
	host kind = iota
	user
	file
	annotation
	request
	process
	thread
	number // of a process or thread
	recording
	operator
	call
	frame
	group
	category
	row
	address
	secret
	argument
	numKinds
)

// Replacements are "host-0", "path-3.py", …
var prefixes = [numKinds]string{
	"host-", "user-", "path-", "annotation-", "r", "process-", "thread-", "", "trace-", "op-", "call-", "frame-", "group-", "category-", "row-",
	"address-", "secret-", "",
}

var kindNames = [numKinds]string{
	"host names", "user names", "file paths", "texts of annotations", "request ids", "process names", "thread names", "process and thread ids",
	"trace ids", "names of operators", "names of API calls", "Python frames", "process groups", "categories", "names of rows",
	"addresses and URLs", "tokens and keys", "texts in arguments",
}

// New gives a Redactor for one capture.
func New(opt Options) *Redactor {
	r := &Redactor{opt: opt, left: map[string]int64{}}
	for i := range r.vocab {
		r.vocab[i] = map[string]int{}
	}
	r.seen = [2]map[string]bool{{}, {}}
	for i, list := range [2][]string{opt.Hosts, opt.Users} {
		for _, s := range list {
			r.seen[i][s] = true
		}
	}
	return r
}

// LookFile takes note of the host that a file names; one in a name that
// PyTorch's handler gives (HOST_PID.TIME.pt.trace.json) too.
func (r *Redactor) LookFile(path, host string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen[0][host] = true
	if m := handlerName.FindStringSubmatch(filepath.Base(path)); m != nil {
		r.seen[0][m[1]] = true
	}
}

var handlerName = regexp.MustCompile(`^(.+)_\d+\.\d{10,20}\.`)

// drop counts a member that is left out.
func (r *Redactor) drop(key string) {
	const most = 1000 // keys; one who makes keys of texts has no end of them
	if _, ok := r.left[key]; !ok && len(r.left) >= most {
		key = "(others)"
	}
	r.left[key]++
}

// Look searches a text, of any form, for the names of users: home directories
// give them away.
func (r *Redactor) Look(raw []byte) {
	for _, m := range homes(raw) {
		r.mu.Lock()
		r.seen[1][string(m)] = true
		r.mu.Unlock()
	}
}

// settle makes words of the hosts and users seen.
func (r *Redactor) settle() {
	if r.settled {
		return
	}
	r.settled = true
	for i, k := range [2]kind{host, user} {
		for _, s := range slices.Sorted(maps.Keys(r.seen[i])) {
			if s != "" {
				r.hide(k, s)
			}
		}
	}
	slices.SortStableFunc(r.words, func(a, b word) int { return len(b.text) - len(a.text) })
}

// number is the number of a secret among those of its kind.
func (r *Redactor) number(k kind, s string) int {
	n, ok := r.vocab[k][s]
	if !ok {
		n = len(r.vocab[k])
		r.vocab[k][s] = n
	}
	return n
}

// instead is the replacement of a secret.
func (r *Redactor) instead(k kind, s string) string {
	r.now = append(r.now, k)
	return prefixes[k] + strconv.Itoa(r.number(k, s))
}

// Event replaces the text of an event.
func (r *Redactor) Event(e *chromejson.Event) {
	r.settle()
	r.e = e
	out, end := r.object(r.buf[:0], e.Raw, 0, eventKeys)
	r.buf, r.e = out, nil
	if end != len(e.Raw) || !e.Reset(out) {
		// Events are well-formed JSON objects, so this is a fault of ours: better
		// nothing than what should not be seen.
		r.drop("(an event that could not be read)")
		e.Reset([]byte("{}"))
	}
}

// Member gives the value of one of a file's own members; nil: it must go. key
// is as in the file.
func (r *Redactor) Member(key string, value []byte) []byte {
	r.settle()
	k, ok := fileKeys[key]
	if !ok || !k.takes(value) {
		r.drop(key)
		return nil
	}
	out, _ := r.value(nil, value, 0, k)
	return out
}

// Count says how much of a kind was replaced.
type Count struct {
	Kind     string `json:"kind"`
	Distinct int    `json:"distinct"`
	Places   int64  `json:"places"`
}

// Counts lists what was replaced, most places first, and Left the members that
// were left out, by key.
func (r *Redactor) Counts() []Count {
	counts := []Count{}
	for k := range numKinds {
		if r.places[k] > 0 {
			counts = append(counts, Count{kindNames[k], len(r.vocab[k]), r.places[k]})
		}
	}
	slices.SortStableFunc(counts, func(a, b Count) int { return int(b.Places - a.Places) })
	return counts
}

// Left counts the members of events and files that were left out since nothing
// is known of them, by key.
func (r *Redactor) Left() map[string]int64 { return r.left }
