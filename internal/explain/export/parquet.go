package export

import (
	"context"
	"encoding/json"
	"io"

	"github.com/stepscope/stepscope/internal/base/parquetfile"
)

// rowGroup is the number of rows per row group. It is DuckDB's own size, so that each of its threads gets whole groups,
// and small enough that the buffered columns are small compared with the trace.
const rowGroup = 122_880

// batch is the number of rows between checks of the context.
const batch = 1024

// metadataKey holds the Result, without sizes, as JSON in the file's footer.
const metadataKey = "stepscope"

// parquetSink writes one Parquet file: zstd, dictionaries for text, deltas for times. A row group never mixes ranks, so
// readers can skip ranks that a query does not need.
type parquetSink struct{ w *parquetfile.Writer }

func newParquetSink(w io.Writer) *parquetSink {
	return &parquetSink{parquetfile.NewWriter(w, rowColumns)}
}

func (p *parquetSink) rank(ctx context.Context, r *rank) error {
	var row Row
	for i := range r.t.Spans {
		if i%batch == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		r.fill(&row, i)
		values := row.values()
		p.w.Add(values[:])
		if p.w.Rows() == rowGroup {
			if err := p.w.Flush(); err != nil {
				return err
			}
		}
	}
	return p.w.Flush()
}

func (p *parquetSink) close(_ context.Context, res *Result) error {
	about, err := json.Marshal(struct {
		Format int          `json:"format"`
		Ranks  []RankResult `json:"ranks"`
		Failed []Failure    `json:"failed"`
	}{1, res.Ranks, res.Failed})
	if err != nil {
		return err
	}
	p.w.Meta(metadataKey, string(about))
	return p.w.Close()
}

// abandon has nothing to free: the file is removed as it is.
func (p *parquetSink) abandon() {}
