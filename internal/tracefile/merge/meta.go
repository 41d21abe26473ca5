package merge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/stepscope/stepscope/internal/tracefile/clock"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

var noRank = trace.NoRank

// rawJSON is JSON text passed on as it stands.
type rawJSON []byte

// MarshalJSON gives the text itself.
func (r rawJSON) MarshalJSON() ([]byte, error) {
	if len(r) == 0 {
		return []byte("null"), nil
	}
	return r, nil
}

// UnmarshalJSON keeps the text.
func (r *rawJSON) UnmarshalJSON(b []byte) error {
	*r = append((*r)[:0], b...)
	return nil
}

// Key is the top-level member in which a merged file describes itself.
const Key = "stepscope"

// Meta is that member's value.
type Meta struct {
	Format    int          `json:"format"` // 1
	ProfileID string       `json:"profile_id"`
	Ranks     []FileResult `json:"ranks"`
	IDMap     IDMap        `json:"id_map"`
	Missing   []Missing    `json:"missing"`
	Notes     []string     `json:"notes"`
}

// header is the text up to the first event: what the files say before theirs,
// of each key the first file's, deviceProperties of all.
func (m *merger) header() []byte {
	var b bytes.Buffer
	b.WriteString("{\n")
	seen := map[string]bool{Key: !m.opt.AsIs}
	for _, p := range m.parts {
		if p.shown = p.Meta; p.redact != nil {
			p.shown = redacted(p.redact, p.Meta)
		}
	}
	for _, p := range m.parts {
		for _, mem := range p.shown {
			if seen[mem.Key] {
				continue
			}
			seen[mem.Key] = true
			switch mem.Key {
			case "deviceProperties":
				if props := m.deviceProperties(); props != nil {
					member(&b, mem.Key, props)
				}
			case "baseTimeNanoseconds":
				// Below: it may come from another file.
			default:
				member(&b, mem.Key, mem.Value)
			}
		}
	}
	if m.hasBase {
		member(&b, "baseTimeNanoseconds", fmt.Appendf(nil, "%d", m.base))
	}
	b.WriteString("\"traceEvents\": [")
	return b.Bytes()
}

// redacted are the members that may stay, as they may be shown.
func redacted(r Redactor, all []Member) []Member {
	var kept []Member
	for _, mem := range all {
		if v := r.Member(mem.Key, mem.Value); v != nil {
			kept = append(kept, Member{mem.Key, v})
		}
	}
	return kept
}

func member(b *bytes.Buffer, key string, value []byte) {
	b.WriteByte('"')
	b.WriteString(key) // as in the file: still escaped
	b.WriteString("\": ")
	b.Write(value)
	b.WriteString(",\n")
}

// deviceProperties joins the lists of all files; nil if there is none.
func (m *merger) deviceProperties() []byte {
	var all [][]byte
	for _, p := range m.parts {
		for _, mem := range p.shown {
			if mem.Key != "deviceProperties" {
				continue
			}
			v := bytes.TrimSpace(mem.Value)
			if len(v) < 2 || v[0] != '[' {
				continue
			}
			if v = bytes.TrimSpace(v[1 : len(v)-1]); len(v) > 0 {
				all = append(all, v)
			}
			break
		}
	}
	if all == nil {
		return nil
	}
	return append(append([]byte("["), bytes.Join(all, []byte(",\n"))...), ']')
}

// footer is the text after the last event: members that followed the events of
// a file and are not in the header, and what the merge says of itself.
func (m *merger) footer() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("\n],\n")
	seen := map[string]bool{Key: !m.opt.AsIs, "deviceProperties": true, "baseTimeNanoseconds": m.hasBase}
	for _, p := range m.parts {
		for _, mem := range p.Meta {
			seen[mem.Key] = true
		}
	}
	for _, mem := range m.opt.Extra {
		seen[mem.Key] = true
	}
	for _, p := range m.parts {
		if p.redact != nil {
			p.tail = redacted(p.redact, p.tail)
		}
		for _, mem := range p.tail {
			if seen[mem.Key] {
				continue
			}
			seen[mem.Key] = true
			member(&b, mem.Key, mem.Value)
		}
	}
	for _, mem := range m.opt.Extra {
		member(&b, mem.Key, mem.Value)
	}
	if m.opt.AsIs {
		out := bytes.TrimSuffix(b.Bytes(), []byte(",\n"))
		return append(out, "\n}\n"...), nil
	}
	res := m.result()
	self, err := marshal(Meta{
		Format: 1, ProfileID: m.opt.ProfileID, Ranks: res.Files, IDMap: IDMap{len(m.parts)},
		Missing: res.Missing, Notes: res.Notes,
	})
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(&b, "%q: %s\n}\n", Key, self)
	return b.Bytes(), nil
}

