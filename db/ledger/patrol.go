package ledger

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

const (
	patrolFinished = `INSERT INTO t_seq_patrol (id, finished_time) VALUES (1, UTC_TIMESTAMP(6)) ON DUPLICATE KEY UPDATE finished_time = UTC_TIMESTAMP(6)`
	queryPatrolAge = `SELECT TIMESTAMPDIFF(MICROSECOND, finished_time, UTC_TIMESTAMP(6)) FROM t_seq_patrol WHERE id = 1`
)

// PatrolFinished notes that the patrol has finished a round in which no step failed.
func (l *Ledger) PatrolFinished(ctx context.Context) error {
	_, err := l.db.ExecContext(ctx, patrolFinished)
	return classify("note the patrol's round", err)
}

// PatrolAge says how long ago the patrol last finished such a round; false where it never did.
func (l *Ledger) PatrolAge(ctx context.Context) (age time.Duration, ok bool, err error) {
	var micros int64
	err = l.db.QueryRowContext(ctx, queryPatrolAge).Scan(&micros)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return time.Duration(micros) * time.Microsecond, err == nil, classify("ask for the patrol's last round", err)
}
