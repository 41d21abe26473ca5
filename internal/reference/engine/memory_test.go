package engine

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stepscope/stepscope/internal/api"
	"github.com/stepscope/stepscope/internal/reference/engine/memsnap"
	"github.com/stepscope/stepscope/internal/reference/engine/model"
	"github.com/stepscope/stepscope/internal/reference/engine/sched"
)

// TestMemoryFiles checks that snapshots have SGLang's names, with the time in place of the profile id, and are written
// beside the traces if those are requested too.
func TestMemoryFiles(t *testing.T) {
	for _, tt := range []struct {
		name   string
		dp, tp int
		bend   func(*api.ProfileRequest)
		want   []string
	}{
		{"alone", 1, 1, func(p *api.ProfileRequest) { p.Activities = api.ActivityMem }, []string{"TIME-TP-0-memory.pickle"}},
		{"nothing to merge", 1, 1, func(p *api.ProfileRequest) { p.Activities, p.Merge = api.ActivityMem, true }, []string{"TIME-TP-0-memory.pickle"}},
		{"with traces", 1, 2, func(p *api.ProfileRequest) { p.Activities |= api.ActivityMem },
			[]string{"1700000000.5-TP-0.trace.json.gz", "1700000000.5-TP-1.trace.json.gz", "TIME-TP-0-memory.pickle", "TIME-TP-1-memory.pickle"}},
		{"no prefix", 1, 1, func(p *api.ProfileRequest) { p.Activities, p.Prefix = api.ActivityMem|api.ActivityGPU, "run" },
			[]string{"run-1700000000.5-TP-0.trace.json.gz", "TIME-TP-0-memory.pickle"}},
		{"data parallel", 2, 1, func(p *api.ProfileRequest) { p.Activities = api.ActivityMem },
			[]string{"TIME-TP-0-DP-0-memory.pickle", "TIME-TP-0-DP-1-memory.pickle"}},
		{"by stage", 1, 1, func(p *api.ProfileRequest) {
			p.Activities, p.ByStage, p.Prefill, p.Decode = api.ActivityMem, true, true, true
		},
			[]string{"TIME-TP-0-memory-EXTEND.pickle", "TIME-TP-0-memory-DECODE.pickle"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, tt.dp, tt.tp, Options{})
			req := profileIn(t.TempDir())
			req.NumSteps = 1
			tt.bend(&req)
			if err := r.StartProfile(t.Context(), req); err != nil {
				t.Fatal(err)
			}
			s := r.session.Load()
			for dp := range tt.dp {
				r.generate(t, dp, 3)
			}
			res := waitOver(t, s)
			if got := files(t, req.OutputDir); !slices.Equal(got, res.Files) {
				t.Errorf("files %v, reported %v", got, res.Files)
			}
			if res.Merged != "" || res.Message != "" {
				t.Errorf("%+v", res)
			}
			now := regexp.MustCompile(`^\d{10}\.\d{1,9}-TP`) // before the test's own id
			for i := range res.Files {
				if filepath.Ext(res.Files[i]) == ".pickle" {
					res.Files[i] = now.ReplaceAllString(res.Files[i], "TIME-TP")
				}
			}
			slices.Sort(res.Files)
			slices.Sort(tt.want)
			if !slices.Equal(res.Files, tt.want) {
				t.Errorf("got %v, want %v", res.Files, tt.want)
			}
		})
	}
}

// TestMemEntries checks that the history has the requested depth.
func TestMemEntries(t *testing.T) {
	for _, tt := range []struct {
		entries int
		actions []string
	}{
		{0, []string{"alloc", "free_requested", "free_completed"}},
		{2, []string{"free_requested", "free_completed"}},
	} {
		r := newRig(t, 1, 1, Options{})
		req := profileIn(t.TempDir())
		req.Activities, req.MemEntries = api.ActivityMem, tt.entries
		if err := r.StartProfile(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		res, err := r.StopProfile(soon(t))
		if err != nil || len(res.Files) != 1 {
			t.Fatal(err, res)
		}
		text, err := os.ReadFile(filepath.Join(req.OutputDir, res.Files[0]))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range regexp.MustCompile(`X.\0\0\0(alloc|free_\w+)q`).FindAllSubmatch(text, -1) {
			got = append(got, string(m[1]))
		}
		if !slices.Equal(got, tt.actions) || !bytes.HasSuffix(text, []byte(".")) {
			t.Errorf("depth %d: %v", tt.entries, got)
		}
	}
}

// TestReserved checks that each rank holds its weights and its cache, side by side.
func TestReserved(t *testing.T) {
	for _, z := range []Sizes{{}, {TP: 2}, {PP: 2}} {
		e := serve(t, "llama-tiny", z, true, sched.Options{})
		g := e.ranks[0].group.(*Ranks)
		got, err := reserved(g, 24)
		if err != nil {
			t.Fatal(err)
		}
		z = z.normal()
		cfg, err := model.BuiltinConfig("llama-tiny", nil)
		if err != nil {
			t.Fatal(err)
		}
		perBlock, err := cfg.KVBytesPerBlock(model.Shard{TPSize: z.TP, PPSize: z.PP})
		if err != nil {
			t.Fatal(err)
		}
		var most int64
		for i, blocks := range got {
			most = max(most, blocks[0].Size)
			want := []memsnap.Block{
				{Addr: firstAddr, Size: blocks[0].Size, Name: "weights"},
				{Addr: blocks[1].Addr, Size: 25 * perBlock, Name: "kv_cache"},
			}
			if end := blocks[0].Addr + uint64(blocks[0].Size); !slices.Equal(blocks, want) || blocks[1].Addr < end || blocks[1].Addr >= end+addrStep {
				t.Errorf("%+v, rank %d: %+v, want %+v", z, i, blocks, want)
			}
		}
		if len(got) != z.TP*z.PP || most != g.WeightBytes() {
			t.Errorf("%+v: %d ranks, weights of at most %d bytes, want %d", z, len(got), most, g.WeightBytes())
		}
	}
}
