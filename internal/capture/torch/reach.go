package torch

import "context"

// Reached is a server and the way to reach it.
type Reached struct {
	Target
	Front Target // the target as given: a router, or the server itself
	Base  string // base URL for requests: the server's own URL, or a route of the router
	Kind  Kind
	Info  Info
}

// Reach identifies the targets in the same way as [Prepare] and replaces a router by its workers. The result left
// describes the workers that are down.
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

// String describes the server: "SGLang 0.5.6, TP 2 x DP 2".
func (r *Reached) String() string { return (&member{kind: r.Kind, info: r.Info}).String() }
