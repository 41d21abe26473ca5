package main

import (
	"fmt"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/runs"
)

// scaledRuns are the commands that are measured on runs. In the arguments, FILE is replaced by the directory of runs.
var scaledRuns = [][]string{
	{"runs", "list", "--limit", "0", "--run-dir", "FILE"}, {"runs", "show", "last", "--run-dir", "FILE"},
	{"compare", "last", "last", "--run-dir", "FILE"},
}

// shapeOfRuns is a dimension of runs. The factors are the numbers for a size of 1; 0: few.
type shapeOfRuns struct {
	name                      string
	n, runs, requests, events int
}

// shapesOfRuns are many requests, many events of one request, and many runs.
var shapesOfRuns = []shapeOfRuns{
	{"requests", 1250, 0, 1, 0}, {"events of a request", 25_000, 0, 0, 1}, {"runs", 200, 1, 0, 0},
}

func (of shapeOfRuns) write(dir string, n int) error {
	for range max(1, n*of.runs) {
		if err := writeRun(dir, max(3, n*of.requests), max(8, n*of.events)); err != nil {
			return err
		}
	}
	return nil
}

// writeRun writes a run of a load.
func writeRun(root string, requests, events int) error {
	r, err := runs.Create(root, runs.About{Kind: "bench", Tool: "bench serving", Model: "m", Backend: "sglang"}, 0)
	if err != nil {
		return err
	}
	w, err := r.WriteRecords()
	if err != nil {
		return err
	}
	for i := range requests {
		at := int64(i) * 1_000_000
		rec := &bench.Record{
			ID: fmt.Sprint("r", i), Index: i, Scheduled: at, Released: at, Connected: at, Sent: at, Headers: at + 1000, FirstAny: at + 2000, First: at + 2000,
			Visible: at + 2000, PromptLen: 100 + i%50, TextLen: 100, AskedLen: events, OutputLen: events, Retokenized: -1, CachedTokens: -1, Status: 200, DPRank: i % 4,
			OutputFrom: bench.FromServer, Finish: "stop",
		}
		for k := range events {
			rec.Chunks = append(rec.Chunks, bench.Chunk{At: at + 2000 + int64(k)*10_000, Tokens: 1, Text: true})
		}
		rec.Last = rec.Chunks[events-1].At
		rec.Done = rec.Last + 10
		if err := w.Add(rec); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	load := []bench.Run{{Tool: "bench serving", Backend: "sglang", Model: "m", Dataset: "random", StartWall: 1_700_000_000_000_000_000, Duration: int64(requests+1) * 1_000_000, Stamps: bench.KernelStamps}}
	if err := r.WriteJSON(runs.File{Path: "run.json", Kind: "run", Format: "json"}, load); err != nil {
		return err
	}
	return r.Finish(runs.Complete, nil)
}
