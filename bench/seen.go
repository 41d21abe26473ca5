package bench

// This file determines whether the tokens of a reply were seen one by one. Otherwise the client knows when the reply
// arrived, but not when the server generated its tokens.

const (
	// shortestStep is shorter than any forward step of a server. Events that follow each other faster were sent or read
	// together.
	shortestStep = 250_000 // ns
	// mostInStep is the maximum number of tokens that one forward step generates for a request, as with speculative
	// decoding.
	mostInStep = 32
	// mostTogether is the maximum share of gaps in replies whose events arrived together that pauses of the client and
	// of the server explain. A larger share means that something holds the replies back.
	mostTogether = 0.2
)

// arrivals describes the events of a reply.
type arrivals struct {
	events   int // events with text, or with tokens if no event has text
	together int // events that arrived less than shortestStep after the preceding event
	first    int // tokens up to the first of the events; 0: unknown
}

func (r *Record) arrivals() (s arrivals) {
	text := false
	for i := range r.Chunks {
		text = text || r.Chunks[i].Text
	}
	var last int64
	for i := range r.Chunks {
		c := &r.Chunks[i]
		if s.events == 0 && s.first >= 0 {
			s.first += c.Tokens
			if c.Tokens < 0 {
				s.first = -1
			}
		}
		if text && !c.Text {
			continue
		}
		if s.events > 0 && c.At-last < shortestStep {
			s.together++
		}
		s.events++
		last = c.At
	}
	s.first = max(s.first, 0)
	return s
}

// allTogether reports whether hardly any event arrived in a step of its own. Some servers send an event for each
// speculated token, so a few events of a step may arrive together.
func (s arrivals) allTogether() bool { return s.events > 1 && 10*s.together >= 9*(s.events-1) }

// MarkHeld sets Held for the replies whose events arrived together, if these are too many to be explained by pauses of
// the client or of the server.
func MarkHeld(records []Record) {
	together, all := 0, 0
	for i := range records {
		if s := records[i].arrivals(); s.events > 1 {
			all += s.events - 1
			if s.allTogether() {
				together += s.events - 1
			}
		}
	}
	if float64(together) <= mostTogether*float64(all) {
		return
	}
	for i := range records {
		// Pauses of whatever holds the replies back may separate some events.
		r := &records[i]
		s := r.arrivals()
		r.Held = r.Held || s.events > 1 && 2*s.together >= s.events-1
	}
}

// oneByOne reports whether the tokens of a reply arrived in separate steps.
func (r *Record) oneByOne() bool {
	if len(r.Chunks) == 0 {
		return r.First != Never && r.Last > r.First // the events were not kept
	}
	s := r.arrivals()
	return !r.Held && s.events > 1 && !s.allTogether()
}

// firstSeen reports whether First is the time of the first token. If not, the first token was generated earlier, at an
// unknown time.
func (r *Record) firstSeen() bool {
	switch {
	case r.First == Never:
		return false
	case r.OutputLen == 1 && (r.OutputFrom != FromChunks || r.AskedLen == 1):
		return true // in a reply that is not a stream, a length taken from events is a guess
	case r.Held:
		return false
	case len(r.Chunks) == 0:
		return r.First < r.Done // else the end of the reply stands for its tokens
	}
	return r.arrivals().events > 1 || r.OutputLen <= mostInStep
}

// decodes reports whether the reply has a time between tokens, whether or not this time was measured. A reply of one
// token has none.
func (r *Record) decodes() bool {
	return r.First != Never && (r.OutputLen != 1 || r.oneByOne() || !r.firstSeen())
}

// unseen returns the reason why a successful request lacks TTFT or TPOT; "": it lacks neither, or has no second token.
func (r *Record) unseen() string {
	_, timed := r.TPOT()
	s := r.arrivals()
	switch {
	case r.First == Never || r.firstSeen() && (timed || !r.decodes()):
		return ""
	case r.Held && s.events <= 1:
		return "the replies are not streams"
	case r.OutputLen <= 1:
		return "the server counts fewer tokens than it sends"
	case r.Held:
		return "the events of a reply arrive together, as through a proxy that buffers them"
	case s.events > 1:
		return "the events of a reply were read together"
	}
	return "all tokens of a reply arrive in one event"
}

// Unseen counts the successful requests whose tokens were not seen one by one.
type Unseen struct {
	Requests int    `json:"requests"`
	Why      string `json:"why"` // the most frequent reason
}

// Reason returns the reason why requests were not measured.
func (u *Unseen) Reason() string {
	if u == nil {
		return "the records have no events"
	}
	return u.Why
}

// unseen returns nil if the tokens of all requests were seen one by one.
func unseen(ok []*Record) *Unseen {
	var u Unseen
	counts := map[string]int{}
	for _, r := range ok {
		if why := r.unseen(); why != "" {
			u.Requests++
			if counts[why]++; counts[why] > counts[u.Why] {
				u.Why = why
			}
		}
	}
	if u.Requests == 0 {
		return nil
	}
	return &u
}

// paced returns the records whose tokens were seen one by one.
func paced(ok []*Record) []*Record {
	out := make([]*Record, 0, len(ok))
	for _, r := range ok {
		if r.oneByOne() {
			out = append(out, r)
		}
	}
	return out
}
