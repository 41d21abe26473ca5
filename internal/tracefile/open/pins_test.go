package open

import (
	"database/sql"
	"fmt"
	"os/exec"
	"reflect"
	"strings"
	"testing"

	_ "modernc.org/sqlite"
)

func TestPins(t *testing.T) {
	collapse := Command{"dev.perfetto.CollapseTracksByRegex", []string{".*", "name"}}
	steps := Command{"dev.perfetto.AddDebugSliceTrackWithPivot", []string{stepsSQL, "rank", "steps"}}
	pin := func(pattern string) Command {
		return Command{"dev.perfetto.PinTracksByRegex", []string{pattern, "path"}}
	}
	note := func(ts, text string) Command {
		return Command{"dev.perfetto.AddNoteAtTimestamp", []string{ts, text}}
	}
	tests := []struct {
		name string
		got  []Command
		want []Command
	}{
		{"nothing", PinRows(nil, nil), []Command{collapse, steps}},
		{"ranks in the given order", PinRows([]Row{{Rank: "[TP01]"}, {Rank: "TP00"}}, nil), []Command{collapse,
			pin(`(^|[^\w-])TP01(?![\w-]).*> stream 7(?!\w)[ ()\d]*$`),
			pin(`(^|[^\w-])TP00(?![\w-]).*> stream 7(?!\w)[ ()\d]*$`),
			steps}},
		{"own stream", PinRows([]Row{{"[TP00-DP01]", "stream 23 "}}, nil), []Command{collapse,
			pin(`(^|[^\w-])TP00-DP01(?![\w-]).*> stream 23(?!\w)[ ()\d]*$`),
			steps}},
		{"notes", PinRows(nil, []Note{{4436349792008765, "rank 2 late\n from step 7"}, {-3, strings.Repeat("ä", 81)}}), []Command{collapse, steps,
			note("4436349792008765", "rank 2 late from step 7"),
			note("-3", strings.Repeat("ä", 79)+"…")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !reflect.DeepEqual(tt.got, tt.want) {
				t.Errorf("\n got %q\nwant %q", tt.got, tt.want)
			}
		})
	}
}

// TestPinsOfManyRanks: the rows of every rank are pinned, and the link has room for notes.
func TestPinsOfManyRanks(t *testing.T) {
	for _, n := range []int{1, 16, 17, 64, 100} {
		var ranks []Row
		for i := range n {
			ranks = append(ranks, Row{Rank: fmt.Sprintf("[TP%02d]", i)})
		}
		commands := PinRows(ranks, make([]Note, 10))
		all := ""
		for _, c := range commands {
			all += strings.Join(c.Args, " ")
		}
		for _, r := range ranks {
			if !strings.Contains(all, strings.Trim(r.Rank, "[]")) {
				t.Errorf("%d ranks: %s is not pinned", n, r.Rank)
			}
		}
		link, err := newLink(Options{Commands: commands}.withDefaults())
		if err != nil {
			t.Fatal(err)
		}
		if link.dropped > 0 {
			t.Errorf("%d ranks: %d commands do not fit", n, link.dropped)
		}
	}
}

// TestRowPattern runs the patterns in JavaScript: Go's regexp has no lookahead.
func TestRowPattern(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node to evaluate JavaScript patterns with")
	}
	rows := func(ranks ...string) (rows []Row) {
		for _, r := range ranks {
			rows = append(rows, Row{Rank: r})
		}
		return rows
	}
	tests := []struct {
		rows []Row
		path string
		want bool
	}{
		{rows("[TP00]"), "[TP00] 0 12 > stream 7  7", true},              // SGLang's merge, JSON
		{rows("TP00"), "python3 [TP00] GPU 0 100001 > stream 7 7", true}, // label in the process name
		{rows("TP00"), "TP00 > GPU 0 > stream 7", true},                  // groups in a .pftrace
		{rows("TP00"), "TP00 > GPU 0 > stream 7 (7)", true},
		{rows("TP00"), "[TP00-DP01] 0 12 > stream 7  7", false},
		{rows("TP00-DP01"), "[TP00-DP01] 0 12 > stream 7  7", true},
		{rows("DP01"), "[TP00-DP01] 0 12 > stream 7  7", false},
		{rows("TP1"), "[TP10] 0 12 > stream 7  7", false},
		{rows("TP00"), "[TP00] 0 12 > stream 70  70", false},
		{rows("TP00"), "[TP00] 0 12 > stream 17  17", false},
		{rows("TP00"), "[TP00] 0 12 > stream 7 lane 2 71", false},
		{rows("TP00"), "[TP00] 0 12 > stream 7  7 > nested", false},
		{rows("TP00", "TP01"), "[TP01] 0 12 > stream 7  7", true},
		{rows("TP00", "TP01"), "[TP02] 0 12 > stream 7  7", false},
		{[]Row{{"TP00", "stream 7"}, {"TP01", "stream 23"}}, "[TP01] 1 12 > stream 23  23", true},
		{[]Row{{"TP00", "stream 7"}, {"TP01", "stream 23"}}, "[TP01] 1 12 > stream 7  7", false},
	}
	for _, tt := range tests {
		pattern := rowPattern(tt.rows)
		out, err := exec.Command(node, "-e", "console.log(new RegExp(process.argv[1]).test(process.argv[2]))", pattern, tt.path).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", pattern, err, out)
		}
		if got := strings.TrimSpace(string(out)) == "true"; got != tt.want {
			t.Errorf("%s on %q: %v, want %v", pattern, tt.path, got, tt.want)
		}
	}
}

