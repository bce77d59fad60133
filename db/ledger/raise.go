package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lacuna-seq/lacuna/sequence"
)

// MaxRaiseRows is the widest range of a raise whose values get rows, so that each may still be confirmed and, once
// somebody has looked, be issued again. A wider one is a declared skip.
const MaxRaiseRows = 1_000_000

// Raise is what an operator asks of a biz type that stepped back.
type Raise struct {
	BizType string
	// Margin is how many values beyond the highest known one may have been allocated as well, 0 and up.
	Margin int64
	// Targets are the values up to which each period is to be raised, from PlanRaise.
	Targets []RaiseTarget
	Actor   string
	Reason  string
	// Limit is how many numbers one call sees to at most.
	Limit int
}

// RaiseTarget is how far the cursor of a period is raised.
type RaiseTarget struct {
	Period string
	Cursor int64
	Known  int64 // the highest value that somebody knows
	To     int64
}

// RaiseResult is what one call did, and what is left.
type RaiseResult struct {
	// Doubted are numbers of the ledger that were open, and wait for a person now.
	Doubted int
	// Declared are values that the ledger did not have.
	Declared int64
	// Left is how many numbers and values are still to be seen to.
	Left int64
	// Wait is for how long the biz type has to stand still yet, so that no process holds a number of before.
	Wait time.Duration
	// Done: the biz type is issued again.
	Done bool
}

const (
	queryAllCursors = `SELECT period, value FROM t_seq_cursor WHERE biz_type = ? ORDER BY period`
	queryOpenRaises = `SELECT id, period, lo, hi FROM t_seq_raise WHERE biz_type = ? AND finished_time IS NULL ORDER BY id`
	insertRaise     = `INSERT INTO t_seq_raise (biz_type, period, lo, hi, actor, reason, begun_time) VALUES (?, ?, ?, ?, ?, ?, UTC_TIMESTAMP(6))`
	finishRaises    = `UPDATE t_seq_raise SET finished_time = UTC_TIMESTAMP(6) WHERE biz_type = ? AND finished_time IS NULL`
	// Open is what may have moved on since the ledger was what it is; one that is dead already is open until it is doubted.
	fromDoubtful  = ` FROM t_seq_issue_log FORCE INDEX (idx_status_deadline) WHERE status = ? AND biz_type = ? AND (status <> 6 OR life_unsure = FALSE)`
	queryDoubtful = `SELECT ` + numberColumns + fromDoubtful + ` LIMIT ?`
	countDoubtful = `SELECT COUNT(*)` + fromDoubtful
	queryRowsIn   = `SELECT value FROM t_seq_issue_log FORCE INDEX (uk_value) WHERE biz_type = ? AND period = ? AND value BETWEEN ? AND ?`
	queryFiledIn  = `SELECT value FROM t_seq_archive FORCE INDEX (uk_value) WHERE biz_type = ? AND period = ? AND value BETWEEN ? AND ?`
	queryGapsIn   = `SELECT lo, hi FROM t_seq_skip WHERE biz_type = ? AND period = ? AND hi >= ? AND lo <= ? ORDER BY lo`
	queryEmpty    = `SELECT NOT EXISTS (SELECT 1 FROM t_seq_issue_log WHERE biz_type = ? AND period = ? AND value BETWEEN ? AND ?)
		AND NOT EXISTS (SELECT 1 FROM t_seq_archive WHERE biz_type = ? AND period = ? AND value BETWEEN ? AND ?)
		AND NOT EXISTS (SELECT 1 FROM t_seq_skip WHERE biz_type = ? AND period = ? AND hi >= ? AND lo <= ?)`
	insertDoubtful = `INSERT INTO t_seq_issue_log (biz_type, period, seq_no, value, life, batch_id, status, issued_time, reason, life_unsure) VALUES `
	startBizType   = `UPDATE t_seq_biz_type SET stepped_back = 0 WHERE name = ?`
	// A process holds what it took before for a lease at most once the ledger does not answer it.
	queryStill = `SELECT COALESCE(TIMESTAMPDIFF(MICROSECOND, MAX(found_time), UTC_TIMESTAMP(6)), 0),
		COALESCE((SELECT MAX(lease_ms) FROM t_seq_issuer WHERE state = 'LIVE' AND lease_until > UTC_TIMESTAMP(6)), 15000)
		FROM t_seq_step_back WHERE biz_type = ?`
)

// followed is when a process that the ledger answers has followed a change of settings.
const followed = 5 * time.Second

// openStates are those of numbers that may have moved on.
var openStates = [...]sequence.State{sequence.Reserved, sequence.Allocated, sequence.Abandoned, sequence.Replayable, sequence.Replayed, sequence.Dead}

