package batch

import "time"

// seen is the number of tokens a sequence had when one of its events arrived.
type seen struct {
	at     time.Time
	tokens int
}

// boundary is a moment, with each sequence's last event before it and first event after it. The token count at the
// moment is interpolated between the two, because the events of one step arrive one after the other.
type boundary struct {
	at            time.Time
	before, after []seen
}

func newBoundary(at time.Time, last []seen) *boundary {
	return &boundary{at, append([]seen(nil), last...), make([]seen, len(last))}
}

func (b *boundary) event(index int, s seen) {
	if b != nil && b.after[index].at.IsZero() {
		b.after[index] = s
	}
}

func (b *boundary) tokens() (sum float64) {
	for i, before := range b.before {
		after := b.after[i]
		switch {
		case before.at.IsZero():
		case after.at.IsZero() || !b.at.After(before.at):
			sum += float64(before.tokens)
		case !b.at.Before(after.at):
			sum += float64(after.tokens)
		default:
			sum += float64(before.tokens) + float64(after.tokens-before.tokens)*float64(b.at.Sub(before.at))/float64(after.at.Sub(before.at))
		}
	}
	return sum
}

// steady finds the steady state of SGLang's tool, in which all sequences decode: from the last sequence's first token
// to the first sequence's end. It yields output tokens per second and the duration in seconds, or nothing if there was
// no such time.
type steady struct {
	last       []seen // of each sequence
	started    int
	begin, end *boundary
}

func (s *steady) event(index, tokens int, ended bool, at time.Time) {
	now := seen{at, tokens}
	s.begin.event(index, now)
	s.end.event(index, now)
	first := s.last[index].tokens == 0 && tokens > 0
	s.last[index] = now
	if first {
		if s.started++; s.started == len(s.last) {
			s.begin = newBoundary(at, s.last)
		}
	}
	if ended && s.end == nil {
		s.end = newBoundary(at, s.last)
	}
}

func (s *steady) figures() (rate, seconds *float64) {
	if s.begin == nil || s.end == nil || !s.end.at.After(s.begin.at) {
		return nil, nil
	}
	tokens, took := s.end.tokens()-s.begin.tokens(), s.end.at.Sub(s.begin.at).Seconds()
	if tokens <= 0 {
		return nil, nil
	}
	return new(tokens / took), &took
}
