package worth

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stepscope/stepscope/internal/base/metric"
	"github.com/stepscope/stepscope/internal/explain/kernel"
	"github.com/stepscope/stepscope/internal/explain/replay"
	"github.com/stepscope/stepscope/internal/explain/result"
	"github.com/stepscope/stepscope/trace"
)

// Setting is a hypothetical change: some times are multiplied by a factor, or replaced by the times of the other ranks.
type Setting struct {
	Text   string
	Rank   string // label; "": all ranks
	Part   string // host, device, work, class, kernel, collective, gap
	Of     string // the class, or a substring of kernel names
	Factor float64
	Peers  bool // replace the times by the median of the other ranks
}

// likePeers lists the parts for which a rank can be made like the other ranks.
var likePeers = map[string]replay.Why{"host": replay.ByHost, "device": replay.ByDevice, "work": replay.ByWork, "collective": replay.ByTransfer}

// settingForms lists the valid forms of a setting.
const settingForms = `write [RANK.]PART=FACTOR, such as TP02.host=0, class:attention=0.8, TP01.kernel:nvjet=0.5, collective=0.5, gap=0, TP02.device=peers or TP02.work=peers; parts are host, device, work, class:NAME, kernel:TEXT, collective, gap`

// ParseSetting parses a setting of the form [RANK.]PART=FACTOR; see settingForms.
func ParseSetting(text string) (s Setting, err error) {
	wrong := func(why string) (Setting, error) { return s, fmt.Errorf("%s: %s; %s", text, why, settingForms) }
	what, to, ok := strings.Cut(text, "=")
	if i := strings.LastIndex(text, "="); i > 0 { // kernel names may contain an equals sign
		what, to = text[:i], text[i+1:]
	}
	if !ok {
		return wrong("no factor")
	}
	s.Text = text
	if to == "peers" {
		s.Peers = true
	} else if s.Factor, err = strconv.ParseFloat(to, 64); err != nil || !(s.Factor >= 0 && s.Factor <= 1e6) {
		return wrong(to + " is no factor from 0 on")
	}
	head, of, named := strings.Cut(what, ":")
	if rank, part, ok := strings.Cut(head, "."); ok {
		s.Rank, head = rank, part
	}
	s.Part, s.Of = head, of
	if !slices.Contains([]string{"host", "device", "work", "class", "kernel", "collective", "gap"}, s.Part) {
		return wrong(fmt.Sprintf("no part %q", s.Part))
	}
	if named != (s.Part == "class" || s.Part == "kernel") || named && of == "" {
		return wrong("class and kernel take a name, other parts do not")
	}
	if _, ok := kernel.ParseClass(of); s.Part == "class" && !ok {
		return wrong(fmt.Sprintf("no class %q", of))
	}
	if _, like := likePeers[s.Part]; s.Peers && (s.Rank == "" || !like) {
		return wrong("as the others can be the host, device, work or collective of a rank")
	}
	if s.Part == "work" && !s.Peers {
		return wrong("work takes no factor, only the value of the other ranks: " + what + "=peers")
	}
	return s, nil
}

// WhatIf replays the steps with settings, applied one after the other. rep is the report of the capture. WhatIf returns
// an error if a setting matches nothing in the capture.
func (w *Window) WhatIf(rep *result.Report, settings []Setting) (*result.WhatIf, error) {
	out := &result.WhatIf{Format: 1, Source: rep.Source, Replay: w.Replay}
	for _, s := range settings {
		out.Settings = append(out.Settings, s.Text)
	}
	changes := make([]replay.Change, len(w.Domains))
	for _, s := range settings {
		some := false
		for i, d := range w.Domains {
			change, any, err := w.setting(d, s)
			if err != nil {
				return nil, err
			}
			some = some || any
			changes[i] = d.Graph.Both(changes[i], change)
		}
		if !some {
			return nil, fmt.Errorf("%s: nothing in this capture is that (ranks: %s)", s.Text, strings.Join(rep.Source.Ranks, ", "))
		}
	}
	if !w.Replay.Known {
		return out, nil
	}
	for i, d := range w.Domains {
		now := d.Graph.Times(d.Graph.Run(changes[i]))
		lengths := result.WhatIfLengths{Was: d.Recorded, Ends: d.Graph.Recorded()}
		for _, r := range d.Ranks {
			lengths.Ranks = append(lengths.Ranks, r.Index)
		}
		for s := range now {
			would := int64(0)
			if d.Base[s] > 0 {
				would = max(d.Recorded[s]-gained(d.Recorded, d.Base, now, s), 0)
			}
			lengths.Would = append(lengths.Would, would)
		}
		out.Lengths = append(out.Lengths, lengths)
		for _, kind := range []trace.StepKind{trace.Decode, trace.Prefill, trace.Mixed, trace.Denoising, trace.OtherStep} {
			var steps []int
			for s := range d.Base {
				if d.Base[s] > 0 && w.KindOf[s] == kind {
					steps = append(steps, s)
				}
			}
			if len(steps) == 0 {
				continue
			}
			out.Rows = append(out.Rows, result.WhatIfRow{Ranks: lengths.Ranks, Kind: kind.String(), Worth: w.gain(rep, d.Recorded, d.Base, steps, kind, now)})
		}
		for j := range rep.Findings {
			f := &rep.Findings[j]
			if !about(f, settings) {
				continue
			}
			if b, _, ok := d.blame(w.Aligned, f); ok {
				kind, _ := w.mostly(b.Steps)
				steps := slices.DeleteFunc(b.Steps, func(s int) bool { return w.KindOf[s] != kind })
				out.Rows = append(out.Rows, result.WhatIfRow{Ranks: lengths.Ranks, Kind: kind.String(), Finding: f.ID, Worth: w.gain(rep, d.Recorded, d.Base, steps, kind, now)})
			}
		}
	}
	result.NoNil(out)
	return out, nil
}

