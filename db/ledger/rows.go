package ledger

import (
	"database/sql"
	"strings"
)

// row is what a scan reads: *sql.Row, or the present one of *sql.Rows.
type row interface{ Scan(dest ...any) error }

// collect reads every row that a query gave, and closes it.
func collect[T any](rows *sql.Rows, err error, scan func(row) (T, error)) ([]T, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells what went wrong
	var all []T
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// placeholders is n question marks with commas between.
func placeholders(n int) string { return strings.TrimSuffix(strings.Repeat("?,", n), ",") }

// tuples is n tuples of so many placeholders, with commas between.
func tuples(n, columns int) string {
	return strings.TrimSuffix(strings.Repeat("("+placeholders(columns)+"),", n), ",")
}
