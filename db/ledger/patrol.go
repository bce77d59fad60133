package ledger

import (
	"context"
	"time"
)

const (
	patrolFinished = `UPDATE t_seq_patrol SET finished_time = UTC_TIMESTAMP(6) WHERE id = 1`
	queryPatrolAge = `SELECT TIMESTAMPDIFF(MICROSECOND, finished_time, UTC_TIMESTAMP(6)) FROM t_seq_patrol WHERE id = 1`
)

// PatrolFinished notes that the patrol has finished a round in which no step failed.
func (l *Ledger) PatrolFinished(ctx context.Context) error {
	_, err := l.db.ExecContext(ctx, patrolFinished)
	return classify("note the patrol's round", err)
}

// PatrolAge says how long ago the patrol last finished such a round or, where it never did, the schema was made.
func (l *Ledger) PatrolAge(ctx context.Context) (time.Duration, error) {
	var micros int64
	err := l.db.QueryRowContext(ctx, queryPatrolAge).Scan(&micros)
	return time.Duration(micros) * time.Microsecond, classify("ask for the patrol's last round", err)
}
