package live

import (
	"slices"
	"time"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/capture/signals"
)

// A page may also show servers followed by another component. That component passes in its samples ([Live.Sees]) and
// its findings ([Live.Marks]), which pages receive as events "mark".

// mostMarks is the maximum number of marks sent to a new page.
const mostMarks = 200

// Mark is an event: the beginning or the end of an alarm, a capture, or its result.
type Mark struct {
	Server  string `json:"server"` // name of the server, or of several
	Kind    string `json:"kind"`
	At      int64  `json:"at_ms"`    // ms since the epoch
	After   int64  `json:"after_ms"` // earliest time of a beginning
	Onset   int64  `json:"onset_ms"` // latest time; 0: not a beginning
	Rank    string `json:"rank"`     // the outlying rank; ""
	Text    string `json:"text"`
	Capture string `json:"capture"` // id of a capture to open; ""
}

// Sees adds a sample of a server at a moment, or the error of taking it.
func (l *Live) Sees(name string, at time.Time, now *signals.Live, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	name = columns.Clean(name)
	i := slices.IndexFunc(l.servers, func(s *server) bool { return s.Name == name })
	if i < 0 {
		i = len(l.servers)
		l.servers = append(l.servers, &server{Name: name, at: i})
		l.publish(event{"hello", l.first()}) // pages start over with the new server
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

// Marks adds an event.
func (l *Live) Marks(m *Mark) {
	for _, text := range []*string{&m.Server, &m.Rank, &m.Text} {
		*text = columns.Clean(*text)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.marks = append(l.marks, m); len(l.marks) > mostMarks {
		l.marks = slices.Delete(l.marks, 0, len(l.marks)-mostMarks)
	}
	l.publish(event{"mark", m})
}
