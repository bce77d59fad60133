package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lacuna-seq/lacuna/sequence"
)

const (
	queryKey       = `SELECT call_id, content_hash, tickets FROM t_seq_idempotency WHERE caller = ? AND biz_type = ? AND idem_key = ?`
	queryLiveKey   = queryKey + ` AND expires > UTC_TIMESTAMP(6)`
	deleteSpentKey = `DELETE FROM t_seq_idempotency WHERE caller = ? AND biz_type = ? AND idem_key = ? AND expires <= UTC_TIMESTAMP(6)`
	// A second call of the key meets the row of the first: it waits for that transaction, and adds none.
	insertKey = `INSERT INTO t_seq_idempotency (caller, biz_type, idem_key, call_id, content_hash, tickets, issued_time, expires)
		SELECT ?, name, ?, ?, ?, ?, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) + INTERVAL confirm_timeout_ms * 1000 MICROSECOND
		FROM t_seq_biz_type WHERE name = ? ON DUPLICATE KEY UPDATE caller = VALUES(caller)`
	deleteCall = `DELETE FROM t_seq_idempotency WHERE caller = ? AND biz_type = ? AND idem_key = ? AND call_id = ?`
	purgeKeys  = `DELETE FROM t_seq_idempotency WHERE expires <= UTC_TIMESTAMP(6) ORDER BY expires LIMIT ?`
)

// IssueKeyed records keyed hand-outs, each with the row of its key in the same transaction, at most
// MaxBatch numbers a transaction, or one call that has more. Of calls with one key the first wins. A
// call whose numbers were taken away in between leaves no row. Repeating is safe: a call recognises
// its own row.
func (l *Ledger) IssueKeyed(ctx context.Context, issues []sequence.KeyedIssue) ([]sequence.KeyedResult, error) {
	results := make([]sequence.KeyedResult, 0, len(issues))
	for len(issues) > 0 {
		n, numbers := 1, len(issues[0].Records)
		for n < len(issues) && numbers+len(issues[n].Records) <= MaxBatch {
			numbers += len(issues[n].Records)
			n++
		}
		part, err := l.issueKeyed(ctx, issues[:n])
		if err != nil {
			return nil, classify(fmt.Sprintf("issue %d numbers under keys", numbers), err)
		}
		results, issues = append(results, part...), issues[n:]
	}
	return results, nil
}

func (l *Ledger) issueKeyed(ctx context.Context, issues []sequence.KeyedIssue) ([]sequence.KeyedResult, error) {
	for try := 1; ; try++ {
		var results []sequence.KeyedResult
		var delays []delayKey
		err := l.inTx(ctx, func(tx *sql.Tx) (err error) {
			results, delays, err = issueKeyed(ctx, tx, issues)
			return err
		})
		switch {
		case err == nil:
			l.delays.observe(delays)
			for _, r := range results {
				l.observe(ctx, r.Decisions)
			}
			return results, nil
		case errors.Is(err, errCommitUnknown) && try <= maxUnknownCommits && ctx.Err() == nil, errors.Is(err, errGuardMissed) && try <= 3:
		case number(err) == errLockWaitTimeout && len(issues) > 1:
			first, err := l.issueKeyed(ctx, issues[:len(issues)/2])
			if err != nil {
				return nil, err
			}
			second, err := l.issueKeyed(ctx, issues[len(issues)/2:])
			return append(first, second...), err
		default:
			return results, err
		}
	}
}

func issueKeyed(ctx context.Context, tx *sql.Tx, issues []sequence.KeyedIssue) ([]sequence.KeyedResult, []delayKey, error) {
	results := make([]sequence.KeyedResult, len(issues))
	order := make([]int, len(issues)) // keys are locked in their order
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := issues[a].IdempotencyKey, issues[b].IdempotencyKey
		return cmp.Or(cmp.Compare(x.BizType, y.BizType), cmp.Compare(x.Caller, y.Caller), cmp.Compare(x.Key, y.Key))
	})
	for _, i := range order {
		won, err := takeKey(ctx, tx, issues[i])
		if err != nil {
			return nil, nil, err
		}
		results[i].Won = won
	}
	var commands []sequence.Command
	for i, issue := range issues {
		for _, c := range issue.Records {
			c.Waiting, c.CallerGone = true, !results[i].Won
			commands = append(commands, c)
		}
	}
	var decisions []sequence.Decision
	var delays []delayKey
	for batch := range slices.Chunk(commands, MaxBatch) {
		a := &application{ctx: ctx, commands: batch}
		if err := a.run(tx); err != nil {
			return nil, nil, err
		}
		decisions, delays = append(decisions, a.decisions...), append(delays, a.delays...)
	}
	for i, issue := range issues {
		results[i].Decisions, decisions = decisions[:len(issue.Records)], decisions[len(issue.Records):]
		if results[i].Won && slices.ContainsFunc(results[i].Decisions, func(d sequence.Decision) bool { return !recorded(d) }) {
			results[i].Won = false
			if _, err := tx.ExecContext(ctx, deleteCall, issue.Caller, issue.BizType, issue.Key, issue.CallID); err != nil {
				return nil, nil, fmt.Errorf("take the key back: %w", err)
			}
		}
	}
	return results, delays, nil
}

