package live

import (
	"slices"
	"time"

	"github.com/stepscope/stepscope/internal/base/columns"
	"github.com/stepscope/stepscope/internal/capture/signals"
)

// A page may also show servers that somebody else follows, who then tells of them: what was seen ([Live.Sees]), and
// what was found in it ([Live.Marks]), which pages get as events "mark".

// mostMarks is how many a page that comes later is told of.
const mostMarks = 200

// Mark is something that happened: the beginning or the end of what a rule looks for, a capture, what it showed.
type Mark struct {
	Server  string `json:"server"` // its name, or that of several
	Kind    string `json:"kind"`
	At      int64  `json:"at_ms"`    // since the epoch
	After   int64  `json:"after_ms"` // of a beginning: it lies between this
	Onset   int64  `json:"onset_ms"` // and this; 0: it is no beginning
	Rank    string `json:"rank"`     // that stands out; ""
	Text    string `json:"text"`
	Capture string `json:"capture"` // that can be opened, by this id; ""
}

// Sees takes what went on in a server up to a moment, or why nothing is known.
func (l *Live) Sees(name string, at time.Time, now *signals.Live, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	name = columns.Clean(name)
	i := slices.IndexFunc(l.servers, func(s *server) bool { return s.Name == name })
	if i < 0 {
		i = len(l.servers)
		l.servers = append(l.servers, &server{Name: name, at: i})
		l.publish(event{"hello", l.first()}) // pages begin anew, with this one
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

// Marks takes something that happened.
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