// Known gives the highest value that this process, the memory and the counter of a biz type of source REDIS know of each period. The error is a
// sequence.UnavailableError where the memory is away; what this process knows is given all the same.
func (l *Ledger) Known(ctx context.Context, bizType string) ([]sequence.Mark, error) {
	var err error
	if l.memory != nil {
		var tide int64
		var marks []sequence.Mark
		if tide, marks, err = l.memory.Recall(ctx, bizType); err == nil {
			l.seen.add(tide, marks...)
		}
	}
	marks := l.seen.of(bizType)
	if l.counter != nil {
		last, counterErr := l.counter.Last(ctx, bizType)
		if err = errors.Join(err, counterErr); last > 0 {
			marks = append(marks, sequence.Mark{BizType: bizType, Value: last}) // a counter knows no periods
		}
	}
	return marks, err
}

// Cursors reads the cursors of a biz type in the order of their periods.
func (l *Ledger) Cursors(ctx context.Context, bizType string) ([]sequence.Mark, error) {
	rows, err := l.db.QueryContext(ctx, queryAllCursors, bizType)
	cursors, err := collect(rows, err, func(row row) (sequence.Mark, error) {
		m := sequence.Mark{BizType: bizType}
		return m, row.Scan(&m.Period, &m.Value)
	})
	return cursors, classify("read the cursors of "+bizType, err)
}

// PlanRaise says how far each period is to be raised: to the highest value that is known, and by the margin beyond it
// where numbers may have been allocated that nobody knows, which is the last period, the one before it, whose last block
// may not have been told at the turn, and every one that is behind.
// Nothing goes past the format's last number.
func PlanRaise(b sequence.BizType, cursors, known []sequence.Mark, margin int64) []RaiseTarget {
	at := map[string]*RaiseTarget{}
	target := func(period string) *RaiseTarget {
		if at[period] == nil {
			at[period] = &RaiseTarget{Period: period, Cursor: b.Start - 1, Known: b.Start - 1}
		}
		return at[period]
	}
	for _, c := range cursors {
		t := target(c.Period)
		t.Cursor, t.Known = c.Value, max(t.Known, c.Value)
	}
	for _, k := range known {
		t := target(k.Period)
		t.Known = max(t.Known, k.Value)
	}
	var all []RaiseTarget
	for _, t := range at {
		all = append(all, *t)
	}
	slices.SortFunc(all, func(a, b RaiseTarget) int { return compareKeys(key{a.Period, ""}, key{b.Period, ""}) })
	var due []RaiseTarget
	for i, t := range all {
		if t.Known > t.Cursor || i >= len(all)-2 {
			t.To = min(t.Known+margin, b.Format.Max())
			due = append(due, t)
		}
	}
	return due
}

// RaiseNow sees to a biz type that stepped back, or that an operator says did: it is stopped, if it is not; every
// number of it that was open is left to a person, since what the ledger says of it may be old; the values between
// the cursor and the target get rows of the same kind, so that whoever was given one can confirm it; and once no
// process can hold a number of before, it is issued again. Each step is small and may be repeated: call it until
// Done. A later call may know more: what its targets have above what is under way is declared as well.
func (l *Ledger) RaiseNow(ctx context.Context, r Raise) (RaiseResult, error) {
	var result RaiseResult
	err := l.raiseNow(ctx, r, &result)
	return result, classify("raise "+r.BizType, err)
}

func (l *Ledger) raiseNow(ctx context.Context, r Raise, result *RaiseResult) error {
	b, err := l.BizType(ctx, r.BizType)
	if err != nil {
		return err
	}
	if b.SteppedBack == 0 {
		found := stepBack{types: map[string]int64{r.BizType: 1}, reason: "an operator said so: " + r.Actor}
		if err := l.stop(ctx, found); err != nil {
			return err
		}
	}
	open, err := l.openRaises(ctx, r)
	if err != nil {
		return err
	}
	if err := l.doubt(ctx, r, result); err != nil {
		return err
	}
	for _, o := range open {
		if err := l.declare(ctx, r, b, o, result); err != nil {
			return err
		}
	}
	return l.endRaise(ctx, r, open, result)
}

// openRaise is a range that is being declared.
type openRaise struct {
	id, lo, hi int64
	period     string
}

