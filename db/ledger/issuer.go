package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

const (
	insertIssuer = `INSERT INTO t_seq_issuer (id, host, started_time, state, lease_ms, lease_until)
		VALUES (?, ?, UTC_TIMESTAMP(6), 'LIVE', ?, UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND) ON DUPLICATE KEY UPDATE id = id`
	renewLease = `UPDATE t_seq_issuer SET lease_until = UTC_TIMESTAMP(6) + INTERVAL ? MICROSECOND
		WHERE id = ? AND state = 'LIVE' AND lease_until > UTC_TIMESTAMP(6)`
	endIssuer      = `UPDATE t_seq_issuer SET state = 'ENDED', ended_time = UTC_TIMESTAMP(6) WHERE id = ? AND state = 'LIVE'`
	lockLapsed     = `SELECT id FROM t_seq_issuer WHERE state = 'LIVE' AND lease_until <= UTC_TIMESTAMP(6) LIMIT ? FOR UPDATE SKIP LOCKED`
	markDead       = `UPDATE t_seq_issuer SET state = 'DEAD' WHERE id = ? AND state = 'LIVE' AND lease_until <= UTC_TIMESTAMP(6)`
	queryDead      = `SELECT id, lease_ms FROM t_seq_issuer WHERE state = 'DEAD' ORDER BY lease_until, id LIMIT ?`
	queryHeldBy    = `SELECT ` + numberColumns + ` FROM t_seq_issue_log WHERE status IN (0, 5) AND owner = ? ORDER BY id LIMIT ?`
	queryBatchesOf = `SELECT batch_id, COUNT(*) FROM t_seq_issue_log WHERE status IN (0, 5) AND owner = ? GROUP BY batch_id`
	markRecovered  = `UPDATE t_seq_issuer SET state = 'RECOVERED', ended_time = UTC_TIMESTAMP(6) WHERE id = ? AND state = 'DEAD'`
	lockLiveIssuer = `SELECT id FROM t_seq_issuer WHERE id = ? AND state = 'LIVE' AND lease_until > UTC_TIMESTAMP(6) LOCK IN SHARE MODE`
)

// RegisterIssuer writes down that a process on host begins to hand out numbers under the id, and
// gives it a lease. The id is new with every lease that begins; repeating the call changes nothing.
// Where no issuer was alive for longer than a lease, the same transaction writes that outage down.
func (l *Ledger) RegisterIssuer(ctx context.Context, id, host string, lease time.Duration) error {
	var outage sequence.Outage
	err := l.inTx(ctx, func(tx *sql.Tx) (err error) {
		if outage, err = noteOutage(ctx, tx, lease); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, insertIssuer, id, host, lease.Milliseconds(), lease.Microseconds())
		return err
	})
	if err == nil && !outage.To.IsZero() {
		l.log.WarnContext(ctx, "no process could hand out or settle numbers for a while: deadlines that ended in it are moved",
			"from", outage.From, "to", outage.To)
	}
	return classify("register issuer "+id, err)
}

// RenewLease makes the issuer's lease last from now. A lease that is over is never renewed:
// sequence.ErrLeaseOver.
func (l *Ledger) RenewLease(ctx context.Context, id string, lease time.Duration) error {
	n, err := l.exec(ctx, renewLease, lease.Microseconds(), id)
	if err == nil && n == 0 {
		err = fmt.Errorf("renew the lease of %s: %w", id, sequence.ErrLeaseOver)
	}
	return classify("renew the lease of "+id, err)
}

// EndIssuer writes down that the issuer stopped and holds nothing any more.
func (l *Ledger) EndIssuer(ctx context.Context, id string) error {
	_, err := l.exec(ctx, endIssuer, id)
	return classify("end issuer "+id, err)
}

// DeadIssuers gives at most limit issuers whose lease is over and whose numbers are to be
// recovered. From now on none of them allocates or claims any more. One that is in the middle of
// taking something is left for the next call.
func (l *Ledger) DeadIssuers(ctx context.Context, limit int) ([]sequence.Issuer, error) {
	if err := l.inTx(ctx, func(tx *sql.Tx) error { return markLapsed(ctx, tx, limit) }); err != nil {
		return nil, classify("look for leases that are over", err)
	}
	rows, err := l.db.QueryContext(ctx, queryDead, limit)
	dead, err := collect(rows, err, func(row row) (sequence.Issuer, error) {
		var issuer sequence.Issuer
		var lease int64
		err := row.Scan(&issuer.ID, &lease)
		issuer.Lease = time.Duration(lease) * time.Millisecond
		return issuer, err
	})
	return dead, classify("read the dead issuers", err)
}

func markLapsed(ctx context.Context, tx *sql.Tx, limit int) error {
	rows, err := tx.QueryContext(ctx, lockLapsed, limit)
	if err != nil {
		return err
	}
	lapsed, err := scanStrings(rows)
	if err != nil {
		return err
	}
	for _, id := range lapsed {
		if _, err := tx.ExecContext(ctx, markDead, id); err != nil {
			return err
		}
	}
	return nil
}

func scanStrings(rows *sql.Rows) ([]string, error) {
	defer rows.Close() //nolint:errcheck // rows.Err tells what went wrong
	var all []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, rows.Err()
}

// HeldBy reads at most limit of the numbers that stand in the issuer's name.
func (l *Ledger) HeldBy(ctx context.Context, issuer string, limit int) ([]sequence.Number, error) {
	held, err := scanNumbers(l.db.QueryContext(ctx, queryHeldBy, issuer, limit))
	return held, classify("read what "+issuer+" holds", err)
}

// BatchesHeldBy counts what stands in the issuer's name, by allocation and claim.
func (l *Ledger) BatchesHeldBy(ctx context.Context, issuer string) (map[string]int, error) {
	tried := "read which batches " + issuer + " holds"
	rows, err := l.db.QueryContext(ctx, queryBatchesOf, issuer)
	if err != nil {
		return nil, classify(tried, err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells what went wrong
	held := map[string]int{}
	for rows.Next() {
		var batchID string
		var count int
		if err := rows.Scan(&batchID, &count); err != nil {
			return nil, classify(tried, err)
		}
		held[batchID] = count
	}
	return held, classify(tried, rows.Err())
}

// IssuerRecovered writes down that a dead issuer holds nothing any more.
func (l *Ledger) IssuerRecovered(ctx context.Context, id string) error {
	_, err := l.exec(ctx, markRecovered, id)
	return classify("write down that "+id+" is recovered", err)
}

// lockIssuer makes sure that the issuer is alive until the transaction ends: what it takes is then
// seen by the recovery that follows its death. The lock is shared: what one process takes for several
// biz types at once waits for no other.
func lockIssuer(ctx context.Context, tx *sql.Tx, id string) error {
	var found string
	err := tx.QueryRowContext(ctx, lockLiveIssuer, id).Scan(&found)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("issuer %s: %w", id, sequence.ErrLeaseOver)
	}
	return err
}
