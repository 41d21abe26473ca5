package export

import (
	"context"
	"encoding/json"
	"io"

	"github.com/stepscope/stepscope/internal/base/parquetfile"
)

// rowGroup is the number of rows per row group. This is DuckDB's own size, so that each DuckDB thread processes whole
// groups. The buffered columns of one group take little memory compared with the trace.
const rowGroup = 122_880

// batch is the number of rows between checks of the context.
const batch = 1024

// metadataKey is the key in the file's footer under which the Result is stored as JSON, without sizes.
const metadataKey = "stepscope"

// parquetSink writes one Parquet file, compressed by zstd, with dictionary encoding for text and delta encoding for
// times. A row group never mixes ranks, so readers can skip ranks that a query does not need.
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

// abandon frees nothing: the caller removes the incomplete file.
func (p *parquetSink) abandon() {}
