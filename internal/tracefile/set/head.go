package set

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"

	"github.com/stepscope/stepscope/internal/tracefile/chromejson"
	"github.com/stepscope/stepscope/trace"
)

// Head is the metadata of a file before its first event.
type Head struct {
	File    File
	Meta    []Member // in file order, without traceEvents
	BaseNS  int64    // baseTimeNanoseconds
	HasBase bool
	FirstTS int64  // ns; time of the first event that has a possible one
	MidTS   int64  // ns; median of the times of the first events, see trace.Away
	Print   uint64 // hash of the durations of the first spans; 0: too few to tell files apart
	Host    string
	TraceID string
	Info    json.RawMessage // distributedInfo, verbatim
	World   trace.World
	Merged  *Merged  // metadata of a merged file
	Labels  bool     // whether pids have rank labels; the file is then a merged file regardless of its name
	Problem *Problem // reason why the file cannot be read; nil: the file is readable

	whole *uint64 // hash of all spans; nil: not known
	bytes *uint64 // hash of the bytes of the file; nil: not read yet
}

// Member is one top-level member of a trace. Value is JSON text.
type Member struct {
	Key   string
	Value []byte
}

// Problem describes the unreadable part of a file.
type Problem struct {
	Reason    string `json:"reason"`
	Offset    int64  `json:"offset"`     // number of valid bytes of decompressed text
	LostBytes int64  `json:"lost_bytes"` // decompressed bytes after Offset that are not complete events
	FileBytes int64  `json:"file_bytes"` // number of bytes of the compressed file that were read
}

func (p *Problem) String() string {
	if p.Offset == 0 && p.FileBytes == 0 {
		return p.Reason
	}
	return fmt.Sprintf("%s at byte %d of its text (byte %d of the file)", p.Reason, p.Offset, p.FileBytes)
}

// ReadHead reads the beginning of a file. If slowly is not nil, ReadHead reads through slowly(r). Errors are reported
// in Head.Problem.
func ReadHead(f File, slowly func(io.Reader) io.Reader) *Head {
	h := &Head{File: f, World: trace.World{Rank: -1}}
	src, err := chromejson.Open(f.Path)
	if err != nil {
		h.Problem = OpenProblem(err)
		return h
	}
	defer src.Close()
	text := io.Reader(src)
	if slowly != nil {
		text = slowly(src)
	}
	s := chromejson.NewScanner(text)
	defer s.Close()
	var times, durations []int64
	known := false // whether an event with a time was read
	defer func() {
		h.learnTimes(times)
		h.Print = fingerprint(durations)
	}()
	for len(times) < firstTimes {
		kind, err := s.Next()
		if known && (err != nil || kind != chromejson.EventToken) {
			return h
		}
		if err == io.EOF {
			h.Problem = EndProblem(src, &s.Stats)
			return h
		}
		if kind == chromejson.EventToken {
			if pid := s.Event.Text(s.Event.PID); len(pid) > 0 && pid[0] == '[' {
				h.Labels = true
			}
			// The first events may be metadata events without a time.
			ns, ok := chromejson.ParseMicros(s.Event.Text(s.Event.TS))
			if !ok || !s.Event.TS.Present() {
				continue
			}
			if !known {
				h.FirstTS, known = ns, true
			}
			if s.Event.Ph != 'M' {
				times = append(times, ns)
			}
			if dur, ok := chromejson.ParseMicros(s.Event.Text(s.Event.Dur)); ok && s.Event.Ph == 'X' {
				durations = append(durations, dur)
			}
			continue
		}
		h.Add(s.Key, s.Value)
	}
	return h
}

// firstTimes is the number of times at the beginning of a file that give MidTS.
const firstTimes = 101

// learnTimes sets the fields that depend on the times of the first events.
func (h *Head) learnTimes(times []int64) {
	if len(times) == 0 {
		return
	}
	sorted := slices.Sorted(slices.Values(times))
	h.MidTS = sorted[len(sorted)/2]
	if trace.Away(h.FirstTS, h.MidTS) {
		h.FirstTS = h.MidTS
	}
}

// Add adds one top-level member of the file.
func (h *Head) Add(key, value []byte) {
	h.Learn(key, value)
	h.Meta = append(h.Meta, Member{string(key), bytes.Clone(value)})
}

// Learn reads the members that Head uses. If a key occurs more than once, the first occurrence counts.
func (h *Head) Learn(key, value []byte) {
	switch string(key) {
	case "baseTimeNanoseconds":
		if n, ok := chromejson.ParseInt(value); ok && !h.HasBase {
			h.BaseNS, h.HasBase = n, true
		}
	case Key:
		var m Merged
		if json.Unmarshal(value, &m) == nil && m.Format > 0 {
			h.Merged = &m
		}
	case "host_name":
		h.Host = chromejson.String(value)
	case "trace_id":
		h.TraceID = chromejson.String(value)
	case "distributedInfo":
		if h.Info != nil {
			return
		}
		h.Info = bytes.Clone(value)
		h.World = trace.ParseWorld(value)
	}
}

// merged reports whether the file is a merged file, which holds several ranks.
func (h *Head) merged() bool { return h.Merged != nil || h.Labels || h.File.Name.Merged }

// OpenProblem describes the reason a file could not be opened.
func OpenProblem(err error) *Problem {
	var pathErr *fs.PathError
	reason := err.Error()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		reason = "no such file"
	case errors.Is(err, io.ErrUnexpectedEOF):
		reason = "the compressed file is cut off in its header"
	case errors.As(err, &pathErr):
		reason = pathErr.Err.Error()
	}
	return &Problem{Reason: reason}
}

// EndProblem describes why a scan ended before the end of the text. It returns nil if the text was complete.
func EndProblem(src *chromejson.Source, st *chromejson.Stats) *Problem {
	switch {
	case !st.End.Complete:
		return &Problem{Reason: st.End.Reason, Offset: st.End.Offset, LostBytes: st.End.Lost, FileBytes: src.Consumed()}
	case st.Skipped > 0:
		return &Problem{
			Reason: fmt.Sprintf("broken JSON: %d elements skipped, the first", st.Skipped),
			Offset: st.FirstSkip, LostBytes: st.SkippedBytes, FileBytes: src.Consumed(),
		}
	}
	return nil
}

// Labels returns distinct labels for the files of a set. A label is "TP00-DP01", or "R03" if the rank comes from
// distributedInfo instead of the file's name, or "Unknown". If the set has several stages that are not stretches of one
// rank, the stage is appended ("TP00 DECODE", see [Set.ByStage]).
func Labels(heads []*Head) []string {
	var of Set
	stages := map[string]bool{}
	for _, h := range heads {
		stages[h.File.Name.Stage] = true
		of.Files = append(of.Files, h.File)
	}
	byStage := of.ByStage()
	labels := make([]string, len(heads))
	count := map[[2]string]int{}
	for i, h := range heads {
		l, stage := h.File.Name.Rank.String(), ""
		if h.merged() {
			l = "merged"
		} else if h.File.Name.Rank == trace.NoRank && h.World.Known && h.World.Rank >= 0 {
			l = fmt.Sprintf("R%02d", h.World.Rank)
		}
		switch {
		case byStage && !h.File.Report():
			stage = h.File.Name.Stage
		case len(stages) > 1 && h.File.Name.Stage != "":
			l += " " + h.File.Name.Stage
		}
		count[[2]string{l, stage}]++
		if n := count[[2]string{l, stage}]; n > 1 {
			l += " #" + strconv.Itoa(n)
		}
		labels[i] = l
	}
	return labels
}