// openRaises reads what is under way, and begins it where nothing is.
func (l *Ledger) openRaises(ctx context.Context, r Raise) (open []openRaise, err error) {
	err = l.inTx(ctx, func(tx *sql.Tx) error {
		var now time.Time
		if _, err := scanBizType(tx.QueryRowContext(ctx, lockBizType, r.BizType), &now); err != nil {
			return err
		}
		read := func() error {
			rows, err := tx.QueryContext(ctx, queryOpenRaises, r.BizType)
			open, err = collect(rows, err, func(row row) (o openRaise, err error) {
				return o, row.Scan(&o.id, &o.period, &o.lo, &o.hi)
			})
			return err
		}
		if err := read(); err != nil {
			return err
		}
		for _, s := range toBegin(open, r.Targets) {
			if _, err := tx.ExecContext(ctx, insertRaise, r.BizType, s.period, s.lo, s.hi, r.Actor, r.Reason); err != nil {
				return err
			}
		}
		return read()
	})
	return open, err
}

// toBegin is what is to be declared besides what is under way. A raise moves the cursor, and the margin with it: of one
// that is under way only what somebody knows above its end goes further, be it that more is known by now.
func toBegin(open []openRaise, targets []RaiseTarget) (more []openRaise) {
	for _, t := range targets {
		end, begun := t.Cursor, len(open) > 0
		for _, o := range open {
			if o.period == t.Period {
				end = max(end, o.hi)
			}
		}
		if t.To > end && (!begun || t.Known > end) {
			more = append(more, openRaise{period: t.Period, lo: end + 1, hi: t.To})
		}
	}
	return more
}

// doubt leaves the open numbers to a person, within the call's limit.
func (l *Ledger) doubt(ctx context.Context, r Raise, result *RaiseResult) error {
	for _, state := range openStates {
		for result.Doubted < r.Limit {
			numbers, err := scanNumbers(l.db.QueryContext(ctx, queryDoubtful, state, r.BizType, min(MaxBatch, r.Limit-result.Doubted)))
			if err != nil {
				return err
			}
			if len(numbers) == 0 {
				break
			}
			commands := make([]sequence.Command, len(numbers))
			for i, n := range numbers {
				commands[i] = sequence.Command{
					Kind: sequence.Doubt, Ticket: n.Ticket(), Actor: r.Actor, Cause: sequence.CauseSteppedBack, Reason: doubtReason(r.Reason),
				}
			}
			if _, err := l.Apply(ctx, commands); err != nil {
				return err
			}
			result.Doubted += len(numbers)
		}
	}
	return nil
}

// doubtReason is what stands with each number.
func doubtReason(reason string) string {
	text := sequence.ReasonSteppedBack + ": " + reason
	return text[:min(len(text), sequence.MaxReason)]
}

