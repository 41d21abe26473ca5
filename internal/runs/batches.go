package runs

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/stepscope/stepscope/bench"
	"github.com/stepscope/stepscope/internal/base/atomicfile"
)

// BatchesFile is the file with the results of a batch benchmark, one bench.Batch per line.
const BatchesFile = "batches.jsonl"

// AddBatch appends the result of a batch to BatchesFile and lists the file in the manifest. The file and the manifest
// survive a later crash of the process.
func (r *Run) AddBatch(b *bench.Batch) error {
	f := File{Path: BatchesFile, Kind: KindBatches, Format: "jsonl"}
	to, err := r.place(&f)
	if err == nil {
		err = appendLine(to, b)
	}
	if err != nil {
		return fmt.Errorf("run %s: %w", r.ID(), err)
	}
	return r.update(true, func(m *Manifest) error {
		at := slices.IndexFunc(m.Files, func(o File) bool { return o.Path == f.Path })
		if at < 0 {
			at, m.Files = len(m.Files), append(m.Files, f)
		}
		m.Files[at].Count++
		if st, err := os.Stat(to); err == nil {
			m.Files[at].Size = st.Size()
		}
		return nil
	})
}

func appendLine(to string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	st, err := f.Stat()
	if err == nil {
		if _, err = f.Write(append(text, '\n')); err != nil {
			f.Truncate(st.Size()) // remove the partial line
		}
	}
	return errors.Join(err, f.Close())
}

// Batches reads the batch results of a run. If the file is truncated, it returns the results before the truncation and
// [ErrCut].
func (r *Run) Batches() ([]bench.Batch, error) {
	f, err := atomicfile.Open(r.Path(BatchesFile))
	if err != nil {
		return nil, fmt.Errorf("run %s has no batches: %w", r.ID(), err)
	}
	defer f.Close()
	out, err := readBatches(f)
	if err != nil {
		err = fmt.Errorf("run %s: %s: after %d batches: %w", r.ID(), BatchesFile, len(out), err)
	}
	return out, err
}

func readBatches(r io.Reader) (out []bench.Batch, err error) {
	lines := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	for {
		if line, err = wholeLine(lines, line[:0]); err == io.EOF {
			return out, nil
		} else if err != nil {
			return out, err
		}
		var b bench.Batch
		if err := json.Unmarshal(line, &b); err != nil {
			return out, err
		}
		out = append(out, b)
	}
}
