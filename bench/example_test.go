package bench_test

import (
	"fmt"

	"github.com/stepscope/stepscope/bench"
)

func Example() {
	records := []bench.Record{{
		Sent: 0, First: 80_000_000, Visible: 80_000_000, Last: 120_000_000, Done: 120_100_000, PromptLen: 12, OutputLen: 3, Status: 200,
		Chunks: []bench.Chunk{{At: 80_000_000, Tokens: 1, Text: true}, {At: 120_000_000, Tokens: 2, Text: true}},
	}}
	run := &bench.Run{Backend: "sglang", Duration: 1_000_000_000}
	slo, _ := bench.ParseSLO("ttft:100,tpot:25")
	s := bench.Summarize(records, run, bench.Options{SLO: slo})
	fmt.Printf("TTFT %.0f ms, chunk gap %.0f ms, token gap %.0f ms, TPOT %.2f ms, good: %d of %d\n",
		s.TTFT.Median/1e6, s.ChunkGap.Median/1e6, s.TokenGap.Median/1e6, s.TPOT.Median/1e6, s.Goodput.Good, s.Requests)
	// Output: TTFT 80 ms, chunk gap 40 ms, token gap 20 ms, TPOT 20.00 ms, good: 1 of 1
}
