package ledger

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// MaxActivityMinutes is how far back Activity looks.
const MaxActivityMinutes = 60

const (
	queryActivityNow = `SELECT UTC_TIMESTAMP() - INTERVAL SECOND(UTC_TIMESTAMP()) SECOND, UTC_TIMESTAMP(6), TIMESTAMPDIFF(MICROSECOND, p.finished_time, UTC_TIMESTAMP(6)),
		s.counted_time, s.next_time <= UTC_TIMESTAMP(6) AND s.taken_until <= UTC_TIMESTAMP(6) FROM t_seq_patrol p JOIN t_seq_stock_count s ON s.id = p.id WHERE p.id = 1`
	queryMinutes         = `SELECT biz_type, minute_time, issued, confirmed, abandoned FROM t_seq_activity FORCE INDEX (idx_activity_minute) WHERE minute_time > ?`
	queryStock           = `SELECT biz_type, status, count FROM t_seq_stock`
	queryWaitingLetters  = `SELECT biz_type, COUNT(*) FROM t_seq_issue_dead FORCE INDEX (idx_dead_open) WHERE resolution = '' GROUP BY biz_type`
	queryRecentConflicts = `SELECT biz_type, COUNT(*) FROM t_seq_conflict FORCE INDEX (idx_conflict_time) WHERE biz_type IN (`
	sinceYesterday       = `) AND detected_time >= UTC_TIMESTAMP(6) - INTERVAL 1 DAY GROUP BY biz_type`
	queryPresentCursors  = `SELECT biz_type, value FROM t_seq_cursor WHERE (biz_type, period) IN (`
	// The oldest of each state; what is overdue by less than the grace is its run's.
	queryOverdueBy = `SELECT biz_type, TIMESTAMPDIFF(MICROSECOND, MIN(deadline), UTC_TIMESTAMP(6)) FROM (`
	anOverdueState = `(SELECT biz_type, deadline FROM t_seq_issue_log FORCE INDEX (idx_status_deadline) WHERE status = ?
		AND deadline < UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND AND (taken_until IS NULL OR taken_until < UTC_TIMESTAMP(6)) ORDER BY deadline LIMIT 1000)`
	overdueGroups = `) o GROUP BY biz_type`
)

// Activity is what happened lately in all biz types, and where their numbers stand.
type Activity struct {
	// Minute is when the present minute began, by the ledger's clock, and Now its time.
	Minute, Now time.Time
	PatrolAge   time.Duration
	// CountedTime is when the states were counted; zero where they never were. Stale says that they may be counted
	// again: see CountStock.
	CountedTime time.Time
	Stale       bool
	Types       []TypeActivity // in the order of their names
}

// TypeActivity is that of one biz type.
type TypeActivity struct {
	sequence.BizType
	Period string // the present one
	// Minutes are those asked for, oldest first.
	Minutes []Moves
	// States is how many numbers stood where at CountedTime; nil where they were not counted.
	States      map[sequence.State]int64
	DeadLetters int64
	Conflicts   int64 // in 24 hours
	// Cursor is the highest value allocated in the period; -1 where none was.
	Cursor int64
	// Overdue is for how long the oldest of the 1,000 oldest overdue numbers of a state is so; 0 where none is.
	Overdue time.Duration
}

// Activity reads what all processes counted in the last minutes, 1 to MaxActivityMinutes, the present one among them,
// and counters of where the numbers stand. Its cost does not depend on how many numbers there are. Processes write what
// they count with two seconds' delay.
func (l *Ledger) Activity(ctx context.Context, minutes int) (Activity, error) {
	a, err := l.readActivity(ctx, minutes)
	return a, classify("read what happened lately", err)
}

