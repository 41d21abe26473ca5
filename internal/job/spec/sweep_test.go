package spec

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Expand returns the jobs of a file.
func Expand(name string, data []byte) ([]Variant, error) {
	f, err := Load(name, data, "")
	if err != nil {
		return nil, err
	}
	return f.Variants, nil
}

// TestExpand checks the product of the parameters, in the order of the file; numbers stay numbers.
func TestExpand(t *testing.T) {
	text := aggregated(
		"sweep:", "  size: [4096, 8192]", "  graph: [true, false]",
		"backend:", "  sglang_config:", "    aggregated: {chunked-prefill-size: \"{size}\", enable-x: {graph}, log: \"at-{size}-{ graph }\", json: '{\"a\": {\"b\": 1}}'}",
		"profiling: {type: torch, decode: {isl: \"{size}\", osl: {size}, concurrency: 1}}",
	)
	variants, err := Expand("j", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range variants {
		var args []string
		for _, f := range v.Job.Backend.Config[Aggregated] {
			args = append(args, f.Args()...)
		}
		got = append(got, fmt.Sprint(v.Name, " ", v.Job.Name, " ", v.Parameters, " ", args, " ", v.Job.Profiling.Decode.ISL, " ", v.Job.Profiling.Decode.OSL, " ", len(v.Notes)))
	}
	want := []string{
		`job_001_agg_size4096_graphtrue agg_size4096_graphtrue [{size 4096} {graph true}] [--chunked-prefill-size 4096 --enable-x --json {"a": {"b": 1}} --log at-4096-true] 4096 4096 1`,
		`job_002_agg_size4096_graphfalse agg_size4096_graphfalse [{size 4096} {graph false}] [--chunked-prefill-size 4096 --json {"a": {"b": 1}} --log at-4096-false] 4096 4096 1`,
		`job_003_agg_size8192_graphtrue agg_size8192_graphtrue [{size 8192} {graph true}] [--chunked-prefill-size 8192 --enable-x --json {"a": {"b": 1}} --log at-8192-true] 8192 8192 1`,
		`job_004_agg_size8192_graphfalse agg_size8192_graphfalse [{size 8192} {graph false}] [--chunked-prefill-size 8192 --json {"a": {"b": 1}} --log at-8192-false] 8192 8192 1`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("\n got %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

// TestExpandLists expands srtctl's own example of a sweep.
func TestExpandLists(t *testing.T) {
	text := aggregated(flagsOfX, "benchmark: {type: sa-bench, isl: 1024, osl: 1024, concurrencies: [{ concurrency }]}", "sweep: {concurrency: [128, 256, 512], model: [[a, b/c]]}")
	text = strings.Replace(text, "backend: {", "backend: {aggregated_environment: {N: {concurrency}, HOST: \"{node}\"}, ", 1)
	text = strings.Replace(text, "name: agg", "name: agg-{concurrency}", 1)
	variants, err := Expand("j", []byte(text))
	if err != nil || len(variants) != 3 {
		t.Fatal(len(variants), err)
	}
	if v := variants[1]; v.Job.Name != "agg-256_modela,b/c" || v.Name != "job_002_agg-256_modela,b-c" || !slices.Equal(v.Job.Benchmark.Concurrencies, []int{256}) ||
		!slices.Equal(v.Job.Backend.Environment[Aggregated], []Setting{{"N", "256"}, {"HOST", "{node}"}}) {
		t.Errorf("%+v", v.Job)
	}
	// A file without a sweep is one job.
	if variants, err := Expand("j", []byte(aggregated(flagsOfX))); err != nil || len(variants) != 1 || variants[0].Name != "job_001_agg" || variants[0].Job.Name != "agg" {
		t.Errorf("%v %v", variants, err)
	}
}

func TestSweepProblems(t *testing.T) {
	with := func(sweep string, lines ...string) string {
		return aggregated(append([]string{flagsOfX, sweep}, lines...)...)
	}
	for _, c := range []struct {
		text string
		want []string
	}{
		{with("sweep: [1]"), []string{"5:8: sweep: want parameters, each with a list of values, got a list"}},
		{with("sweep: {a: 1}"), []string{`5:12: sweep.a: want a list of values, got "1"`}},
		{with("sweep: {a: [x, {b: 1}]}"), []string{"5:16: sweep.a: want strings, numbers, true, false or lists of these, got a map"}},
		{with("sweep: {a b: [x]}"), []string{`5:9: sweep: "a b" is not a parameter name: want letters, digits, - and _`}},
		{with("sweep: {isl: [1]}", `benchmark: {isl: "{ils}"}`), []string{"6:18: benchmark.isl: {ils} is not a parameter of sweep; did you mean {isl}?"}},
		{with("", `benchmark: {isl: "{isl}"}`), []string{"6:18: benchmark.isl: {isl} is not a parameter of sweep"}},
		{with("sweep: {n: [1, zwei]}", `benchmark: {isl: "{n}"}`), []string{`6:18: benchmark.isl: want a whole number, got "zwei" (with n=zwei)`}},
		{with("sweep: {n: [1, 2], m: [3, 4]}", `profiling: {type: torch, decode: {isl: 1, osl: 1, concurrency: 1, start_step: "{m}", stop_step: "{m}"}}`),
			[]string{"6:97: profiling.decode.stop_step: want more than start_step 3, got 3 (with n=1 and m=3)", "6:97: profiling.decode.stop_step: want more than start_step 4, got 4 (with n=1 and m=4)"}},
		{with("sweep: {a: [1,2,3,4,5,6,7,8,9,10,11], b: [1,2,3,4,5,6,7,8,9,10,11], c: [1,2,3,4,5,6,7,8,9,10,11]}"), []string{"5:1: sweep: more than 1000 jobs"}},
	} {
		_, err := Expand("j", []byte(c.text))
		if got := texts(problems(t, err)); !slices.Equal(got, c.want) {
			t.Errorf("%s\n got %q\nwant %q", c.text, got, c.want)
		}
	}
}
