package judge

import (
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/explain/fact"
	"github.com/stepscope/stepscope/internal/explain/result"
)

// lightFindings reports the checks of the speed of light that failed: one finding for each check, however many steps or
// modules it refused.
func lightFindings(l *result.Light) (out []result.Finding) {
	add := func(check string, title fact.Fact) {
		out = append(out, whole(result.Data, "info", id("data-light", strings.TrimPrefix(check, "light_")), title))
	}
	var worst []*result.LightStep // of each check, the steps of which it refused most
	for i := range l.Steps {
		s := &l.Steps[i]
		if !slices.Contains([]string{"light_order", "light_more", "light_layers"}, s.Why.Key) {
			continue
		}
		at := slices.IndexFunc(worst, func(w *result.LightStep) bool { return w.Why.Key == s.Why.Key })
		if at < 0 {
			worst = append(worst, s)
		} else if w := worst[at]; s.Steps-s.Told > w.Steps-w.Told {
			worst[at] = s
		}
	}
	for _, s := range worst {
		add(s.Why.Key, fact.Of("data-light.steps", "n", s.Steps-s.Told, "of", s.Steps, "kind", s.Kind, "rank", s.Rank, "why", s.Why))
	}
	if l.Why.Key == "light_wrong" { // the modules are refused for the same reason
		add(l.Why.Key, fact.Of("data-light", "why", l.Why))
		return out
	}
	var checks []fact.Fact
	modules := map[string][]string{} // by check
	for i := range l.Modules {
		switch m := &l.Modules[i]; {
		case m.Why.Key == "" || slices.Contains(modules[m.Why.Key], m.Module):
		case modules[m.Why.Key] == nil:
			checks = append(checks, m.Why)
			fallthrough
		default:
			modules[m.Why.Key] = append(modules[m.Why.Key], m.Module)
		}
	}
	for _, why := range checks {
		add(why.Key, fact.Of("data-light.modules", "modules", modules[why.Key], "why", why))
	}
	return out
}
