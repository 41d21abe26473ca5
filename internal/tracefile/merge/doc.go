// Package merge joins the trace files of many ranks into one, as a stream:
// events are rewritten, not rebuilt, and memory does not grow with the input.
//
// # Output
//
// The result is what SGLang's merger writes, read by the same tools: one JSON
// object in gzip members, every event's pid the string "[TP00-DP01] 4000",
// args.sort_index of process rows by SGLang's formula, deviceProperties of all
// ranks in one list, of any other member the first file's. It differs where
// that merger loses or confuses:
//
//   - Ids are unique to a file, see [IDMap]: the ids of flows and of async and
//     object events, args.correlation, args."External id", and the correlation
//     by which a stream wait names an event. So no arrow crosses ranks.
//   - The files of a rank's stages have one label, and so the same rows.
//     A file whose name has no rank is "R03" by its distributedInfo, else
//     "Unknown"; a label met again gets " #2".
//   - Times are brought to the smallest baseTimeNanoseconds, exactly; with
//     clocks aligned, to the first file's clock. Where nothing moves, ts is
//     copied byte for byte.
//   - The CPU row of a rank sorts just before its devices, "Spans" after them.
//   - What of a file can be read is merged; what cannot is recorded.
//
// All else of an event is copied byte for byte, but for white space between
// its fields. Each gzip member holds whole events of one file.
//
// # The member "stepscope"
//
// It stands last, see [set.Merged] and [set.Part]:
//
//	"stepscope": {
//	  "format": 1,
//	  "profile_id": "1763750000",
//	  "ranks": [{
//	    "label": "TP00", "file": "1763750000-TP-0.trace.json.gz", "stage": "DECODE",
//	    "pid_prefix": "[TP00] ",               // cut it off to have the old pid
//	    "id_index": 0,                         // k of the id map
//	    "base_time_ns": 1790857026000000000,   // of the file; null: it has none
//	    "shift_ns": -7654321, "shift_uncertainty_ns": 2104, "shift_interval_ns": [-7655002, -7653800],
//	    "shift_drift_ppb": 12000, "shift_since_ns": 4436331677568557, // if clocks drift: see set.Part
//	    "shift_method": "collectives", "shift_collectives": 1920,
//	    "distributedInfo": {…}, "trace_id": "…", "host_name": "…",
//	    "events": 259426, "complete": false,
//	    "problem": {"reason": "the compressed file is cut off", "offset": 568828, "lost_bytes": 211, "file_bytes": 40000},
//	    "repaired": 1, "cleaned": 2, "odd_times": 0
//	  }],
//	  "id_map": {"stride": 4},                 // id = mapped/4 of file mapped%4
//	  "missing": [{"label": "TP03", "file": "", "reason": "no file of this rank, by the names of the others"}],
//	  "notes": ["…"]
//	}
//
// # Perfetto
//
// [Perfetto] writes the same events as protobuf: a group of tracks for each
// rank. What the member says of a rank's files stands in its group's description.
package merge