func recorded(d sequence.Decision) bool {
	return d.Outcome == sequence.OutcomeRecorded || d.Outcome == sequence.OutcomeAlreadyRecorded
}

// takeKey writes the call's row, or finds the row of another call. It reports whether the row is the call's.
func takeKey(ctx context.Context, tx *sql.Tx, issue sequence.KeyedIssue) (bool, error) {
	tickets := make([]string, len(issue.Records))
	for i, c := range issue.Records {
		tickets[i] = c.Ticket.String()
	}
	if _, err := tx.ExecContext(ctx, deleteSpentKey, issue.Caller, issue.BizType, issue.Key); err != nil {
		return false, fmt.Errorf("make room for the key: %w", err)
	}
	_, err := tx.ExecContext(ctx, insertKey, issue.Caller, issue.Key, issue.CallID, issue.Content[:], strings.Join(tickets, "\n"), issue.BizType)
	if err != nil {
		return false, fmt.Errorf("write the key: %w", err)
	}
	found, err := scanKey(tx.QueryRowContext(ctx, queryKey, issue.Caller, issue.BizType, issue.Key))
	if err != nil {
		return false, fmt.Errorf("read the key back: %w", err)
	}
	return found.CallID == issue.CallID, nil
}

func scanKey(row *sql.Row) (sequence.KeyedAnswer, error) {
	var a sequence.KeyedAnswer
	var content []byte
	var tickets string
	if err := row.Scan(&a.CallID, &content, &tickets); err != nil {
		return a, err
	}
	copy(a.Content[:], content)
	for _, s := range strings.Split(tickets, "\n") {
		ticket, err := sequence.ParseTicket(s)
		if err != nil {
			return a, err
		}
		a.Tickets = append(a.Tickets, ticket)
	}
	return a, nil
}

// Keyed reads what a key stands for, and how its numbers stand now; sequence.ErrNotFound where it
// stands for nothing or has expired.
func (l *Ledger) Keyed(ctx context.Context, key sequence.IdempotencyKey) (sequence.KeyedAnswer, error) {
	tried := "read idempotency key " + key.Key + " of " + key.BizType
	a, err := scanKey(l.db.QueryRowContext(ctx, queryLiveKey, key.Caller, key.BizType, key.Key))
	if errors.Is(err, sql.ErrNoRows) {
		return a, fmt.Errorf("%s: %w", tried, sequence.ErrNotFound)
	}
	if err != nil {
		return a, classify(tried, err)
	}
	a.Numbers, err = l.numbers(ctx, key.BizType, a.Tickets)
	return a, classify(tried, err)
}

// numbers reads the rows of tickets of one biz type, each in its place, from the log or the archive. A row that
// is gone is left zero.
func (l *Ledger) numbers(ctx context.Context, bizType string, tickets []sequence.Ticket) ([]sequence.Number, error) {
	bySeqNo := make(map[string]sequence.Number, len(tickets))
	for chunk := range slices.Chunk(tickets, MaxBatch) {
		args := []any{bizType}
		for _, t := range chunk {
			args = append(args, t.SeqNo)
		}
		for _, table := range []string{logTable, archiveTable} {
			rows, err := scanNumbers(l.db.QueryContext(ctx, "SELECT "+numberColumns+
				" FROM "+table+" WHERE biz_type = ? AND seq_no IN ("+placeholders(len(chunk))+")", args...))
			if err != nil {
				return nil, err
			}
			for _, n := range rows {
				bySeqNo[n.SeqNo] = n
			}
		}
	}
	numbers := make([]sequence.Number, len(tickets))
	for i, t := range tickets {
		numbers[i] = bySeqNo[t.SeqNo]
	}
	return numbers, nil
}

// PurgeKeys deletes at most limit keys that have expired, and counts them.
func (l *Ledger) PurgeKeys(ctx context.Context, limit int) (int, error) {
	n, err := l.exec(ctx, purgeKeys, limit)
	return int(n), classify("delete expired keys", err)
}
