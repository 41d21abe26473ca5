// Package merge joins the trace files of many ranks into one file. It works as a stream: events are edited in place,
// and memory does not grow with the input.
//
// # Output
//
// The result has the format of SGLang's merger, so that the same tools read it: one JSON object in gzip members. Every
// event's pid is a string such as "[TP00-DP01] 4000". args.sort_index of process rows follows SGLang's formula.
// deviceProperties lists the devices of all ranks, and every other member has the value of the first file. The format
// differs from SGLang's where SGLang's merger loses or confuses data:
//
//   - Ids are made unique to a file, see [IDMap], so that no arrow connects two ranks. These are the ids of flows and
//     of async and object events, args.correlation, args."External id", and the correlation by which a stream wait
//     refers to an event.
//   - The files of a rank's stages have the same label and share rows. A file whose name has no rank is labelled "R03"
//     from its distributedInfo, or else "Unknown". A repeated label gets the suffix " #2".
//   - Times are converted exactly to the smallest baseTimeNanoseconds. If clocks are aligned, times are also converted
//     to the first file's clock. If neither changes the times of a file, ts is copied byte for byte.
//   - The CPU row of a rank is sorted just before the rank's devices, and "Spans" is sorted after them.
//   - If a file is partly unreadable, the readable part is merged and the loss is recorded.
//
// The rest of an event is copied byte for byte, except white space between its fields. Each gzip member holds complete
// events of one file.
//
// # The member "stepscope"
//
// The member "stepscope" is the last member of the file; see [set.Merged] and [set.Part]:
//
//	"stepscope": {
//	  "format": 1,
//	  "profile_id": "1763750000",
//	  "ranks": [{
//	    "label": "TP00", "file": "1763750000-TP-0.trace.json.gz", "stage": "DECODE",
//	    "pid_prefix": "[TP00] ",               // remove it to restore the original pid
//	    "id_index": 0,                         // k of the id map
//	    "base_time_ns": 1790857026000000000,   // of the file; null: none
//	    "shift_ns": -7654321, "shift_uncertainty_ns": 2104, "shift_interval_ns": [-7655002, -7653800],
//	    "shift_drift_ppb": 12000, "shift_since_ns": 4436331677568557, // if clocks drift: see set.Part
//	    "shift_method": "collectives", "shift_collectives": 1920,
//	    "distributedInfo": {…}, "trace_id": "…", "host_name": "…",
//	    "events": 259426, "complete": false,
//	    "problem": {"reason": "the compressed file is cut off", "offset": 568828, "lost_bytes": 211, "file_bytes": 40000},
//	    "repaired": 1, "cleaned": 2, "odd_times": 0
//	  }],
//	  "id_map": {"stride": 4},                 // id = mapped/4 of file mapped%4
//	  "missing": [{"label": "TP03", "file": "", "reason": "no file of this rank, judging by the names of the others"}],
//	  "notes": ["…"]
//	}
//
// # Perfetto
//
// [Perfetto] writes the same events as protobuf, with a group of tracks for each rank. The group's description holds
// the entries that the member "stepscope" would have for the rank's files.
package merge
