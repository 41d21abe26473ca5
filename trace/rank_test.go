package trace

import (
	"slices"
	"strings"
	"testing"
)

func at(tp, dp, pp, ep int) Rank { return Rank{TP: tp, DP: dp, PP: pp, EP: ep} }

func TestParseFileName(t *testing.T) {
	for _, c := range []struct {
		base string
		want FileName
		ok   bool
	}{
		{"1769071195.6634595-TP-0.trace.json.gz", FileName{ID: "1769071195.6634595", Rank: at(0, -1, -1, -1)}, true},
		{"1769071195.66-TP-7-DP-1-PP-2-EP-3.trace.json.gz", FileName{ID: "1769071195.66", Rank: at(7, 1, 2, 3)}, true},
		{"1769071195.66-TP-7-PP-2.trace.json.gz", FileName{ID: "1769071195.66", Rank: at(7, -1, 2, -1)}, true},
		{"1769071195.66-TP-7-EP-12-EXTEND.trace.json.gz", FileName{ID: "1769071195.66", Rank: at(7, -1, -1, 12), Stage: "EXTEND"}, true},
		{"1769071195.66-TP-7-DECODE.trace.json.gz", FileName{ID: "1769071195.66", Rank: at(7, -1, -1, -1), Stage: "DECODE"}, true},
		{"1769071195.66-TP-7-DP-0-prefill.trace.json.gz", FileName{ID: "1769071195.66", Rank: at(7, 0, -1, -1), Stage: "prefill"}, true},
		{"1769071195.66-TP-0-decode.trace.json", FileName{ID: "1769071195.66", Rank: at(0, -1, -1, -1), Stage: "decode"}, true},
		{"1769071195.66-TP-0.trace.json.zst", FileName{ID: "1769071195.66", Rank: at(0, -1, -1, -1)}, true},
		{"1769071195.66-TP-0.json", FileName{ID: "1769071195.66", Rank: at(0, -1, -1, -1)}, true},
		{"1769071195.66-TP-0", FileName{ID: "1769071195.66", Rank: at(0, -1, -1, -1)}, true},
		{"TP-3.trace.json.gz", FileName{Rank: at(3, -1, -1, -1)}, true},
		{"my-long-run-1769071195.66-TP-0.trace.json.gz", FileName{ID: "my-long-run-1769071195.66", Rank: at(0, -1, -1, -1)}, true},
		{"try-TP-4-17.5-TP-1.trace.json.gz", FileName{ID: "try-TP-4-17.5", Rank: at(1, -1, -1, -1)}, true},
		{"try-TP-4-DP-2-17.5-TP-1-DP-0-DECODE.trace.json.gz", FileName{ID: "try-TP-4-DP-2-17.5", Rank: at(1, 0, -1, -1), Stage: "DECODE"}, true},
		{"rpd-1769071195.66-TP-0.trace.json.gz", FileName{ID: "rpd-1769071195.66", Rank: at(0, -1, -1, -1)}, true},
		{"cuda_graph_capture-decode-TP-2.json.gz", FileName{ID: "cuda_graph_capture-decode", Rank: at(2, -1, -1, -1)}, true},
		{"5f0c3d1e-1-5_steps-global-rank0.trace.json.gz", FileName{ID: "5f0c3d1e-1-5_steps", Rank: at(0, -1, -1, -1)}, true},
		{"mocked_fake_id_for_offline_generate-full_stages-global-rank1.trace.json.gz", FileName{ID: "mocked_fake_id_for_offline_generate-full_stages", Rank: at(1, -1, -1, -1)}, true},
		{"merged-1769071195.66.trace.json.gz", FileName{ID: "1769071195.66", Rank: NoRank, Merged: true}, true},
		{"merged-.trace.json.gz", FileName{Rank: NoRank, Merged: true}, true},
		{"merged-run-TP-1-17.5.trace.json.gz", FileName{ID: "run-TP-1-17.5", Rank: NoRank, Merged: true}, true},
		{"rank0.1763750000123456789.pt.trace.json.gz", FileName{Rank: at(0, -1, -1, -1), Wrote: 1763750000123456789}, true},
		{"vllm-ab12-rank-3.1763750000123456789.pt.trace.json.gz", FileName{ID: "vllm-ab12", Rank: at(3, -1, -1, -1), Wrote: 1763750000123456789}, true},
		{"a-rank-0-b.1763750000123.pt.trace.json", FileName{ID: "a-b", Rank: at(0, -1, -1, -1), Wrote: 1763750000123000000}, true},
		{"dp1_pp0_tp3_dcp0_ep7_rank11.1763750000123456789.pt.trace.json.gz", FileName{Rank: at(3, 1, 0, 7), Wrote: 1763750000123456789}, true},
		{"run_a_dp0_pp0_tp1_dcp0_ep1_rank1.1763750000123456789.pt.trace.json.gz", FileName{ID: "run_a", Rank: at(1, 0, 0, 1), Wrote: 1763750000123456789}, true},
		{"graph_capture_rank_2.1763750000123456789.pt.trace.json.gz", FileName{ID: "graph_capture", Rank: at(2, -1, -1, -1), Wrote: 1763750000123456789}, true},

		{"prefix-0.nsys-rep", FileName{ID: "prefix", Rank: at(0, -1, -1, -1)}, true},
		{"prefix-12.sqlite", FileName{ID: "prefix", Rank: at(12, -1, -1, -1)}, true},
		{"my_run_3.nsys-rep", FileName{ID: "my_run", Rank: at(3, -1, -1, -1)}, true},
		{"prefill_0.nsys-rep", FileName{ID: "workers", Rank: at(0, -1, -1, -1), Stage: "prefill"}, true},
		{"decode_1.nsys-rep", FileName{ID: "workers", Rank: at(1, -1, -1, -1), Stage: "decode"}, true},
		{"run-TP-1-DP-0.sqlite", FileName{ID: "run", Rank: at(1, 0, -1, -1)}, true},
		{"run_rank3.nsys-rep", FileName{ID: "run", Rank: at(3, -1, -1, -1)}, true},
		{"run_rank3.qdrep", FileName{ID: "run", Rank: at(3, -1, -1, -1)}, true},
		{"report1.nsys-rep", FileName{ID: "report1", Rank: NoRank}, false},
		{"run.2.nsys-rep", FileName{ID: "run.2", Rank: NoRank}, false},
		{"window-2.nsys-rep", FileName{ID: "window-2", Rank: NoRank}, false},
		{"serve-window-2.nsys-rep", FileName{ID: "serve-window-2", Rank: NoRank}, false},
		{"serve-1-window-12.sqlite", FileName{ID: "serve-window-12", Rank: at(1, -1, -1, -1)}, true},
		{"decode_1-window-2.nsys-rep", FileName{ID: "workers-window-2", Rank: at(1, -1, -1, -1), Stage: "decode"}, true},
		{"run-2026.nsys-rep", FileName{ID: "run-2026", Rank: NoRank}, false},
		{"prefix-0.json", FileName{ID: "prefix-0", Rank: NoRank}, false},

		{"host_4711.1763750000123456789.pt.trace.json", FileName{ID: "host_4711.1763750000123456789", Rank: NoRank, Wrote: 1763750000123456789}, false},
		{"libkineto_activities_4711.json", FileName{ID: "libkineto_activities_4711", Rank: NoRank}, false},
		{"trace.json", FileName{ID: "trace", Rank: NoRank}, false},
		{"frank2.json", FileName{ID: "frank2", Rank: NoRank}, false},
		{"1769071195.66-TP-x.trace.json.gz", FileName{ID: "1769071195.66-TP-x", Rank: NoRank}, false},
		{"1769071195.66-TP-99999999999999999999.trace.json.gz", FileName{ID: "1769071195.66-TP-99999999999999999999", Rank: NoRank}, false},
		{"", FileName{Rank: NoRank}, false},
	} {
		got, ok := ParseFileName(c.base)
		if got != c.want || ok != c.ok {
			t.Errorf("%q:\n got %+v, %v\nwant %+v, %v", c.base, got, ok, c.want, c.ok)
		}
	}
}