// result says what became of each file so far.
func (m *merger) result() *Result {
	r := &Result{ProfileID: m.opt.ProfileID, Files: []FileResult{}, Missing: []Missing{}, Notes: []string{}}
	r.Notes = append(r.Notes, m.notes...)
	var heads []*Head
	for i, p := range m.parts {
		heads = append(heads, p.Head)
		r.Files = append(r.Files, m.file(i))
		r.Events += p.kept
		r.BytesIn += p.File.Size
		r.TextBytes += p.stats.Bytes
		if p.garbage {
			r.Notes = append(r.Notes, fmt.Sprintf("%s: bytes after the last gzip member ignored", p.base()))
		}
	}
	if !m.opt.AsIs {
		r.Missing = append(r.Missing, FindMissing(m.set, heads)...)
	}
	for _, path := range m.opt.Missing {
		r.Missing = append(r.Missing, Missing{Label: trace.NoRank.String(), File: path, Reason: "no such file"})
	}
	return r
}

// file says what became of one file so far.
func (m *merger) file(i int) FileResult {
	p := m.parts[i]
	f := FileResult{
		Label: p.label, File: filepath.Base(p.File.Path), Stage: p.File.Name.Stage,
		PIDPrefix: p.rw.prefix, IDIndex: i, ShiftMethod: "none",
		Info: rawJSON(p.Info), TraceID: p.TraceID, Host: p.Host,
		Events: p.kept, Complete: p.problem == nil, Problem: p.problem,
		Repaired: p.stats.Repaired, Cleaned: p.stats.Cleaned, OddTimes: p.rw.oddTimes,
	}
	if p.HasBase {
		base := p.BaseNS
		f.BaseTimeNS = &base
	}
	if m.shifts != nil {
		f.setShift(m.shifts[i])
	}
	for _, list := range [...][]Member{p.Meta, p.tail} {
		for _, mem := range list {
			if mem.Key == Key {
				f.From = rawJSON(mem.Value)
			}
		}
	}
	return f
}

func (f *FileResult) setShift(s clock.Result) {
	f.ShiftMethod = string(s.Method)
	f.Collectives = s.N
	if s.N == 0 {
		return
	}
	f.Uncertainty = s.Uncertainty()
	f.ShiftInterval = []int64{s.Lo, s.Hi}
	if !s.Significant() {
		f.ShiftMethod += ": within its spread, not applied"
		return
	}
	f.ShiftNS = s.Offset
	if s.Drift != 0 {
		f.DriftPPB, f.DriftSince = s.Drift*1e9, s.Since
	}
}

// Missing is a rank that should be there and is not.
type Missing struct {
	Label  string `json:"label"`
	File   string `json:"file,omitempty"`
	Reason string `json:"reason"`
}

func (m Missing) String() string {
	if m.File != "" {
		return m.File + ": " + m.Reason
	}
	return m.Label + ": " + m.Reason
}

// FindMissing names the ranks that names or distributedInfo promise and no
// file has.
func FindMissing(set set.Set, heads []*Head) []Missing {
	var out []Missing
	holes := map[string]int{}
	for _, h := range set.Holes() {
		holes[h.Stage]++
		out = append(out, Missing{
			Label: strings.TrimSpace(h.Rank.String() + " " + h.Stage), Reason: "no file of this rank, by the names of the others",
		})
	}
	// By stage and replica: with data parallelism by separate processes each
	// replica is a world of its own.
	type world struct {
		stage    string
		dp, size int
	}
	seen := map[world]map[int]bool{}
	var order []world
	unread := map[string]int{} // named files that say nothing: named elsewhere
	for _, h := range heads {
		if h.Problem != nil && h.File.Named && !h.World.Known {
			unread[h.File.Name.Stage]++
		}
		if h.Merged != nil {
			out = append(out, h.Merged.Missing...)
		}
		if h.merged() || !h.World.Known || h.World.Rank < 0 || h.World.Size < 2 {
			continue
		}
		w := world{h.File.Name.Stage, -1, h.World.Size}
		if have := seen[w]; have != nil && have[h.World.Rank] {
			w.dp = h.File.Name.Rank.DP
		}
		if seen[w] == nil {
			seen[w] = map[int]bool{}
			order = append(order, w)
		}
		seen[w][h.World.Rank] = true
	}
	for _, w := range order {
		if w.dp >= 0 || w.size > 1<<20 {
			continue
		}
		lacking := w.size - len(seen[w]) - holes[w.stage] - unread[w.stage]
		if lacking <= 0 {
			continue
		}
		var ranks []string
		for r := 0; r < w.size && len(ranks) < 8; r++ {
			if !seen[w][r] {
				ranks = append(ranks, fmt.Sprint(r))
			}
		}
		out = append(out, Missing{
			Label:  strings.TrimSpace("rank " + strings.Join(ranks, ",") + " " + w.stage),
			Reason: fmt.Sprintf("distributedInfo says %d ranks, %d files have one of them", w.size, len(seen[w])),
		})
	}
	return out
}

// marshal writes JSON in one line, without the escapes meant for HTML.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}
