package batch

import "time"

// seen is the arrival of one event of a sequence: the time of arrival, and the number of tokens that the sequence had
// at that time.
type seen struct {
	at     time.Time
	tokens int
}

// boundary is the start or the end of the steady state. For each sequence it holds the last event before the boundary
// and the first event after the boundary. The sequence's token count at the boundary is interpolated between these two
// events, because the events of one step arrive one after the other.
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

// steady finds the steady state as SGLang's tool defines it: the period in which all sequences decode. The period
// begins when the last sequence receives its first token and ends when the first sequence ends. The results are the
// throughput in output tokens/s and the duration in seconds. There are no results if there was no such period.
type steady struct {
	last       []seen // last event of each sequence
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