func FuzzParseFileName(f *testing.F) {
	f.Add("1769071195.6634595", uint32(3), int32(0), int32(-1), int32(7), uint8(1))
	f.Add("run-TP-1-DP-2", uint32(0), int32(-1), int32(-1), int32(-1), uint8(0))
	f.Add("merged-x", uint32(0), int32(5), int32(5), int32(5), uint8(4))
	f.Add("dp0_pp0_tp1_dcp0_ep1_rank1.1763750000123456789.pt", uint32(0), int32(5), int32(5), int32(5), uint8(2))
	stages := []string{"", "EXTEND", "DECODE", "prefill", "decode"}
	f.Fuzz(func(t *testing.T, id string, tp uint32, dp, pp, ep int32, stage uint8) {
		ParseFileName(id) // it must never panic

		const limit = 999_999_999
		want := FileName{ID: id, Rank: at(int(tp%limit), max(int(dp%limit), -1), max(int(pp%limit), -1), max(int(ep%limit), -1)), Stage: stages[int(stage)%len(stages)]}
		if strings.HasPrefix(id+"-", "merged-") || strings.ContainsAny(id, "\n\r") {
			return // the merger's own names, not file names
		}
		base := want.String()
		got, ok := ParseFileName(base)
		if !ok || got != want {
			t.Fatalf("%q:\n got %+v, %v\nwant %+v", base, got, ok, want)
		}
		if back, ok := ParseRank(got.Rank.String()); !ok || back != got.Rank {
			t.Fatalf("%s is read back as %+v, %v", got.Rank, back, ok)
		}
	})
}

