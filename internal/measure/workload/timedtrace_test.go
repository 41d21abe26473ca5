package workload

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestTimedTrace reads traces of CSV and JSON with any names of columns.
func TestTimedTrace(t *testing.T) {
	const azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:47.1805900,396,109\n"
	for _, c := range []struct {
		name, text, columns string
		want                []string // time, input length, output length
		err                 string
		note                string
	}{
		{"Azure", azure, "", []string{"0s 374 44", "500ms 396 109"}, "", "2 requests over 500ms"},
		{"BurstGPT", "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,20,18,38,API log\n8,GPT-4,30,7,37,\"a, b\"\n", "", []string{"0s 20 18", "3s 30 7"}, "", ""},
		{"Mooncake", `{"timestamp": 3000, "input_length": 30, "output_length": 5, "hash_ids": [1]}` + "\n" + `{"timestamp": 1000, "input_length": 20, "output_length": 6}`, "time=timestamp:ms", []string{"0s 20 6", "2s 30 5"}, "", ""},
		{"own names", "when;ms,in,out\n1500,7,8\n1501,9,10\n", "time=when;ms:ms,input=in,output=out", []string{"0s 7 8", "1ms 9 10"}, "", ""},
		{"a list", `[{"t": "2026-01-01T00:00:01Z", "a": 3, "b": 4}, {"t": "2026-01-01T00:00:01.25Z", "a": "5", "b": 6}]`, "time=t,input=a,output=b", []string{"0s 3 4", "250ms 5 6"}, "", ""},
		{"bad rows", azure + "x,1,1\n2023-11-16 18:15:48,0,1\n2023-11-16 18:15:48,1\n2023-11-16 18:15:48,1,2.5\n", "", []string{"0s 374 44", "500ms 396 109"}, "", `4 of the 6 rows read are unusable and were skipped, first line 4: TIMESTAMP "x" is not a time`},
		{"an unknown column", azure, "input=prompt", nil, `has no column "prompt": its columns are ContextTokens, GeneratedTokens, TIMESTAMP`, ""},
		{"no column for the output", "time,input\n1,2\n", "", nil, "has no known column for output: give --trace-columns output=COLUMN; its columns are input, time", ""},
		{"a flag without a name", azure, "input", nil, `--trace-columns "input": give time=COLUMN[:ms],input=COLUMN,output=COLUMN`, ""},
		{"a flag with an unknown key", azure, "inputs=ContextTokens", nil, `--trace-columns "inputs=ContextTokens": give`, ""},
		{"only a header", "time,input,output\n", "", nil, "has no row that fits", ""},
		{"no row fits", "time,input,output\n1,a,b\n", "", nil, `line 2: input "a" is not a number of tokens`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "trace")
			if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			var notes, got []string
			spec := of(TimedTrace, "", func(s *Spec) {
				s.Path, s.TraceColumns, s.Note = path, c.columns, func(n string) { notes = append(notes, n) }
			})
			requests, times, err := Plan(t.Context(), spec, Arrivals{Process: Trace}, bytesOnly(t))
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "\n") {
					t.Errorf("got error %v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range requests {
				got = append(got, strings.Join([]string{times[i].String(), strconv.Itoa(r.PromptLen), strconv.Itoa(r.OutputLen)}, " "))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if !strings.Contains(strings.Join(notes, "\n"), c.note) {
				t.Errorf("got notes %q, want %q", notes, c.note)
			}
		})
	}
	spec := of("mooncake", "mooncake.jsonl", func(s *Spec) { s.TraceColumns = "time=timestamp" })
	if _, err := Build(t.Context(), spec, nil); err == nil || !strings.Contains(err.Error(), "names the columns of --dataset-name timed-trace, not of mooncake") {
		t.Errorf("columns of another data set: got error %v", err)
	}
}

// FuzzTimedTrace: any file gives rows with valid lengths, or one line of error.
func FuzzTimedTrace(f *testing.F) {
	f.Add([]byte("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n"), "")
	f.Add([]byte(`{"timestamp": 3000, "input_length": 30, "output_length": 5}`), "time=timestamp:ms")
	f.Add([]byte("a,b\n\"\n"), "time=a,input=b,output=a")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte, columns string) {
		path := filepath.Join(dir, "trace")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		names, unit, err := columnNames(columns)
		if err != nil {
			return
		}
		b := &builder{Spec: &Spec{Path: path}}
		rows, err := b.open(orCSV, timedWanted)
		if err != nil {
			return
		}
		defer rows.Close()
		trace, err := b.timedRows(rows, names, unit)
		for _, row := range trace {
			if row.input < 1 || row.output < 1 || row.input > most || row.output > most {
				t.Errorf("got row %+v", row)
			}
		}
		if err != nil && len(trace) > 0 {
			t.Errorf("got %d rows and %v", len(trace), err)
		}
	})
}
