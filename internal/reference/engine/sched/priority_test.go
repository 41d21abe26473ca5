package sched

import (
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/api"
)

// ordered submits requests of these priorities together to a scheduler that runs one at a time, and returns their
// indices in the order in which they ended.
func ordered(t *testing.T, opt Options, priorities ...*int) (order []int, last []api.Event) {
	t.Helper()
	opt.MaxRunning = 1
	s := start(t, newFake(t, 20), opt)
	logs := make([]*log, len(priorities))
	paused(s, func() {
		for i, p := range priorities {
			r := ask(prompt(i, 5), 3)
			r.Priority = p
			l := newLog()
			_, err := s.Submit(&Request{Request: r, Emit: func(e api.Event) {
				if e.Finish != nil && e.Finish.Type == api.FinishLength {
					order = append(order, i)
				}
				l.emit(e)
			}})
			if err != nil {
				t.Fatal(err)
			}
			logs[i] = l
		}
	})
	for _, l := range logs {
		_, e := l.wait()
		last = append(last, e)
	}
	return order, last
}

func p(n int) *int { return &n }

func TestPriorityOrder(t *testing.T) {
	asked := []*int{nil, p(1), p(5), p(-3), p(5), nil}
	for _, tt := range []struct {
		name string
		opt  Priority
		want []int
	}{
		{"ignored", Priority{}, []int{0, 1, 2, 3, 4, 5}},
		{"high values first", Priority{Enabled: true}, []int{2, 4, 1, 3, 0, 5}},
		{"low values first", Priority{Enabled: true, LowFirst: true}, []int{3, 1, 2, 4, 0, 5}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, _ := ordered(t, Options{Priority: tt.opt}, asked...); !slices.Equal(got, tt.want) {
				t.Errorf("ended in the order %v, want %v", got, tt.want)
			}
		})
	}
}

// A full queue drops its last request for one of a higher priority, and refuses others.
func TestPriorityFullQueue(t *testing.T) {
	order, last := ordered(t, Options{MaxQueued: 2, Priority: Priority{Enabled: true}}, p(1), p(2), p(3), p(2), p(4))
	if want := []int{4, 2}; !slices.Equal(order, want) {
		t.Errorf("served %v, want %v", order, want)
	}
	for i, want := range map[int]string{
		0: "The request is aborted by a higher priority request.",
		1: "The request is aborted by a higher priority request.",
		3: "the request queue is full",
	} {
		if f := last[i].Finish; f.Type != api.FinishAbort || f.Status != 503 || f.Message != want {
			t.Errorf("request %d ended with %+v, want %q", i, f, want)
		}
	}
}

func TestPriorityRefused(t *testing.T) {
	s := start(t, newFake(t, 20), Options{Priority: Priority{Refuse: true}})
	r := ask(prompt(1, 5), 1)
	r.Priority = p(0)
	if _, err := s.Submit(&Request{Request: r}); err != api.ErrPriority {
		t.Errorf("with a priority: %v", err)
	}
	l, _ := submit(t, s, ask(prompt(1, 5), 1))
	l.wait()
}

// A request whose priority is higher by more than the threshold retracts running ones, which continue afterwards and
// get the same tokens as alone.
func TestPreemption(t *testing.T) {
	for _, tt := range []struct {
		name        string
		opt         Options
		input       int // of the second request
		priority    int
		retractions int
	}{
		{"no place", Options{MaxRunning: 1}, 5, 11, 1},
		{"no more than the threshold", Options{MaxRunning: 1}, 5, 10, 0},
		{"no memory", Options{}, 250, 11, 1},
		{"no memory, little higher", Options{}, 250, 1, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.opt.Priority = Priority{Enabled: true, Threshold: 10}
			f := newFake(t, 5)
			s := start(t, f, tt.opt)
			low, high := ask(prompt(1, 60), 100), ask(prompt(2, tt.input), 4)
			low.Priority, high.Priority = p(0), p(tt.priority)
			var second *log
			f.hold = func(st Step) {
				if st.Count == 3 {
					second, _ = submit(t, s, high)
				}
			}
			first, _ := submit(t, s, low)
			tokens, last := first.wait()
			if want, _, _ := alone(&low); !slices.Equal(tokens, want) || last.Retractions != tt.retractions {
				t.Errorf("%d retractions, want %d; got %v, want %v", last.Retractions, tt.retractions, tokens, want)
			}
			tokens, last = second.wait()
			if want, _, _ := alone(&high); !slices.Equal(tokens, want) || last.Retractions != 0 {
				t.Errorf("the second: %d retractions; got %v, want %v", last.Retractions, tokens, want)
			}
		})
	}
}
