package ledger

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// CensusBound is up to where a census counts: so many entries of an index take some 50 ms.
const CensusBound = 200_000

// censusStates are what a census counts. Those of numbers in use are nearly all of them: counting these would
// read the whole table.
var censusStates = []sequence.State{
	sequence.Reserved, sequence.Allocated, sequence.Abandoned, sequence.Replayable, sequence.Replayed, sequence.Dead, sequence.Retired,
}

const (
	// The index alone answers.
	queryStateCount = `(SELECT ?, COUNT(*) FROM (SELECT id FROM t_seq_issue_log FORCE INDEX (idx_status_deadline) WHERE status = ? LIMIT ?) c)`
	queryWindowAge  = `SELECT TIMESTAMPDIFF(MICROSECOND, MIN(w.abandoned_time), UTC_TIMESTAMP(6)) FROM (SELECT abandoned_time
		FROM t_seq_issue_log FORCE INDEX (idx_status_deadline) WHERE status = 3 ORDER BY deadline, id LIMIT 1) w`
	queryOpenLetters = `SELECT biz_type, COUNT(*) FROM (SELECT biz_type FROM t_seq_issue_dead FORCE INDEX (idx_dead_open) WHERE resolution = '' LIMIT ?) d
		GROUP BY biz_type`
)

// Census is how many numbers stand where, at one time or nearly so.
type Census struct {
	// States has every state but Confirmed, and of each at most CensusBound.
	States map[sequence.State]int64
	// OldestInWindow is how long ago the number was given up whose window ends first; 0 where no window runs.
	OldestInWindow time.Duration
	// DeadLetters are those that wait for a person, by biz type, at most CensusBound in all.
	DeadLetters map[string]int64
}

// Census counts. It takes no locks, and its cost is bounded whatever the size of the ledger.
func (l *Ledger) Census(ctx context.Context) (Census, error) {
	c := Census{States: map[sequence.State]int64{}, DeadLetters: map[string]int64{}}
	var args []any
	for _, state := range censusStates {
		args = append(args, state, state, CensusBound)
	}
	query := strings.TrimSuffix(strings.Repeat(queryStateCount+" UNION ALL ", len(censusStates)), " UNION ALL ")
	rows, err := l.db.QueryContext(ctx, query, args...)
	_, err = collect(rows, err, func(row row) (none struct{}, err error) {
		var state sequence.State
		var count int64
		err = row.Scan(&state, &count)
		c.States[state] = count
		return none, err
	})
	if err != nil {
		return c, classify("count numbers by state", err)
	}
	var micros sql.NullInt64
	if err := l.db.QueryRowContext(ctx, queryWindowAge).Scan(&micros); err != nil {
		return c, classify("look for the oldest number in its window", err)
	}
	c.OldestInWindow = time.Duration(micros.Int64) * time.Microsecond
	rows, err = l.db.QueryContext(ctx, queryOpenLetters, CensusBound)
	_, err = collect(rows, err, func(row row) (none struct{}, err error) {
		var bizType string
		var count int64
		err = row.Scan(&bizType, &count)
		c.DeadLetters[bizType] = count
		return none, err
	})
	return c, classify("count dead letters", err)
}
