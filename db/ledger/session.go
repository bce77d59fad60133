package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/lacuna-seq/lacuna/internal/access"
	"github.com/lacuna-seq/lacuna/sequence"
)

const (
	insertSession = `INSERT INTO t_seq_session (hash, token_id, created_time, seen_time, expire_time)
		SELECT ?, id, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND FROM t_seq_token WHERE name = ? AND revoked_time IS NULL`
	querySession = `SELECT t.name, s.seen_time < UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE FROM t_seq_session s JOIN t_seq_token t ON t.id = s.token_id
		WHERE s.hash = ? AND s.expire_time > UTC_TIMESTAMP(6)`
	touchSession  = `UPDATE t_seq_session SET seen_time = UTC_TIMESTAMP(6) WHERE hash = ? AND seen_time < UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE`
	deleteSession = `DELETE FROM t_seq_session WHERE hash = ?`
	purgeSessions = `DELETE FROM t_seq_session WHERE expire_time <= UTC_TIMESTAMP(6) ORDER BY expire_time LIMIT 500`
)

// CreateSession keeps that the holder of a token has signed in, for access.SessionLifetime, and deletes sessions
// that are over. sequence.ErrNotFound where there is no such token, or it was revoked.
func (l *Ledger) CreateSession(ctx context.Context, hash access.Hash, token string) error {
	n, err := l.exec(ctx, insertSession, hash[:], access.SessionLifetime.Microseconds(), token)
	if err == nil && n == 0 {
		return fmt.Errorf("sign in with token %s: %w", token, sequence.ErrNotFound)
	}
	if err == nil {
		_, err = l.exec(ctx, purgeSessions)
	}
	return classify("sign in with token "+token, err)
}

// SessionToken is the name of the token that a session was opened with; whether that is still valid the session
// does not say. It notes that the session was seen. sequence.ErrNotFound where there is no such session, or it is
// over.
func (l *Ledger) SessionToken(ctx context.Context, hash access.Hash) (token string, err error) {
	var touch bool
	err = l.db.QueryRowContext(ctx, querySession, hash[:]).Scan(&token, &touch)
	if errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("session: %w", sequence.ErrNotFound)
	}
	if err == nil && touch {
		_, err = l.exec(ctx, touchSession, hash[:])
	}
	return token, classify("look for a session", err)
}

// DeleteSession ends a session. Twice is the same as once.
func (l *Ledger) DeleteSession(ctx context.Context, hash access.Hash) error {
	_, err := l.exec(ctx, deleteSession, hash[:])
	return classify("sign out", err)
}
