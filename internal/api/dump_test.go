package api_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/internal/api"
)

// dump is the output of SGLang 0.5.23 on a GPU for its command line.
const dump = `{
  "timestamp": "2025-12-20T16:45:15.602292+00:00",
  "request_id": "8d1e9d6c-27d2-4b0f-9c83-6f1b3d0a2f11",
  "commit_hash": "N/A",
  "tag": "cli_generate",
  "total_duration_ms": 1253.25,
  "steps": [
    {
      "name": "DenoisingStage",
      "duration_ms": 1240.5
    }
  ],
  "denoise_steps_ms": [
    {
      "step": 0,
      "duration_ms": 904.5
    },
    {
      "step": 1,
      "duration_ms": 332.125
    }
  ],
  "memory_checkpoints": {
    "after_forward": {
      "allocated_mb": 100.25,
      "reserved_mb": 200.5,
      "peak_allocated_mb": 150.75,
      "peak_reserved_mb": 210,
      "peak_host_anon_mb": 0
    }
  },
  "meta": {
    "prompt": [
      "a cat"
    ],
    "model": "Tongyi-MAI/Z-Image"
  }
}`

// TestPerfDump: a parsed dump is written unchanged, in SGLang's order.
func TestPerfDump(t *testing.T) {
	d, err := api.ParsePerfDump([]byte(dump))
	if err != nil {
		t.Fatal(err)
	}
	if d.TotalMS != 1253.25 || len(d.Stages) != 1 || d.Stages[0].MS != 1240.5 || len(d.Steps) != 2 || d.Steps[1] != (api.StepTime{Step: 1, MS: 332.125}) || d.Checkpoints["after_forward"].PeakAllocated != 150.75 {
		t.Errorf("%+v", d)
	}
	again, err := json.MarshalIndent(d, "", "  ")
	if err != nil || string(again) != dump {
		t.Errorf("%v\n%s", err, again)
	}
}

// TestPerfDumpWrong: invalid dumps are refused with a reason.
func TestPerfDumpWrong(t *testing.T) {
	for text, want := range map[string]string{
		``:                                       "unexpected end",
		`[]`:                                     "array",
		`{"traceEvents":[]}`:                     "lacks total_duration_ms or steps",
		`{"total_duration_ms": 5}`:               "lacks total_duration_ms or steps",
		dump[:len(dump)-3]:                       "unexpected end",
		`{"total_duration_ms":"5"}`:              "string",
		dump + "\n" + dump:                       "after top-level value",
		strings.Replace(dump, "1240.5", "-1", 1): `stage "DenoisingStage" took -1 ms`,
		strings.Replace(dump, "332.125", "-1", 1): `denoising step 1 took -1 ms`,
	} {
		if _, err := api.ParsePerfDump([]byte(text)); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "not a performance dump: ") {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

// FuzzPerfDump: a parsed dump, written and parsed again, is the same.
func FuzzPerfDump(f *testing.F) {
	f.Add([]byte(dump))
	f.Add([]byte(`{"total_duration_ms":1,"steps":[{"name":"denoising_step_0","duration_ms":1}],"meta":null}`))
	f.Add([]byte(`{"total_duration_ms":1,"steps":[],"meta":{"b":1,"a":[{}],"model":null},"memory_checkpoints":{"x":{}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := api.ParsePerfDump(text)
		if err != nil {
			return
		}
		out, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		again, err := api.ParsePerfDump(out)
		if err != nil || !reflect.DeepEqual(d, again) {
			t.Fatalf("%v\n%s\n%+v\n%+v", err, out, d, again)
		}
		if twice, err := json.Marshal(again); err != nil || !bytes.Equal(out, twice) {
			t.Fatalf("%v\n%s\n%s", err, out, twice)
		}
	})
}