func (l *Ledger) readActivity(ctx context.Context, minutes int) (a Activity, err error) {
	var micros int64
	var counted sql.NullTime
	if err := l.db.QueryRowContext(ctx, queryActivityNow).Scan(&a.Minute, &a.Now, &micros, &counted, &a.Stale); err != nil {
		return a, err
	}
	a.PatrolAge, a.CountedTime = time.Duration(micros)*time.Microsecond, counted.Time
	types, err := l.BizTypes(ctx)
	if err != nil || len(types) == 0 {
		return a, err
	}
	of := make(map[string]*TypeActivity, len(types))
	a.Types = make([]TypeActivity, len(types))
	for i, b := range types {
		a.Types[i] = TypeActivity{BizType: b, Period: b.Period(a.Now), Minutes: make([]Moves, minutes), Cursor: -1}
		of[b.Name] = &a.Types[i]
	}
	read := activityReader{ctx: ctx, ledger: l, of: of}
	read.minutes(a.Minute, minutes)
	if counted.Valid {
		read.states()
	}
	read.letters()
	read.conflicts(a.Types)
	read.cursors(a.Types)
	read.overdue()
	return a, read.err
}

// activityReader reads one thing after the other into the biz types, until one fails.
type activityReader struct {
	ctx    context.Context //nolint:containedctx // it lives for one call
	ledger *Ledger
	of     map[string]*TypeActivity
	err    error
}

// each gives the biz type and the number of each row to do.
func (r *activityReader) each(do func(*TypeActivity, int64), query string, args ...any) {
	if r.err != nil {
		return
	}
	rows, err := r.ledger.db.QueryContext(r.ctx, query, args...)
	_, r.err = collect(rows, err, func(row row) (none struct{}, err error) {
		var name string
		var n int64
		err = row.Scan(&name, &n)
		if t := r.of[name]; t != nil && err == nil {
			do(t, n)
		}
		return none, err
	})
}

func (r *activityReader) minutes(last time.Time, count int) {
	first := last.Add(-time.Duration(count) * time.Minute)
	rows, err := r.ledger.db.QueryContext(r.ctx, queryMinutes, first)
	_, r.err = collect(rows, err, func(row row) (none struct{}, err error) {
		var name string
		var at time.Time
		var m Moves
		err = row.Scan(&name, &at, &m.Issued, &m.Confirmed, &m.Abandoned)
		place := int(at.Sub(first)/time.Minute) - 1
		if t := r.of[name]; t != nil && err == nil && place >= 0 && place < count { // a minute may have begun meanwhile
			t.Minutes[place] = m
		}
		return none, err
	})
}

func (r *activityReader) states() {
	if r.err != nil {
		return
	}
	for _, t := range r.of {
		t.States = map[sequence.State]int64{}
	}
	rows, err := r.ledger.db.QueryContext(r.ctx, queryStock)
	_, r.err = collect(rows, err, func(row row) (none struct{}, err error) {
		var name string
		var state sequence.State
		var n int64
		err = row.Scan(&name, &state, &n)
		if t := r.of[name]; t != nil && err == nil {
			t.States[state] = n
		}
		return none, err
	})
}

func (r *activityReader) letters() {
	r.each(func(t *TypeActivity, n int64) { t.DeadLetters = n }, queryWaitingLetters)
}

func (r *activityReader) conflicts(types []TypeActivity) {
	args := make([]any, len(types))
	for i, t := range types {
		args[i] = t.Name
	}
	r.each(func(t *TypeActivity, n int64) { t.Conflicts = n }, queryRecentConflicts+placeholders(len(args))+sinceYesterday, args...)
}

func (r *activityReader) cursors(types []TypeActivity) {
	args := make([]any, 0, 2*len(types))
	for _, t := range types {
		args = append(args, t.Name, t.Period)
	}
	r.each(func(t *TypeActivity, n int64) { t.Cursor = n }, queryPresentCursors+tuples(len(types), 2)+")", args...)
}

func (r *activityReader) overdue() {
	states := []sequence.State{sequence.Allocated, sequence.Abandoned, sequence.Replayable}
	var args []any
	for _, s := range states {
		args = append(args, s, OverdueGrace.Microseconds())
	}
	all := strings.TrimSuffix(strings.Repeat(anOverdueState+" UNION ALL ", len(states)), " UNION ALL ")
	r.each(func(t *TypeActivity, n int64) { t.Overdue = time.Duration(n) * time.Microsecond }, queryOverdueBy+all+overdueGroups, args...)
}
