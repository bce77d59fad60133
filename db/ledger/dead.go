package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// DeadLetter is a number that waits for a person, as it was when it died.
type DeadLetter struct {
	ID     int64 // counts up
	Number sequence.Number
	Cause  sequence.DeadCause
	Reason string
	Time   time.Time
	// Requeues is how often it was requeued in this life before.
	Requeues int
}

// DeadCount is how many dead letters of a biz type wait for one cause.
type DeadCount struct {
	BizType string
	Cause   sequence.DeadCause
	Count   int64
}

// death is a number that dies in this transaction.
type death struct {
	number sequence.Number // before it
	cause  sequence.DeadCause
	reason string
	// by and resolution: it leaves that state in the same batch; zero where it does not.
	by         string
	resolution sequence.Outcome
}

// handled is a dead number that leaves that state.
type handled struct {
	key        key
	by         string
	resolution sequence.Outcome
}

const (
	deadColumns = `biz_type, period, seq_no, value, life, replays, batch_id, status, tracked, biz_key, issued_time, abandoned_time,
		retry_times, version, cause, dead_reason, dead_time`
	insertDead = `INSERT INTO t_seq_issue_dead (` + deadColumns + `, resolution, handled_by, handled_time) VALUES `
	handleDead = `UPDATE t_seq_issue_dead FORCE INDEX (idx_dead_number) SET resolution = ?, handled_by = ?, handled_time = ? WHERE biz_type = ? AND resolution = '' AND seq_no IN (`
	// The reason is written first: it tells the cause of before.
	restateDead = `UPDATE t_seq_issue_dead FORCE INDEX (idx_dead_number) SET dead_reason = LEFT(CONCAT(?, '; before that ', cause, ': ', dead_reason), ?), cause = ?
		WHERE biz_type = ? AND resolution = '' AND seq_no IN (`
	// What was requeued in the same life before.
	fromRequeued = ` FROM t_seq_issue_dead r FORCE INDEX (idx_dead_number)
		WHERE r.biz_type = d.biz_type AND r.seq_no = d.seq_no AND r.life = d.life AND r.id < d.id AND r.resolution = 'REQUEUED'`
	queryDeadLetters = `SELECT id, ` + deadColumns + `, (SELECT COUNT(*)` + fromRequeued + `) FROM t_seq_issue_dead d FORCE INDEX (idx_dead_open)
		WHERE resolution = '' AND id > ?`
	queryDeadCounts = `SELECT biz_type, cause, COUNT(*) FROM t_seq_issue_dead d FORCE INDEX (idx_dead_open) WHERE resolution = ''`
)

func insertDeaths(ctx context.Context, tx *sql.Tx, deaths []death, now time.Time) error {
	if len(deaths) == 0 {
		return nil
	}
	args := make([]any, 0, 20*len(deaths))
	for _, d := range deaths {
		n := d.number
		args = append(args, n.BizType, n.Period, n.SeqNo, n.Value, n.Life, n.Replays, n.BatchID, n.State, n.Tracked, n.BizKey,
			null(n.IssuedTime), null(n.AbandonedTime), n.RetryTimes, n.Version, d.cause.String(), d.reason, now)
		if d.resolution == 0 {
			args = append(args, "", "", nil)
		} else {
			args = append(args, d.resolution.String(), d.by, now)
		}
	}
	query := insertDead + tuples(len(deaths), 20)
	if _, err := tx.ExecContext(ctx, query, args...); err != nil {
		return fmt.Errorf("write %d dead letters: %w", len(deaths), err)
	}
	return nil
}

// restateDeaths gives open letters another cause. The one of before stays in words.
func restateDeaths(ctx context.Context, tx *sql.Tx, deaths []death) error {
	type group struct {
		bizType, reason string
		cause           sequence.DeadCause
	}
	groups := map[group][]any{}
	for _, d := range deaths {
		g := group{d.number.BizType, d.reason, d.cause}
		groups[g] = append(groups[g], d.number.SeqNo)
	}
	for g, seqNos := range groups {
		args := append([]any{g.reason, sequence.MaxReason, g.cause.String(), g.bizType}, seqNos...)
		if _, err := tx.ExecContext(ctx, restateDead+placeholders(len(seqNos))+")", args...); err != nil {
			return fmt.Errorf("restate %d dead letters of %s: %w", len(seqNos), g.bizType, err)
		}
	}
	return nil
}