func TestFileNameString(t *testing.T) {
	for _, c := range []struct {
		name FileName
		want string
	}{
		{FileName{ID: "run-17.5", Rank: at(1, 0, 2, 3), Stage: "DECODE"}, "run-17.5-TP-1-DP-0-PP-2-EP-3-DECODE.trace.json.gz"},
		{FileName{Rank: at(1, -1, -1, -1)}, "TP-1.trace.json.gz"},
		{FileName{ID: "17.5", Rank: at(-1, 1, -1, -1)}, "17.5-TP-0-DP-1.trace.json.gz"},
		{FileName{ID: "host_7", Rank: NoRank}, "host_7.trace.json.gz"},
		{FileName{ID: "17.5", Rank: NoRank, Merged: true}, "merged-17.5.trace.json.gz"},
	} {
		if got := c.name.String(); got != c.want {
			t.Errorf("%+v: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestRankString(t *testing.T) {
	for _, c := range []struct {
		rank Rank
		want string
	}{
		{at(0, -1, -1, -1), "TP00"}, {at(3, 1, -1, -1), "TP03-DP01"}, {at(12, 0, 2, 128), "TP12-DP00-PP02-EP128"},
		{at(-1, 4, -1, -1), "DP04"}, {NoRank, "Unknown"},
	} {
		if got := c.rank.String(); got != c.want {
			t.Errorf("%+v: %q; want %q", c.rank, got, c.want)
		}
		if c.rank == NoRank {
			continue
		}
		if back, ok := ParseRank(c.want); !ok || back != c.rank {
			t.Errorf("%q: %+v, %v", c.want, back, ok)
		}
	}
	for _, s := range []string{"", "Unknown", "TP", "TP-1", "TP+1", "TPx", "XX01", "TP01-", "TP01-TP02", "TP01DP02", "tp01", "TP99999999999"} {
		if r, ok := ParseRank(s); ok || r != NoRank {
			t.Errorf("%q: %+v, %v; want it refused", s, r, ok)
		}
	}
}

func TestRankCompare(t *testing.T) {
	// As SGLang's merger sorts: DP before EP before PP before TP.
	want := []Rank{
		at(0, -1, -1, -1), at(7, 0, 0, 0), at(0, 0, 1, 0), at(3, 0, 0, 1), at(0, 0, 1, 1), at(1, 1, 0, 0), at(0, 1, 0, 2), at(0, 2, -1, -1),
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortStableFunc(got, Rank.Compare)
	if !slices.Equal(got, want) {
		t.Errorf("sorted %v; want %v", got, want)
	}
	for _, a := range want {
		for _, b := range want {
			if x, y := a.Compare(b), b.Compare(a); (x < 0) != (y > 0) || (x == 0) != (y == 0) {
				t.Errorf("%v and %v: %d and %d", a, b, x, y)
			}
		}
	}
	if NoRank.Compare(at(0, 0, 0, 0)) != 0 {
		t.Error("an absent coordinate does not count as 0")
	}
}

func TestTraceSuffix(t *testing.T) {
	for base, want := range map[string]string{
		"a.pt.trace.json.gz": ".pt.trace.json.gz", "a.pt.trace.json": ".pt.trace.json", "a.trace.json.gz": ".trace.json.gz",
		"a.trace.json": ".trace.json", "a.json.gz": ".json.gz", "a.json": ".json", "a.trace.json.zst": ".trace.json.zst",
		"a.json.zst": ".json.zst", "a.pickle": "", "a.nsys-rep": "", "json": "",
	} {
		if got := TraceSuffix(base); got != want {
			t.Errorf("%q: %q; want %q", base, got, want)
		}
	}
}