// TestStepsSQL runs the query on the parts of Perfetto's schema that it uses.
func TestStepsSQL(t *testing.T) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // otherwise each connection has a memory of its own
	if _, err := db.Exec(`
		create table slice(id, ts, dur, name, category, track_id);
		create table track(id, name, parent_id);
		create table thread_track(id, utid); create table thread(utid, upid);
		create table process_track(id, upid); create table process(upid, name);
		insert into process values (1, '[TP00] 83'), (2, '[TP00] 0');
		insert into thread values (1, 1), (2, 2);
		insert into track values (1, null, null), (2, null, null), (3, null, null), (4, 'TP01', null), (5, 'steps', 4);
		insert into thread_track values (1, 1), (2, 2);
		insert into process_track values (3, 1);
		insert into slice values
			(1, 10, 5, 'step[DECODE bs=4]', 'user_annotation', 1),
			(2, 12, 5, 'step[DECODE bs=4]', 'gpu_user_annotation', 2),
			(3, 13, 1, 'stepper', 'user_annotation', 1),
			(4, 20, 5, 'ProfilerStep#3', 'user_annotation', 3),
			(5, 30, 5, 'execute_context_2(6144)_generation_3(3)', null, 5),
			(6, 40, 5, 'execute_model', 'user_annotation', 1),
			(7, 50, 5, 'decode[bs=117/128 tok=117]', 'user_annotation', 1),
			(8, 60, 5, '[Executor] _forward_step 12: 1 ctx reqs, 2 ctx tokens, 3 gen reqs', 'user_annotation', 1),
			(9, 70, 5, 'step[DRAFT_LOOP raw_bs=3 bs=4 topk=1]', 'user_annotation', 1),
			(10, 80, 5, 'draft step[DECODE bs=1]', 'user_annotation', 1),
			(11, 90, 5, 'execute_new_2_cached_0', 'user_annotation', 1),
			(12, 100, 5, 'denoising_step_0_t1000', 'user_annotation', 1),
			(13, 110, 5, 'STAGE DenoisingStage', 'user_annotation', 1),
			(14, 120, 5, 'scheduler.run_batch', 'user_annotation', 1),
			(15, 130, 5, 'DECODE step 3', 'user_annotation', 1),
			(16, 140, 5, 'schedule', 'user_annotation', 1);`); err != nil {
		t.Fatal(err)
	}
	rows, err := db.Query("select ts, name, rank from (" + stepsSQL + ") order by ts")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var got []string
	for rows.Next() {
		var ts int
		var name, rank string
		if err := rows.Scan(&ts, &name, &rank); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(ts, " ", name, " of ", rank))
	}
	want := []string{
		"10 step[DECODE bs=4] of [TP00] 83",
		"20 ProfilerStep#3 of [TP00] 83",
		"30 execute_context_2(6144)_generation_3(3) of TP01",
		"50 decode[bs=117/128 tok=117] of [TP00] 83",
		"60 [Executor] _forward_step 12: 1 ctx reqs, 2 ctx tokens, 3 gen reqs of [TP00] 83",
		"70 step[DRAFT_LOOP raw_bs=3 bs=4 topk=1] of [TP00] 83",
		"80 draft step[DECODE bs=1] of [TP00] 83",
		"90 execute_new_2_cached_0 of [TP00] 83",
		"100 denoising_step_0_t1000 of [TP00] 83",
		"110 STAGE DenoisingStage of [TP00] 83",
		"120 scheduler.run_batch of [TP00] 83",
		"130 DECODE step 3 of [TP00] 83",
	}
	if err := rows.Err(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %q (%v)\nwant %q", got, err, want)
	}
}