// handleDeaths writes down what came of dead letters. Those of one biz type, person and outcome are
// one statement.
func handleDeaths(ctx context.Context, tx *sql.Tx, all []handled, now time.Time) error {
	type group struct {
		bizType, by string
		resolution  sequence.Outcome
	}
	groups := map[group][]any{}
	for _, h := range all {
		g := group{h.key.bizType, h.by, h.resolution}
		groups[g] = append(groups[g], h.key.seqNo)
	}
	for g, seqNos := range groups {
		args := append([]any{g.resolution.String(), g.by, now, g.bizType}, seqNos...)
		if _, err := tx.ExecContext(ctx, handleDead+placeholders(len(seqNos))+")", args...); err != nil {
			return fmt.Errorf("resolve %d dead letters of %s: %w", len(seqNos), g.bizType, err)
		}
	}
	return nil
}

// DeadFilter says which dead letters are meant; what is zero does not matter.
type DeadFilter struct {
	BizType string
	Cause   sequence.DeadCause
	Tickets []sequence.Ticket // at most MaxBatch
	// FailedAgain: only those that were requeued before in this life.
	FailedAgain bool
}

// conditions are what is added to a query's.
func (f DeadFilter) conditions() (where string, args []any) {
	if f.BizType != "" {
		where, args = where+" AND biz_type = ?", append(args, f.BizType)
	}
	if f.Cause != 0 {
		where, args = where+" AND cause = ?", append(args, f.Cause.String())
	}
	if len(f.Tickets) > 0 {
		where += " AND (biz_type, seq_no, life) IN (" + tuples(len(f.Tickets), 3) + ")"
		for _, t := range f.Tickets {
			args = append(args, t.BizType, t.SeqNo, t.Life)
		}
	}
	if f.FailedAgain {
		where += " AND EXISTS (SELECT 1" + fromRequeued + ")"
	}
	return where, args
}

// DeadLetters reads at most limit dead letters that wait for a person, oldest first, after the one of the given id.
func (l *Ledger) DeadLetters(ctx context.Context, f DeadFilter, after int64, limit int) ([]DeadLetter, error) {
	where, args := f.conditions()
	args = append(append([]any{after}, args...), limit)
	rows, err := l.db.QueryContext(ctx, queryDeadLetters+where+" ORDER BY id LIMIT ?", args...)
	letters, err := collect(rows, err, scanDeadLetter)
	return letters, classify("read the dead letters", err)
}

func scanDeadLetter(row row) (DeadLetter, error) {
	var d DeadLetter
	var issued, abandoned sql.NullTime
	var cause string
	n := &d.Number
	err := row.Scan(&d.ID, &n.BizType, &n.Period, &n.SeqNo, &n.Value, &n.Life, &n.Replays, &n.BatchID, &n.State, &n.Tracked, &n.BizKey,
		&issued, &abandoned, &n.RetryTimes, &n.Version, &cause, &d.Reason, &d.Time, &d.Requeues)
	if err != nil {
		return d, err
	}
	n.IssuedTime, n.AbandonedTime = issued.Time, abandoned.Time
	d.Cause, err = sequence.ParseDeadCause(cause)
	return d, err
}

// CountDead counts the dead letters that wait for a person, by biz type and cause.
func (l *Ledger) CountDead(ctx context.Context, f DeadFilter) ([]DeadCount, error) {
	where, args := f.conditions()
	rows, err := l.db.QueryContext(ctx, queryDeadCounts+where+" GROUP BY biz_type, cause ORDER BY biz_type, cause", args...)
	counts, err := collect(rows, err, scanDeadCount)
	return counts, classify("count the dead letters", err)
}

func scanDeadCount(row row) (DeadCount, error) {
	var c DeadCount
	var cause string
	if err := row.Scan(&c.BizType, &cause, &c.Count); err != nil {
		return c, err
	}
	var err error
	c.Cause, err = sequence.ParseDeadCause(cause)
	return c, err
}
