package main

import (
	"database/sql"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/stepscope/stepscope/internal/testing/sqlitedb"
)

// repeat makes a long export from a short one. It repeats all rows that have times. Each repetition is later than the
// previous repetition by the length of the capture. times is the number of repetitions.
func repeat(from, to string, times int) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	db, err := sqlitedb.Open(to, "synchronous(off)", "journal_mode(off)")
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	tables, err := strs(db, `SELECT name FROM sqlite_master WHERE type = 'table'`)
	if err != nil {
		return err
	}
	var length, calls int64
	if err := db.QueryRow(`SELECT max("end")+1000000, max(correlationId)+1 FROM CUPTI_ACTIVITY_KIND_RUNTIME`).Scan(&length, &calls); err != nil {
		return err
	}
	for _, table := range tables {
		columns, err := strs(db, `SELECT name FROM pragma_table_info(?)`, table)
		if err != nil {
			return err
		}
		if !slices.Contains(columns, "start") {
			continue
		}
		var later []string
		for _, c := range columns {
			switch c {
			case "start", "end":
				later = append(later, fmt.Sprintf("%q + k.n * %d", c, length))
			case "correlationId":
				later = append(later, fmt.Sprintf("%q + k.n * %d", c, calls))
			default:
				later = append(later, fmt.Sprintf("%q", c))
			}
		}
		// Order the rows by time, as in real exports.
		query := fmt.Sprintf(`WITH RECURSIVE k(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM k WHERE n < %d)
			INSERT INTO %q SELECT %s FROM k CROSS JOIN (SELECT * FROM %q) AS t`, times-1, table, strings.Join(later, ", "), table)
		if _, err := db.Exec(query); err != nil {
			return fmt.Errorf("%s: %w", table, err)
		}
	}
	return nil
}

// strs returns the first column of a query.
func strs(db *sql.DB, query string, args ...any) (list []string, err error) {
	rows, err := db.Query(query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, rows.Err()
}
