package ledger

import (
	"context"
	"database/sql"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

const (
	queryOnHold = `SELECT NOT EXISTS (SELECT 1 FROM t_seq_issuer WHERE state = 'LIVE' AND lease_until > UTC_TIMESTAMP(6))
		OR EXISTS (SELECT 1 FROM t_seq_outage WHERE shifted_time IS NULL)
		OR EXISTS (SELECT 1 FROM t_seq_hold WHERE hold_until > UTC_TIMESTAMP(6))`
	queryAnyLive = `SELECT EXISTS (SELECT 1 FROM t_seq_issuer WHERE state = 'LIVE' AND lease_until > UTC_TIMESTAMP(6))`
	// The last that is known of an issuer is its last renewal, or its clean stop.
	queryLastAlive = `SELECT MAX(CASE WHEN state = 'ENDED' THEN ended_time ELSE lease_until - INTERVAL lease_ms * 1000 MICROSECOND END),
		UTC_TIMESTAMP(6) FROM t_seq_issuer`
	// Two that register at once find the same outage; it is written once.
	insertOutage  = `INSERT INTO t_seq_outage (from_time, to_time) VALUES (?, ?) ON DUPLICATE KEY UPDATE from_time = from_time`
	queryOutages  = `SELECT id, from_time, to_time FROM t_seq_outage WHERE shifted_time IS NULL ORDER BY id`
	queryLastEnd  = `SELECT MAX(to_time) FROM t_seq_outage`
	updateShifted = `UPDATE t_seq_outage SET shifted_time = UTC_TIMESTAMP(6) WHERE id = ? AND shifted_time IS NULL`
	queryEndedIn  = `SELECT ` + numberColumns + ` FROM t_seq_issue_log FORCE INDEX (idx_status_deadline)
		WHERE status = ? AND deadline BETWEEN ? AND ? ORDER BY deadline, id LIMIT ?`
	upsertHold = `INSERT INTO t_seq_hold (name, reason, hold_until) VALUES (?, ?, UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND)
		ON DUPLICATE KEY UPDATE reason = VALUES(reason), hold_until = VALUES(hold_until)`
)

// noteOutage writes an outage down that ends now; the zero Outage where there was none.
func noteOutage(ctx context.Context, tx *sql.Tx, lease time.Duration) (o sequence.Outage, err error) {
	var live bool
	if err := tx.QueryRowContext(ctx, queryAnyLive).Scan(&live); err != nil || live {
		return o, err
	}
	var last sql.NullTime
	var now time.Time
	if err := tx.QueryRowContext(ctx, queryLastAlive).Scan(&last, &now); err != nil || !last.Valid || now.Sub(last.Time) <= lease {
		return o, err
	}
	o.From, o.To = last.Time, now
	_, err = tx.ExecContext(ctx, insertOutage, o.From, o.To)
	return o, err
}

// OnHold reports whether no deadline is acted on now: no issuer is alive, an outage's deadlines are not
// all moved, or somebody asked for it (Hold).
func (l *Ledger) OnHold(ctx context.Context) (held bool, err error) {
	err = l.db.QueryRowContext(ctx, queryOnHold).Scan(&held)
	return held, classify("look whether deadlines are on hold", err)
}

// Hold keeps all deadlines from being acted on for a while from now. Under one name there is one hold:
// repeating it moves its end.
func (l *Ledger) Hold(ctx context.Context, name, reason string, lasts time.Duration) error {
	_, err := l.exec(ctx, upsertHold, name, reason, lasts.Microseconds())
	return classify("hold the deadlines", err)
}

// Outages reads those whose deadlines are not all moved, oldest first.
func (l *Ledger) Outages(ctx context.Context) ([]sequence.Outage, error) {
	rows, err := l.db.QueryContext(ctx, queryOutages)
	outages, err := collect(rows, err, func(row row) (o sequence.Outage, err error) {
		return o, row.Scan(&o.ID, &o.From, &o.To)
	})
	return outages, classify("read the outages", err)
}

// LastOutageEnd is when the last outage was over; the zero time where there was none.
func (l *Ledger) LastOutageEnd(ctx context.Context) (time.Time, error) {
	var end sql.NullTime
	err := l.db.QueryRowContext(ctx, queryLastEnd).Scan(&end)
	return end.Time, classify("read the end of the last outage", err)
}

// EndedIn reads at most limit numbers in the state, Allocated or Abandoned, whose deadline ended in the
// outage. Those that are moved are not among them any more.
func (l *Ledger) EndedIn(ctx context.Context, outage sequence.Outage, state sequence.State, limit int) ([]sequence.Number, error) {
	numbers, err := scanNumbers(l.db.QueryContext(ctx, queryEndedIn, state, outage.From, outage.To, limit))
	return numbers, classify("look for deadlines that ended in an outage", err)
}

// OutageShifted writes down that no deadline is left that ended in the outage.
func (l *Ledger) OutageShifted(ctx context.Context, id int64) error {
	_, err := l.exec(ctx, updateShifted, id)
	return classify("write down that an outage is over", err)
}