// about reports whether the only setting takes away the cause of a late rank.
func about(f *result.Finding, settings []Setting) bool {
	if len(settings) != 1 {
		return false
	}
	s := &settings[0]
	return s.Peers && f.Kind == result.Straggler && slices.Equal(f.Names, []string{s.Rank}) && byCause[f.Cause] == likePeers[s.Part] && f.Cause != result.CauseUnknown
}

// setting returns the change that a setting makes to a domain. some is false if the setting matches nothing in the
// domain.
func (w *Window) setting(d *Domain, s Setting) (change replay.Change, some bool, err error) {
	ranks := make([]bool, len(d.Ranks))
	var which []int
	for i, r := range d.Ranks {
		if ranks[i] = s.Rank == "" || r.Label == s.Rank; ranks[i] {
			which = append(which, i)
		}
	}
	if s.Peers && len(which) > 0 {
		change, ok := d.Graph.As(w.Names, replay.Blame{Why: likePeers[s.Part], Ranks: which, Steps: count(len(d.Base))})
		if !ok {
			return nil, false, fmt.Errorf("%s: no other rank to compare %s with", s.Text, s.Rank)
		}
		return change, true, nil
	}
	class, _ := kernel.ParseClass(s.Of)
	names := make(map[int]bool, len(w.Names.Keys))
	for k, key := range w.Names.Keys {
		name := w.Names.List[key.Name]
		names[k] = s.Part == "class" && w.Names.Class[key.Name] == class || s.Part == "kernel" && strings.Contains(name, s.Of)
	}
	factor := func(n replay.Node) float64 {
		of := false
		switch s.Part {
		case "host":
			of = n.What == replay.Host || n.What == replay.Return
		case "device":
			of = n.What == replay.Work
		case "collective":
			of = n.What == replay.Leave
		case "gap":
			of = true
		default:
			of = (n.What == replay.Work || n.What == replay.Leave) && names[n.Key]
		}
		if !of || !ranks[n.Rank] {
			return 1
		}
		some = true
		return s.Factor
	}
	if s.Part == "gap" {
		change = d.Graph.ScaleGaps(factor)
	} else {
		change = d.Graph.Scale(factor)
	}
	return change, some, nil
}

func count(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// gained returns by how much a step is shorter in a changed replay than in the replay without changes. was, base and now
// hold the lengths of steps as recorded, in the replay without changes, and in the changed replay.
func gained(was, base, now []int64, step int) int64 {
	return min(base[step]-now[step], was[step])
}

// gain returns the worth of a change in steps of one kind. See gained for the lengths of steps.
func (w *Window) gain(rep *result.Report, was, base []int64, steps []int, kind trace.StepKind, now []int64) (x result.Worth) {
	var lengths, gain []int64
	var tokens []float64
	for _, s := range steps {
		g := gained(was, base, now, s)
		lengths, gain = append(lengths, was[s]), append(gain, g)
		if batch := rep.Steps[s].Batch; kind == trace.Decode && batch > 0 && g < was[s] && len(w.Domains) == 1 {
			tokens = append(tokens, float64(batch)/float64(was[s])*1e9)
		}
	}
	centre, lo, hi := metric.PseudoMedian(gain, level)
	step := int64(metric.Median(lengths))
	x = result.Worth{
		Known: true, Kind: kind.String(), Steps: len(gain), Step: step,
		Without: max(step-int64(centre), 0), Low: max(step-int64(hi), 0), High: max(step-int64(lo), 0),
	}
	if len(tokens) == len(gain) && x.Without > 0 {
		x.Tokens = metric.Median(tokens)
		x.WithoutTokens = x.Tokens * float64(x.Step) / float64(x.Without)
	}
	return x
}
