package live

import (
	"slices"
	"time"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/capture/signals"
)

// A page may also show servers that another component follows. That component passes its samples to [Live.Sees] and its
// findings to [Live.Marks]. Pages receive findings as events named "mark".

// mostMarks is the maximum number of marks sent to a new page.
const mostMarks = 200

// Mark is an event: the beginning or end of an alarm, a capture, or the result of a capture.
type Mark struct {
	Server  string `json:"server"` // name of the server, or names of several servers
	Kind    string `json:"kind"`
	At      int64  `json:"at_ms"`    // ms since the epoch
	After   int64  `json:"after_ms"` // for a beginning: its earliest possible time
	Onset   int64  `json:"onset_ms"` // for a beginning: its latest possible time; 0: not a beginning
	Rule    string `json:"rule"`     // the rule of an alarm, or of its end; "": neither
	Rank    string `json:"rank"`     // the outlying rank; "": none
	Text    string `json:"text"`
	Capture string `json:"capture"` // id of a capture to open; "": none
}

// Sees adds a sample of a server taken at time at, or the error of the attempt to take it.
func (l *Live) Sees(name string, at time.Time, now *signals.Live, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	name = columns.Clean(name)
	i := slices.IndexFunc(l.servers, func(s *server) bool { return s.Name == name })
	if i < 0 {
		i = len(l.servers)
		l.servers = append(l.servers, &server{Name: name, at: i})
		l.publish(event{"hello", l.first()}) // the page reloads its state, with the new server
	}
	s := l.servers[i]
	x := &Sample{Server: i, At: at.UnixMilli(), Ranks: []Rank{}}
	switch {
	case err != nil:
		x.Error = columns.Clean(err.Error())
	case now != nil:
		x.fill(now)
	}
	l.keep(s, x)
}

// Marks adds an event and sends it to all pages.
func (l *Live) Marks(m *Mark) {
	for _, text := range []*string{&m.Server, &m.Rule, &m.Rank, &m.Text} {
		*text = columns.Clean(*text)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.marks = append(l.marks, m); len(l.marks) > mostMarks {
		l.marks = slices.Delete(l.marks, 0, len(l.marks)-mostMarks)
	}
	l.publish(event{"mark", m})
}
