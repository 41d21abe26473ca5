// Package redact makes a trace fit for publication. It replaces the names of people, machines, files, requests and
// processes, and keeps the data that an analysis needs. docs/formats/redacted.md lists the replacements.
//
// It works from a list of allowed contents. An unknown member of an event or file is left out, and a text that matches
// no known form is replaced. Equal texts get equal replacements in all files of one Redactor. Names of operators,
// kernels and Python functions are code and stay, except for paths, addresses and secrets within them.
package redact

import (
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"github.com/stepscope/stepscope/internal/base/sorts"
	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
)

// Options determine which texts count as secrets.
type Options struct {
	// KeepNames keeps annotations that match no known form.
	KeepNames bool
	// Hosts and Users are further names to hide wherever they occur as words, in addition to those found in the files.
	Hosts, Users []string
}

// Redactor redacts the files of one capture, one after the other. Look may be called from any goroutine before the
// first Event or Member.
type Redactor struct {
	opt    Options
	vocab  [numKinds]map[string]int // secret → number
	places [numKinds]int64
	caches [numRules]map[string]cached
	left   map[string]int64 // key → number of omitted members
	words  []word           // words to hide in any text, longest first
	buf    []byte
	e      *chromejson.Event // current event
	now    []kind            // kinds of secrets replaced in the current text

	settled bool
	mu      sync.Mutex // protects seen
	seen    [2]map[string]bool
}

type word struct {
	text string
	kind kind
	of   string // the secret that this word belongs to
}

type cached struct {
	text string // JSON
	what []kind
}

// kind is the kind of a secret.
type kind uint8

const (
	host kind = iota
	user
	file
	annotation
	request
	process
	thread
	number // id of a process or thread
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

// prefixes of the replacements: "host-0", "path-3.py", …
var prefixes = [numKinds]string{
	"host-", "user-", "path-", "annotation-", "r", "process-", "thread-", "", "trace-", "op-", "call-", "frame-", "group-", "category-", "row-",
	"address-", "secret-", "",
}

var kindNames = [numKinds]string{
	"host names", "user names", "file paths", "texts of annotations", "request ids", "process names", "thread names", "process and thread ids",
	"trace ids", "names of operators", "names of API calls", "Python frames", "process groups", "categories", "names of rows",
	"addresses and URLs", "tokens and keys", "texts in arguments",
}

// New returns a Redactor for one capture.
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

// LookFile records host, the host that a file's contents name. It also records the host in the file's name if PyTorch's
// handler chose that name (HOST_PID.TIME.pt.trace.json).
func (r *Redactor) LookFile(path, host string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen[0][host] = true
	if m := handlerName.FindStringSubmatch(filepath.Base(path)); m != nil {
		r.seen[0][m[1]] = true
	}
}

var handlerName = regexp.MustCompile(`^(.+)_\d+\.\d{10,20}\.`)

// drop counts an omitted member.
func (r *Redactor) drop(key string) {
	const most = 1000 // maximum number of distinct keys to count; keys may be arbitrary texts
	if _, ok := r.left[key]; !ok && len(r.left) >= most {
		key = "(others)"
	}
	r.left[key]++
}

// Look searches text of any format for user names in the paths of home directories.
func (r *Redactor) Look(raw []byte) {
	for _, m := range homes(raw) {
		r.mu.Lock()
		r.seen[1][string(m)] = true
		r.mu.Unlock()
	}
}

// settle adds the hosts and users collected so far to r.words.
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
	sorts.Stable(r.words, func(a, b word) int { return len(b.text) - len(a.text) })
}

// number returns the number of a secret, counted among the secrets of the same kind.
func (r *Redactor) number(k kind, s string) int {
	n, ok := r.vocab[k][s]
	if !ok {
		n = len(r.vocab[k])
		r.vocab[k][s] = n
	}
	return n
}

// instead returns the replacement of a secret.
func (r *Redactor) instead(k kind, s string) string {
	r.now = append(r.now, k)
	return prefixes[k] + strconv.Itoa(r.number(k, s))
}

// Event redacts an event in place.
func (r *Redactor) Event(e *chromejson.Event) {
	r.settle()
	r.e = e
	out, end := r.object(r.buf[:0], e.Raw, 0, eventKeys)
	r.buf, r.e = out, nil
	if end != len(e.Raw) || !e.Reset(out) {
		// Events are well-formed JSON objects, so a failure here is a bug. Drop the event rather than leak its
		// contents.
		r.drop("(an event that could not be read)")
		e.Reset([]byte("{}"))
	}
}

// Member returns the redacted value of a top-level member, or nil to leave it out. key is written as in the file.
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

// Count is the number of replacements of one kind.
type Count struct {
	Kind     string `json:"kind"`
	Distinct int    `json:"distinct"`
	Places   int64  `json:"places"`
}

// Counts lists the replacements by kind, the kind with the most replaced places first.
func (r *Redactor) Counts() []Count {
	counts := []Count{}
	for k := range numKinds {
		if r.places[k] > 0 {
			counts = append(counts, Count{kindNames[k], len(r.vocab[k]), r.places[k]})
		}
	}
	sorts.Stable(counts, func(a, b Count) int { return int(b.Places - a.Places) })
	return counts
}

// Left returns the number of unknown members of events and files that were left out, by key.
func (r *Redactor) Left() map[string]int64 { return r.left }
