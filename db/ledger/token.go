package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lacuna-seq/lacuna/internal/access"
	"github.com/lacuna-seq/lacuna/sequence"
)

const (
	insertToken = `INSERT INTO t_seq_token (name, hash, role, biz_types, rate, abandon_budget, created_by, created_time, expire_time)
		VALUES (?, ?, ?, ?, ?, ?, ?, UTC_TIMESTAMP(6), IF(? = 0, NULL, UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND))`
	queryTokens = `SELECT id, name, hash, role, biz_types, rate, abandon_budget, created_by, created_time, expire_time, revoked_by, revoked_time,
		last_used_time, COALESCE(TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), expire_time), 0) FROM t_seq_token`
	queryTokensVersion = `SELECT COUNT(*), COALESCE(MAX(id), 0), COUNT(revoked_time) FROM t_seq_token`
	revokeToken        = `UPDATE t_seq_token SET revoked_by = ?, revoked_time = UTC_TIMESTAMP(6) WHERE name = ? AND revoked_time IS NULL`
	touchTokens        = `UPDATE t_seq_token SET last_used_time = UTC_TIMESTAMP(6)
		WHERE (last_used_time IS NULL OR last_used_time < UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE) AND id IN `
)

// CreateToken keeps a new token, which lasts so long; 0 is for good. ErrExists where the name is, or ever was,
// another's. After ErrUnavailable the name may be taken all the same.
func (l *Ledger) CreateToken(ctx context.Context, t access.Token, lifetime time.Duration) error {
	if t.BizTypes == nil {
		t.BizTypes = []string{}
	}
	bizTypes, err := json.Marshal(t.BizTypes)
	if err != nil {
		return err
	}
	_, err = l.exec(ctx, insertToken, t.Name, t.Hash[:], t.Role.String(), string(bizTypes), t.Rate, t.AbandonBudget, t.CreatedBy,
		lifetime.Microseconds(), lifetime.Microseconds())
	if number(err) == errDuplicateKey {
		return fmt.Errorf("token %s: %w, and names are never given twice: take another", t.Name, ErrExists)
	}
	return classify("make token "+t.Name, err)
}

// Tokens reads all tokens, also those that are revoked or have expired, in the order of their making.
func (l *Ledger) Tokens(ctx context.Context) ([]access.Token, error) {
	rows, err := l.db.QueryContext(ctx, queryTokens+" ORDER BY id")
	tokens, err := collect(rows, err, scanToken)
	return tokens, classify("read the tokens", err)
}

// Token reads one token; sequence.ErrNotFound where there is none of that name.
func (l *Ledger) Token(ctx context.Context, name string) (access.Token, error) {
	rows, err := l.db.QueryContext(ctx, queryTokens+" WHERE name = ?", name)
	tokens, err := collect(rows, err, scanToken)
	if err == nil && len(tokens) == 0 {
		return access.Token{}, fmt.Errorf("token %s: %w", name, sequence.ErrNotFound)
	}
	if err != nil {
		return access.Token{}, classify("read token "+name, err)
	}
	return tokens[0], nil
}

func scanToken(row row) (access.Token, error) {
	var t access.Token
	var hash []byte
	var role, bizTypes string
	var expire, revoked, used sql.NullTime
	var left int64
	if err := row.Scan(&t.ID, &t.Name, &hash, &role, &bizTypes, &t.Rate, &t.AbandonBudget, &t.CreatedBy, &t.CreatedTime, &expire,
		&t.RevokedBy, &revoked, &used, &left); err != nil {
		return t, err
	}
	copy(t.Hash[:], hash)
	t.ExpireTime, t.RevokedTime, t.LastUsedTime, t.Left = expire.Time, revoked.Time, used.Time, time.Duration(left)*time.Microsecond
	// A role of a later version has no rights here, and keeps nobody else's token from being read.
	t.Role, _ = access.ParseRole(role)
	if err := json.Unmarshal([]byte(bizTypes), &t.BizTypes); err != nil {
		return t, fmt.Errorf("the biz types of token %s: %w", t.Name, err)
	}
	return t, nil
}

// TokensVersion is another one whenever a token was made or revoked.
func (l *Ledger) TokensVersion(ctx context.Context) (v access.Version, err error) {
	err = l.db.QueryRowContext(ctx, queryTokensVersion).Scan(&v.Count, &v.Last, &v.Revoked)
	return v, classify("look for new tokens", err)
}

// RevokeToken ends a token for good, in the name of who does it, and gives it as it stands then. Twice is the same
// as once: who did it first stays. sequence.ErrNotFound where there is none of that name.
func (l *Ledger) RevokeToken(ctx context.Context, name, by string) (access.Token, error) {
	if _, err := l.exec(ctx, revokeToken, by, name); err != nil {
		return access.Token{}, classify("revoke token "+name, err)
	}
	return l.Token(ctx, name)
}

// TouchTokens writes that tokens were used just now; those written within the last minute stay as they are.
func (l *Ledger) TouchTokens(ctx context.Context, ids []int64) error {
	for len(ids) > 0 {
		n := min(len(ids), MaxBatch)
		args := make([]any, n)
		for i, id := range ids[:n] {
			args[i] = id
		}
		if _, err := l.exec(ctx, touchTokens+"("+placeholders(n)+")", args...); err != nil {
			return classify("write which tokens were used", err)
		}
		ids = ids[n:]
	}
	return nil
}
