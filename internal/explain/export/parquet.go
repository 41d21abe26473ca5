package export

import (
	"context"
	"encoding/json"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// rowGroup is the rows of a row group: DuckDB's own size, so that each of its
// threads gets whole ones, and small enough that the buffered columns do not
// count beside the trace.
const rowGroup = 122_880

// batch is the rows handed over at once.
const batch = 1024

// metadataKey holds the Result, without sizes, as JSON in the file's footer.
const metadataKey = "stepscope"

// parquetSink writes one Parquet file: zstd, dictionaries for text, deltas for
// times. A row group never mixes ranks, so readers skip those not asked for.
type parquetSink struct {
	w    *parquet.GenericWriter[Row]
	rows []Row
}

func newParquetSink(w io.Writer) *parquetSink {
	return &parquetSink{
		w: parquet.NewGenericWriter[Row](w,
			parquet.Compression(&zstd.Codec{Level: zstd.SpeedFastest}),
			parquet.MaxRowsPerRowGroup(rowGroup),
		),
		rows: make([]Row, batch),
	}
}

func (p *parquetSink) rank(ctx context.Context, r *rank) error {
	for at := 0; at < len(r.t.Spans); {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := min(batch, len(r.t.Spans)-at)
		for i := range n {
			r.fill(&p.rows[i], at+i)
		}
		if _, err := p.w.Write(p.rows[:n]); err != nil {
			return err
		}
		at += n
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
	p.w.SetKeyValueMetadata(metadataKey, string(about))
	return p.w.Close()
}

// abandon has nothing to free: the file is removed as it is.
func (p *parquetSink) abandon() {}
