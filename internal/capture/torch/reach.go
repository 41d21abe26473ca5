package torch

import "context"

// Reached is a server and how it is reached.
type Reached struct {
	Target
	Front Target // as it was given: a router, or the server itself
	Base  string // where requests to it begin: its own URL, or a route of its router
	Kind  Kind
	Info  Info
}

// Reach finds out what the targets are, as [Prepare] does: the workers of a router come in its place.
// Of those that are down left says which.
func Reach(ctx context.Context, targets []Target, o Options) (out []Reached, left []string, err error) {
	named, err := named(targets)
	if err != nil {
		return nil, nil, err
	}
	s := &Session{o: o.withDefaults()}
	if err := s.connect(ctx, named); err != nil {
		return nil, nil, err
	}
	for _, m := range s.members {
		r := Reached{Target: m.Target, Front: m.Target, Base: m.base(), Kind: m.kind, Info: m.info}
		for _, t := range named {
			if t.URL == m.front {
				r.Front = t
			}
		}
		out = append(out, r)
	}
	for _, d := range s.down {
		left = append(left, d.URL+": "+d.Problem)
	}
	return out, left, nil
}

// String says what it is: "SGLang 0.5.6, TP 2 x DP 2".
func (r *Reached) String() string { return (&member{kind: r.Kind, info: r.Info}).String() }
