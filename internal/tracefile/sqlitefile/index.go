package sqlitefile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/base/sorts"
)

// mostKeys is the maximum number of index keys sorted at once: 32 MB if the keys are integers.
const mostKeys = 2 << 20

// Index creates the index of a CREATE INDEX statement over one column of a table with an INTEGER PRIMARY KEY. The
// column holds integers, or texts in byte order. The clause WHERE column IS NOT NULL leaves NULLs out of the index.
// After Index, no rows can be added to any table.
//
// The keys are read from the written rows, so they take no memory while rows are added. If there are more than mostKeys
// keys, the table is read several times, each time for one range of keys. Reading is so fast that temporary files would
// not pay off.
func (w *Writer) Index(sql string) error {
	words := lex(sql)
	if len(words) < 8 || words[1].text != "INDEX" || words[5].text != "(" || words[7].text != ")" {
		return fmt.Errorf("not a CREATE INDEX statement of one column: %s", sql)
	}
	x := indexer{w: w, name: words[2].text, partial: len(words) > 8, tree: tree{w: w, index: true}}
	table, column := words[4].text, words[6].text
	at := slices.IndexFunc(w.tables, func(t *Appender) bool { return t.name == table })
	if at < 0 || w.tables[at].rowid < 0 {
		return fmt.Errorf("index %s: there is no table %s with an INTEGER PRIMARY KEY", x.name, table)
	}
	if err := w.finish(); err != nil {
		return err
	}
	t := w.tables[at]
	x.table = Table{Name: table, Columns: t.columns, rowid: t.rowid, root: t.root,
		file: &File{r: w.file, page: w.page, usable: w.page, pages: int64(w.pages), Size: w.at}}
	x.want = []string{column, t.columns[t.rowid]}
	var err error
	if isOfType(lex(t.sql), column, "TEXT") {
		err = sortKeys(&x, func(r *Row) string { return string(r.Text(0)) }, Text)
	} else {
		err = sortKeys(&x, func(r *Row) int64 { return r.Int(0) }, Int)
	}
	if err != nil {
		return fmt.Errorf("index %s: %w", x.name, err)
	}
	root, err := x.tree.finish()
	if err != nil {
		return err
	}
	w.trees = append(w.trees, entry{"index", x.name, table, root, strings.TrimSpace(sql)})
	if x.rows > 0 || x.partial {
		// These are the statistics that ANALYZE writes: the number of rows, and the average number of rows per key.
		distinct := max(1, x.distinct)
		same := (x.rows + distinct - 1) / distinct
		if same == 2 && x.rows*10 <= distinct*11 {
			same = 1
		}
		w.stats = append(w.stats, []Value{Text(table), Text(x.name), Text(fmt.Sprintf("%d %d", x.rows, same))})
	}
	t.indexed = t.indexed || !x.partial
	return nil
}

// indexer builds one index.
type indexer struct {
	w        *Writer
	name     string
	table    Table
	want     []string // the names of the indexed column and the rowid column
	partial  bool     // whether the index leaves out NULLs
	tree     tree
	rows     int64
	distinct int64
	last     Value // key of the last row
}

// add appends a key. Keys must be added in order.
func (x *indexer) add(key Value, row int64) error {
	if x.rows == 0 || key != x.last {
		x.distinct++
	}
	x.rows, x.last = x.rows+1, key
	w := x.w
	w.record = appendRecord(w.record[:0], []Value{key, Int(row)})
	w.cell = appendVarint(w.cell[:0], uint64(len(w.record)))
	if err := w.payload(local(len(w.record), w.page, (w.page-12)*64/255-23)); err != nil {
		return err
	}
	return x.tree.leaf(w.cell, 0)
}

// keyed is a key and the rowid of its row.
type keyed[K cmp.Ordered] struct {
	key K
	row int64
}

func inOrder[K cmp.Ordered](a, b keyed[K]) int {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.row, b.row))
}

// sortKeys adds all keys of the table in order.
func sortKeys[K cmp.Ordered](x *indexer, key func(*Row) K, value func(K) Value) error {
	var keys, sample []keyed[K]
	flush := func() error {
		sorts.By(keys, inOrder)
		for _, k := range keys {
			if err := x.add(value(k.key), k.row); err != nil {
				return err
			}
		}
		return nil
	}
	n, most := 0, x.w.mostKeys
	err := x.table.Scan(x.want, func(r *Row) error {
		if r.Null(0) {
			if x.partial {
				return nil
			}
			return x.add(Value{}, r.Int(1)) // NULLs sort first
		}
		k := keyed[K]{key(r), r.Int(1)}
		if n++; n <= most {
			keys = append(keys, k)
		}
		if n%256 == 0 {
			sample = append(sample, k)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if n <= most {
		return flush()
	}
	sorts.By(sample, inOrder)
	parts := n/most + 1
	for part := range parts {
		keys = keys[:0]
		least, limit := sample[len(sample)*part/parts], sample[min(len(sample)*(part+1)/parts, len(sample)-1)]
		err := x.table.Scan(x.want, func(r *Row) error {
			if r.Null(0) {
				return nil
			}
			k := keyed[K]{key(r), r.Int(1)}
			if (part == 0 || inOrder(k, least) >= 0) && (part == parts-1 || inOrder(k, limit) < 0) {
				keys = append(keys, k)
			}
			return nil
		})
		if err == nil {
			err = flush()
		}
		if err != nil {
			return err
		}
	}
	return nil
}
