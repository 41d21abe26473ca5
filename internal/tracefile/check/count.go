package check

import (
	"maps"
	"slices"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/internal/tracefile/merge"
	"github.com/stepscope/stepscope/trace"
)

// counter counts the events of one file.
type counter struct {
	out      *File
	comms    *merge.Comms
	steps    map[string]*Steps // by process; a merged file has several processes
	odd      oddness
	lastCat  string // last category; consecutive events mostly have the same one
	catCount *int64
	cats     map[string]*int64
	phase    [256]int64
	flows    map[string]*pairing
	launches pairing // correlation ids of API calls and of GPU work
	rows     merge.Rows
}

func (c *counter) event(e *chromejson.Event) {
	c.phase[e.Ph]++
	if cat := e.Text(e.Cat); c.catCount == nil || string(cat) != c.lastCat {
		c.lastCat = string(cat)
		n := c.cats[c.lastCat]
		if n == nil {
			n = new(int64)
			if len(c.cats) < 4096 { // a broken file may have any number of categories
				c.cats[c.lastCat] = n
			}
		}
		c.catCount = n
	}
	*c.catCount++
	start, end, ok := c.odd.times(e)
	if ok && c.lastCat != "Trace" {
		if f := c.out; !f.timed {
			f.StartNS, f.EndNS, f.timed = start, max(start, end), true
		} else {
			f.StartNS, f.EndNS = min(f.StartNS, start), max(f.EndNS, start, end)
		}
	}
	switch e.Ph {
	case 's', 't', 'f':
		c.flow(e)
	case 'X':
		switch c.lastCat {
		case "user_annotation":
			pid := e.Text(e.PID)
			s := c.steps[string(pid)]
			if s == nil {
				s = &Steps{Cutter: trace.NewCutter(c.out.Path)}
				if len(c.steps) < 4096 {
					c.steps[string(pid)] = s
				}
			}
			s.Event(e)
		case "kernel", "gpu_memcpy", "gpu_memset":
			if ok {
				c.comms.Event(e)
			}
			if id, known := e.ArgInt(chromejson.ArgCorrelation); known && id > 0 {
				c.launches.add(&c.launches.to, id)
			}
		default:
			if !trace.IsCall(e.Text(e.Cat)) {
				break
			}
			if id, known := e.ArgInt(chromejson.ArgCorrelation); known && id > 0 {
				c.launches.add(&c.launches.from, id)
			}
		}
		if !ok {
			return
		}
		for _, kind := range c.rows.Event(e, start, end) {
			if kind != trace.NoNote {
				c.odd.add(oddKinds[kind], 1, e.Off, false)
			}
		}
	}
}

func (c *counter) flow(e *chromejson.Event) {
	id, ok := e.Int(e.ID)
	if !ok {
		c.odd.add("flow id is no integer", 1, e.Off, true)
		return
	}
	p := c.flows[c.lastCat]
	if p == nil {
		p = &pairing{}
		if len(c.flows) < 4096 {
			c.flows[c.lastCat] = p
		}
	}
	switch e.Ph {
	case 's':
		p.add(&p.from, id)
	case 'f':
		p.add(&p.to, id)
	}
}

// finish stores the counts in the report.
func (c *counter) finish(src *chromejson.Source, st *chromejson.Stats) {
	f := c.out
	f.Events, f.Text = st.Events, st.Bytes
	for cat, n := range c.cats {
		if cat == "" {
			cat = "none"
		}
		f.Category[string(chromejson.Unescape([]byte(cat)))] += *n
	}
	for ph, n := range c.phase {
		if n > 0 {
			name := string(rune(ph))
			if ph == 0 {
				name = "none"
			}
			f.Phase[name] = n
		}
	}
	for _, p := range c.steps {
		list, _ := p.Passes()
		if len(list) == 0 {
			continue
		}
		n := f.processes
		f.processes++
		for _, s := range list {
			f.Steps[s.Step.Kind.String()]++
		}
		if n == 0 {
			f.fewest, f.most = len(list), len(list)
		}
		f.fewest, f.most = min(f.fewest, len(list)), max(f.most, len(list))
	}
	for _, cat := range slices.Sorted(maps.Keys(c.flows)) {
		p := c.flows[cat]
		from, to := p.alone()
		c.odd.add("flow "+cat+" without end", from, -1, true)
		c.odd.add("flow "+cat+" without start", to, -1, true)
		if p.full {
			c.odd.add("flow "+cat+": too many to pair", 1, -1, true)
		}
	}
	_, orphans := c.launches.alone()
	c.odd.add("GPU work whose launch is not recorded", orphans, -1, true)
	f.gpu = c.rows.GPU()
	for _, n := range c.rows.End(f.Path) {
		if kind, ok := oddKinds[n.Kind]; ok {
			c.odd.add(kind, n.Count, -1, false)
		} else if n.Kind == trace.NoteDevices {
			f.devices = n.Count
		} else {
			f.notes = append(f.notes, n)
		}
	}
	c.odd.add("events with unescaped quotes, mended", st.Repaired, -1, false)
	c.odd.add("NaN, Infinity, control characters or bad UTF-8, replaced", st.Cleaned, -1, false)
	c.odd.add("elements of traceEvents that are no event, skipped", st.Skipped, st.FirstSkip, false)
	c.odd.add("of these not looked at closely, since too much before them was broken", st.Unmended, -1, false)
	if src.Garbage() {
		c.odd.add("bytes after the last gzip member", 1, -1, true)
	}
	f.Odd = append(f.Odd, c.odd.list...)
}
