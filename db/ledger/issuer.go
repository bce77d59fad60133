package ledger

import "context"

const (
	insertIssuer = `INSERT INTO t_seq_issuer (id, host, started_time) VALUES (?, ?, UTC_TIMESTAMP(6)) ON DUPLICATE KEY UPDATE id = id`
	endIssuer    = `UPDATE t_seq_issuer SET ended_time = UTC_TIMESTAMP(6) WHERE id = ? AND ended_time IS NULL`
)

// RegisterIssuer writes down that a process on host begins to hand out numbers under the id. The
// id is new with every start of a process; repeating the call changes nothing.
func (l *Ledger) RegisterIssuer(ctx context.Context, id, host string) error {
	_, err := l.db.ExecContext(ctx, insertIssuer, id, host)
	return classify("register issuer "+id, err)
}

// EndIssuer writes down that the issuer stopped and holds nothing any more.
func (l *Ledger) EndIssuer(ctx context.Context, id string) error {
	_, err := l.db.ExecContext(ctx, endIssuer, id)
	return classify("end issuer "+id, err)
}