// declare gives the values of a range rows, and moves the cursor with them, within the call's limit.
func (l *Ledger) declare(ctx context.Context, r Raise, b sequence.BizType, o openRaise, result *RaiseResult) error {
	batchID := "raise-" + uuid.NewString()
	for result.Declared < int64(r.Limit) {
		var at int64
		var done int64
		err := l.inTx(ctx, func(tx *sql.Tx) (err error) {
			at, done, err = declareSome(ctx, tx, r, b, o, batchID)
			return err
		})
		if err != nil && !errors.Is(err, errCommitUnknown) { // asked again, it goes on from where the cursor is
			return err
		}
		if result.Declared += done; err == nil && at >= o.hi {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// declareSome takes the next values of the range, and gives where the cursor is then.
func declareSome(ctx context.Context, tx *sql.Tx, r Raise, b sequence.BizType, o openRaise, batchID string) (at, done int64, err error) {
	c := cursor{bizType: r.BizType, period: o.period}
	if _, err := tx.ExecContext(ctx, insertCursor, r.BizType, o.period, b.Start-1, b.Start); err != nil {
		return 0, 0, err
	}
	if err := tx.QueryRowContext(ctx, lockCursor, c.bizType, c.period).Scan(&c.value); err != nil {
		return 0, 0, fmt.Errorf("lock the cursor: %w", err)
	}
	if c.value >= o.hi {
		return c.value, 0, nil
	}
	lo, hi := c.value+1, min(c.value+MaxBatch, o.hi)
	if o.hi-o.lo+1 > MaxRaiseRows {
		var empty bool
		args := []any{r.BizType, o.period, lo, o.hi}
		if err := tx.QueryRowContext(ctx, queryEmpty, slices.Concat(args, args, args)...).Scan(&empty); err != nil {
			return 0, 0, err
		}
		if empty {
			if _, err := tx.ExecContext(ctx, insertSkip, r.BizType, o.period, lo, o.hi, doubtReason(r.Reason)); err != nil {
				return 0, 0, err
			}
			return o.hi, o.hi - lo + 1, c.move(ctx, tx, o.hi)
		}
	}
	taken, err := takenIn(ctx, tx, c, lo, hi)
	if err != nil {
		return 0, 0, err
	}
	var now time.Time
	if err := tx.QueryRowContext(ctx, "SELECT UTC_TIMESTAMP(6)").Scan(&now); err != nil {
		return 0, 0, err
	}
	var numbers []sequence.Number
	for value := lo; value <= hi; value++ {
		if taken.has(value) {
			continue
		}
		numbers = append(numbers, sequence.Number{
			BizType: r.BizType, Period: o.period, SeqNo: b.Format.Print(o.period, value), Value: value, Life: 1, BatchID: batchID,
			State: sequence.Dead, IssuedTime: now, Reason: doubtReason(r.Reason), LifeUnsure: true,
		})
	}
	if err := insertDoubtfulNumbers(ctx, tx, numbers, now); err != nil {
		return 0, 0, err
	}
	return hi, int64(len(numbers)), c.move(ctx, tx, hi)
}

// takenIn is which of the values have a row or lie in a skip.
func takenIn(ctx context.Context, tx *sql.Tx, c cursor, lo, hi int64) (valueSet, error) {
	taken := valueSet{}
	for _, query := range []string{queryRowsIn, queryFiledIn} {
		rows, err := tx.QueryContext(ctx, query, c.bizType, c.period, lo, hi)
		values, err := collect(rows, err, func(row row) (v int64, err error) { return v, row.Scan(&v) })
		if err != nil {
			return nil, err
		}
		for _, v := range values {
			taken.add(v)
		}
	}
	rows, err := tx.QueryContext(ctx, queryGapsIn, c.bizType, c.period, lo, hi)
	skips, err := collect(rows, err, func(row row) (s span, err error) { return s, row.Scan(&s.lo, &s.hi) })
	for _, s := range skips {
		for v := max(lo, s.lo); v <= min(hi, s.hi); v++ {
			taken.add(v)
		}
	}
	return taken, err
}

func insertDoubtfulNumbers(ctx context.Context, tx *sql.Tx, numbers []sequence.Number, now time.Time) error {
	if len(numbers) == 0 {
		return nil
	}
	args := make([]any, 0, 10*len(numbers))
	deaths := make([]death, len(numbers))
	for i, n := range numbers {
		args = append(args, n.BizType, n.Period, n.SeqNo, n.Value, n.Life, n.BatchID, n.State, n.IssuedTime, n.Reason, n.LifeUnsure)
		deaths[i] = death{number: n, cause: sequence.CauseSteppedBack, reason: n.Reason}
		deaths[i].number.State = sequence.Reserved // as far as anybody knows
	}
	if _, err := tx.ExecContext(ctx, insertDoubtful+tuples(len(numbers), 10), args...); err != nil {
		return fmt.Errorf("declare %d numbers from %s: %w", len(numbers), numbers[0].SeqNo, err)
	}
	return insertDeaths(ctx, tx, deaths, now)
}

// endRaise says what is left, and lets the biz type be issued again where nothing is.
func (l *Ledger) endRaise(ctx context.Context, r Raise, open []openRaise, result *RaiseResult) error {
	return l.inTx(ctx, func(tx *sql.Tx) error {
		var now time.Time
		if _, err := scanBizType(tx.QueryRowContext(ctx, lockBizType, r.BizType), &now); err != nil {
			return err
		}
		result.Left = 0
		for _, state := range openStates {
			var n int64
			if err := tx.QueryRowContext(ctx, countDoubtful, state, r.BizType).Scan(&n); err != nil {
				return err
			}
			result.Left += n
		}
		for _, o := range open {
			at := o.lo - 1
			err := tx.QueryRowContext(ctx, lockCursor, r.BizType, o.period).Scan(&at)
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return err
			}
			result.Left += max(0, o.hi-at)
		}
		var still, lease int64
		if err := tx.QueryRowContext(ctx, queryStill, r.BizType).Scan(&still, &lease); err != nil {
			return err
		}
		least := time.Duration(lease)*time.Millisecond + followed
		if result.Wait = max(0, least-time.Duration(still)*time.Microsecond); result.Left > 0 || result.Wait > 0 {
			return nil
		}
		if _, err := tx.ExecContext(ctx, finishRaises, r.BizType); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, startBizType, r.BizType)
		result.Done = err == nil
		return err
	})
}

// Doubtful counts the numbers of a biz type that a raise would leave to a person.
func (l *Ledger) Doubtful(ctx context.Context, bizType string) (total int64, err error) {
	for _, state := range openStates {
		var n int64
		if err := l.db.QueryRowContext(ctx, countDoubtful, state, bizType).Scan(&n); err != nil {
			return 0, classify("count the open numbers of "+bizType, err)
		}
		total += n
	}
	return total, nil
}
