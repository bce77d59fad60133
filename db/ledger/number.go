package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// Where a number's row is: among those in use, or, some time after its block was sealed, in the archive. The columns
// of numberColumns are those of both.
const (
	logTable     = "t_seq_issue_log"
	archiveTable = "t_seq_archive"
)

const numberColumns = `id, biz_type, period, seq_no, value, life, replays, batch_id, status, tracked, durable, biz_key,
	issued_time, confirmed_time, abandoned_time, deadline, taken_until, taken_by, retry_times, version, owner, reason, trace, life_unsure`

func scanNumber(row row) (sequence.Number, error) {
	var n sequence.Number
	var issued, confirmed, abandoned, deadline, taken sql.NullTime
	var trace sql.NullString
	err := row.Scan(&n.ID, &n.BizType, &n.Period, &n.SeqNo, &n.Value, &n.Life, &n.Replays, &n.BatchID, &n.State, &n.Tracked, &n.Durable, &n.BizKey,
		&issued, &confirmed, &abandoned, &deadline, &taken, &n.TakenBy, &n.RetryTimes, &n.Version, &n.Owner, &n.Reason, &trace, &n.LifeUnsure)
	n.IssuedTime, n.ConfirmedTime, n.AbandonedTime, n.Deadline = issued.Time, confirmed.Time, abandoned.Time, deadline.Time
	n.TakenUntil, n.Trace = taken.Time, trace.String
	return n, err
}

func scanNumbers(rows *sql.Rows, err error) ([]sequence.Number, error) {
	return collect(rows, err, scanNumber)
}

const insertNumber = `INSERT INTO t_seq_issue_log (biz_type, period, seq_no, value, batch_id, status, durable, owner, deadline, reason) VALUES `

// insertNumbers adds the rows of new numbers.
func insertNumbers(ctx context.Context, tx *sql.Tx, numbers []sequence.Number) error {
	for chunk := range slices.Chunk(numbers, MaxBatch) {
		args := make([]any, 0, 10*len(chunk))
		for _, n := range chunk {
			args = append(args, n.BizType, n.Period, n.SeqNo, n.Value, n.BatchID, n.State, n.Durable, n.Owner, null(n.Deadline), n.Reason)
		}
		query := insertNumber + tuples(len(chunk), 10)
		if _, err := tx.ExecContext(ctx, query, args...); err != nil {
			return fmt.Errorf("insert %d numbers from %s: %w", len(chunk), chunk[0].SeqNo, err)
		}
	}
	return nil
}

// changing are the columns that a transition may change.
var changing = []struct {
	name, sqlType string
	of            func(sequence.Number) any // an int64, a string, or nil for NULL
}{
	{"life", "BIGINT", func(n sequence.Number) any { return int64(n.Life) }},
	{"replays", "BIGINT", func(n sequence.Number) any { return int64(n.Replays) }},
	{"batch_id", "VARCHAR(64)", func(n sequence.Number) any { return n.BatchID }},
	{"status", "BIGINT", func(n sequence.Number) any { return int64(n.State) }},
	{"tracked", "BIGINT", func(n sequence.Number) any { return oneIf(n.Tracked) }},
	{"durable", "BIGINT", func(n sequence.Number) any { return oneIf(n.Durable) }},
	{"biz_key", "VARCHAR(128)", func(n sequence.Number) any { return n.BizKey }},
	{"issued_time", "DATETIME(6)", func(n sequence.Number) any { return datetime(n.IssuedTime) }},
	{"confirmed_time", "DATETIME(6)", func(n sequence.Number) any { return datetime(n.ConfirmedTime) }},
	{"abandoned_time", "DATETIME(6)", func(n sequence.Number) any { return datetime(n.AbandonedTime) }},
	{"deadline", "DATETIME(6)", func(n sequence.Number) any { return datetime(n.Deadline) }},
	{"taken_until", "DATETIME(6)", func(n sequence.Number) any { return datetime(n.TakenUntil) }},
	{"taken_by", "VARCHAR(128)", func(n sequence.Number) any { return n.TakenBy }},
	{"retry_times", "BIGINT", func(n sequence.Number) any { return int64(n.RetryTimes) }},
	{"version", "BIGINT", func(n sequence.Number) any { return n.Version }},
	{"owner", "VARCHAR(64)", func(n sequence.Number) any { return n.Owner }},
	{"reason", "VARCHAR(255)", func(n sequence.Number) any { return n.Reason }},
	{"trace", "VARCHAR(55)", func(n sequence.Number) any { return textOrNull(n.Trace) }},
	{"life_unsure", "BIGINT", func(n sequence.Number) any { return oneIf(n.LifeUnsure) }},
}

