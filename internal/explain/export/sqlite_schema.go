package export

// Tables and view of the database. Repeated values are stored in separate tables, which makes the file several times
// smaller. The view spans has the columns of the other formats. The view uses LEFT JOINs on primary keys. SQLite omits
// such a join if a query without aggregates does not use the joined table. If the query compares columns of the joined
// table, SQLite turns the join into an inner join, which can start from an index.
const (
	aboutTable = `CREATE TABLE about (key TEXT NOT NULL, value TEXT)`
	ranksTable = `CREATE TABLE ranks (
  id INTEGER PRIMARY KEY, rank TEXT NOT NULL, tp INTEGER, dp INTEGER, pp INTEGER, ep INTEGER, stage TEXT,
  file TEXT NOT NULL, host TEXT, device_name TEXT, world_rank INTEGER, world_size INTEGER,
  base_ns INTEGER, -- what the file's times count from
  spans INTEGER NOT NULL, steps INTEGER NOT NULL, step_rule TEXT NOT NULL,
  complete INTEGER NOT NULL -- 0: the file ends early or is broken, see notes
)`
	notesTable = `CREATE TABLE notes (
  rank_id INTEGER REFERENCES ranks (id), -- NULL: the file gave nothing
  file TEXT NOT NULL, severity TEXT NOT NULL, text TEXT NOT NULL, count INTEGER NOT NULL
)`
	tracksTable = `CREATE TABLE tracks (
  id INTEGER PRIMARY KEY, rank_id INTEGER NOT NULL REFERENCES ranks (id),
  pid TEXT NOT NULL, tid TEXT NOT NULL, thread TEXT, gpu INTEGER NOT NULL, device INTEGER, stream INTEGER
)`
	stepsTable = `CREATE TABLE steps (
  id INTEGER PRIMARY KEY, rank_id INTEGER NOT NULL REFERENCES ranks (id), step INTEGER NOT NULL,
  kind TEXT NOT NULL, mode TEXT, name TEXT NOT NULL, batch INTEGER, tokens INTEGER,
  start_ns INTEGER NOT NULL, dur_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL
)`
	namesTable = `CREATE TABLE names (
  id INTEGER PRIMARY KEY, category TEXT NOT NULL, name TEXT NOT NULL, class TEXT, class_group TEXT,
  collective TEXT -- as the kernel's name says; what was recorded stands in collectives
)`
	collectivesTable = `CREATE TABLE collectives (
  id INTEGER PRIMARY KEY, op TEXT NOT NULL, dtype TEXT, in_elems INTEGER, out_elems INTEGER,
  comm_group TEXT, ranks TEXT, group_size INTEGER, seq INTEGER
)`
	shapesTable   = `CREATE TABLE shapes (id INTEGER PRIMARY KEY, dims TEXT NOT NULL, types TEXT)`
	spanRowsTable = `CREATE TABLE span_rows (
  id INTEGER PRIMARY KEY,
  track_id INTEGER NOT NULL REFERENCES tracks (id), step_id INTEGER REFERENCES steps (id),
  name_id INTEGER NOT NULL REFERENCES names (id),
  start_ns INTEGER NOT NULL, dur_ns INTEGER NOT NULL, correlation INTEGER, external_id INTEGER,
  shape_id INTEGER REFERENCES shapes (id),
  bytes INTEGER, grid_x INTEGER, grid_y INTEGER, grid_z INTEGER, block_x INTEGER, block_y INTEGER, block_z INTEGER,
  collective_id INTEGER REFERENCES collectives (id)
)`

	spansView = `CREATE VIEW spans AS SELECT
  r.rank AS rank, r.tp AS tp, r.dp AS dp, r.pp AS pp, r.ep AS ep, r.stage AS stage,
  st.step AS step, st.kind AS step_kind, st.mode AS step_mode, st.batch AS step_batch, st.tokens AS step_tokens,
  n.category AS category, n.class AS class, n.class_group AS class_group, n.name AS name,
  t.pid AS pid, t.tid AS tid, t.thread AS thread, t.device AS device, t.stream AS stream,
  s.start_ns AS start_ns, s.dur_ns AS dur_ns, s.start_ns + s.dur_ns AS end_ns,
  s.correlation AS correlation, s.external_id AS external_id, s.bytes AS bytes,
  s.grid_x AS grid_x, s.grid_y AS grid_y, s.grid_z AS grid_z,
  s.block_x AS block_x, s.block_y AS block_y, s.block_z AS block_z,
  coalesce(c.op, n.collective) AS collective, c.dtype AS coll_dtype, c.in_elems AS coll_in_elems,
  c.out_elems AS coll_out_elems, c.comm_group AS coll_group, c.ranks AS coll_ranks,
  c.group_size AS coll_group_size, c.seq AS coll_seq,
  sh.dims AS input_dims, sh.types AS input_types
FROM span_rows s
LEFT JOIN names n ON n.id = s.name_id
LEFT JOIN tracks t ON t.id = s.track_id
LEFT JOIN ranks r ON r.id = t.rank_id
LEFT JOIN steps st ON st.id = s.step_id
LEFT JOIN collectives c ON c.id = s.collective_id
LEFT JOIN shapes sh ON sh.id = s.shape_id`
)

// indexes are created after the rows have been inserted.
var indexes = []string{
	`CREATE INDEX span_rows_name ON span_rows (name_id)`,
	`CREATE INDEX span_rows_step ON span_rows (step_id)`,
	`CREATE INDEX span_rows_correlation ON span_rows (correlation) WHERE correlation IS NOT NULL`,
	`CREATE INDEX span_rows_start ON span_rows (start_ns)`,
	`CREATE INDEX names_name ON names (name)`,
}
