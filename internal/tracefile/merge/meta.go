package merge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/stepscope/stepscope/internal/tracefile/clock"
	"github.com/stepscope/stepscope/internal/tracefile/set"
	"github.com/stepscope/stepscope/trace"
)

// header returns the text of the output before the first event: the members that precede the events in the input files.
// Each key has the value of the first file that has it, except that deviceProperties joins the lists of all files.
func (m *merger) header() []byte {
	var b bytes.Buffer
	b.WriteString("{\n")
	seen := map[string]bool{set.Key: !m.opt.AsIs}
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
				// deviceProperties is written below, because it may come from a file other than the first.
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

// redacted returns the members that r does not leave out, with redacted values.
func redacted(r Redactor, all []set.Member) []set.Member {
	var kept []set.Member
	for _, mem := range all {
		if v := r.Member(mem.Key, mem.Value); v != nil {
			kept = append(kept, set.Member{Key: mem.Key, Value: v})
		}
	}
	return kept
}

func member(b *bytes.Buffer, key string, value []byte) {
	b.WriteByte('"')
	b.WriteString(key) // the key is still escaped, as in the file
	b.WriteString("\": ")
	b.Write(value)
	b.WriteString(",\n")
}

// deviceProperties joins the lists of all files. It returns nil if no file has a list.
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

// footer returns the text of the output after the last event: members that follow the events in an input file and are
// not in the header, and the metadata of the merge.
func (m *merger) footer() ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("\n],\n")
	seen := map[string]bool{set.Key: !m.opt.AsIs, "deviceProperties": true, "baseTimeNanoseconds": m.hasBase}
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
	notes := make([]string, len(res.Notes))
	for i, n := range res.Notes {
		notes[i] = n.String()
	}
	self, err := marshal(set.Merged{
		Format: 1, ProfileID: m.opt.ProfileID, Ranks: res.Files, IDMap: IDMap{len(m.parts)},
		Missing: res.Missing, Notes: notes,
	})
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(&b, "%q: %s\n}\n", set.Key, self)
	return b.Bytes(), nil
}

// result returns the current state of the merge.
func (m *merger) result() *Result {
	r := &Result{ProfileID: m.opt.ProfileID, Files: []set.Part{}, Missing: []set.Missing{}, Notes: append([]trace.Note{}, m.notes...)}
	var heads []*set.Head
	var work []set.Work
	for i, p := range m.parts {
		heads = append(heads, p.Head)
		work = append(work, set.Work{Path: p.base(), Rank: p.File.Name.Rank, Stage: p.File.Name.Stage, GPU: p.gpu || p.problem != nil || p.kept == 0})
		r.Files = append(r.Files, m.file(i))
		r.Events += p.kept
		r.BytesIn += p.File.Size
		r.TextBytes += p.stats.Bytes
		if p.garbage {
			r.Notes = append(r.Notes, trace.Note{Kind: trace.NoteTrailingBytes, Source: p.base(), Count: 1})
		}
		r.Notes = append(append(r.Notes, p.odd.Notes(p.base())...), p.ended...)
	}
	r.Notes = append(r.Notes, set.WithoutWork(work)...)
	if !m.opt.AsIs {
		r.Missing = append(r.Missing, set.FindMissing(m.set, heads)...)
	}
	r.Missing = append(r.Missing, set.NoFiles(m.opt.Missing)...)
	return r
}

// file returns the current state of one file.
func (m *merger) file(i int) set.Part {
	p := m.parts[i]
	f := set.Part{
		Label: p.label, File: filepath.Base(p.File.Path), Stage: p.File.Name.Stage,
		PIDPrefix: p.rw.prefix, IDIndex: i, ShiftMethod: "none",
		Info: json.RawMessage(p.Info), TraceID: p.TraceID, Host: p.Host,
		Events: p.kept, Complete: p.problem == nil, Problem: p.problem,
		Repaired: p.stats.Repaired, Cleaned: p.stats.Cleaned, OddTimes: p.rw.oddTimes,
	}
	if p.HasBase {
		f.BaseTimeNS = new(p.BaseNS)
	}
	if m.shifts != nil {
		setShift(&f, m.shifts[i])
	}
	for _, list := range [...][]set.Member{p.Meta, p.tail} {
		for _, mem := range list {
			if mem.Key == set.Key {
				f.From = json.RawMessage(mem.Value)
			}
		}
	}
	return f
}

func setShift(f *set.Part, s clock.Result) {
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

// marshal encodes v as JSON in one line without HTML escapes.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}