func oneIf(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// changed pairs a row as it was read with what it becomes.
type changed struct {
	was, is  sequence.Number
	archived bool // the row is in the archive
}

// update is one statement that writes many rows. What is the same in all rows is an argument of its
// own; the rest of each row comes in one JSON argument, since JSON_TABLE is the one way to join rows
// to values on MySQL 8 and MariaDB alike. The named index makes it find and lock no row but those, and
// the guard misses a row that is not exactly as it was read.
type update struct {
	columns []string // of the JSON table
	on      []string
	set     []string
	onArgs  []any
	setArgs []any
	rows    []map[string]any
}

func newUpdate(rows []changed) *update {
	u := &update{rows: make([]map[string]any, len(rows))}
	for i := range u.rows {
		u.rows[i] = make(map[string]any, 6)
	}
	at := func(i int, of func(sequence.Number) any, was bool) any {
		if was {
			return of(rows[i].was)
		}
		return of(rows[i].is)
	}
	// compare is how the statement gets at a value of each row: a column of the JSON table, or one argument.
	compare := func(name, sqlType string, of func(sequence.Number) any, was bool, args *[]any) string {
		first, same := at(0, of, was), true
		for i := 1; i < len(rows) && same; i++ {
			same = at(i, of, was) == first
		}
		if same && name != "id" {
			*args = append(*args, first)
			return "?"
		}
		for i := range rows {
			if value := at(i, of, was); value != nil { // what is absent is NULL
				u.rows[i][name] = value
			}
		}
		u.columns = append(u.columns, name+" "+sqlType+" PATH '$."+name+"'")
		return "c." + name
	}
	id := func(n sequence.Number) any { return n.ID }
	version := func(n sequence.Number) any { return n.Version }
	status := func(n sequence.Number) any { return int64(n.State) }
	u.on = append(u.on,
		"n.id = "+compare("id", "BIGINT", id, true, &u.onArgs),
		"n.version = "+compare("was_version", "BIGINT", version, true, &u.onArgs),
		"n.status = "+compare("was_status", "BIGINT", status, true, &u.onArgs))
	for _, c := range changing {
		u.set = append(u.set, "n."+c.name+" = "+compare(c.name, c.sqlType, c.of, false, &u.setArgs))
	}
	return u
}

func (u *update) statement(name string) (query string, args []any, err error) {
	values, err := json.Marshal(u.rows)
	if err != nil {
		return "", nil, err
	}
	query = "UPDATE JSON_TABLE(?, '$[*]' COLUMNS (" + strings.Join(u.columns, ", ") + ")) c" +
		" STRAIGHT_JOIN " + name + " n FORCE INDEX (PRIMARY) ON " + strings.Join(u.on, " AND ") +
		" SET " + strings.Join(u.set, ", ")
	args = append([]any{string(values)}, u.onArgs...)
	return query, append(args, u.setArgs...), nil
}

func writeNumbers(ctx context.Context, tx *sql.Tx, rows []changed) error {
	inLog := make([]changed, 0, len(rows))
	var archived []changed
	for _, r := range rows {
		if r.archived {
			archived = append(archived, r)
		} else {
			inLog = append(inLog, r)
		}
	}
	if err := writeTo(ctx, tx, logTable, inLog); err != nil {
		return err
	}
	return writeTo(ctx, tx, archiveTable, archived)
}

func writeTo(ctx context.Context, tx *sql.Tx, table string, rows []changed) error {
	if len(rows) == 0 {
		return nil
	}
	query, args, err := newUpdate(rows).statement(table)
	if err != nil {
		return err
	}
	result, err := tx.ExecContext(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("write %d numbers: %w", len(rows), err)
	}
	if n, err := result.RowsAffected(); err != nil || n != int64(len(rows)) {
		return fmt.Errorf("write %d numbers: the guard let %d through: %w", len(rows), n, errGuardMissed)
	}
	return nil
}

// textOrNull is the text, the empty one as NULL.
func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// datetime spells a time as a DATETIME(6) in UTC, the zero time as NULL.
func datetime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format("2006-01-02 15:04:05.000000")
}
