package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lacuna-seq/lacuna/internal/wait"
	"github.com/lacuna-seq/lacuna/sequence"
)

// errBroken is a report that found an invariant broken.
var errBroken = errors.New("an invariant is broken")

// tally is the biz type's numbers, counted.
type tally struct {
	issued    int // hand-outs, every life
	confirmed int
	abandoned int // lives that were given up
	inWindow  int
	reissued  int
	gaps      int // handed out once, given up, and not in use again yet
	free      int // in the pool
	retired   int
	waiting   int // with a caller
	held      int // in an issuer's memory
	dead      int
	rows      int
	cursor    int
}

const queryTally = `SELECT n.status, COUNT(*), SUM(n.life), SUM(n.replays), SUM(n.life > 0), (SELECT value FROM t_seq_cursor WHERE biz_type = ? AND period = '')
	FROM t_seq_issue_log n WHERE n.biz_type = ? GROUP BY n.status`

func (s *shop) count(ctx context.Context) (tally, error) {
	rows, err := s.ledger.QueryContext(ctx, queryTally, s.bizType, s.bizType)
	if err != nil {
		return tally{}, fmt.Errorf("count the numbers: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells what went wrong
	var t tally
	for rows.Next() {
		var state sequence.State
		var n, lives, replays, once int
		if err := rows.Scan((*int8)(&state), &n, &lives, &replays, &once, &t.cursor); err != nil {
			return t, err
		}
		t.rows, t.issued, t.reissued = t.rows+n, t.issued+lives, t.reissued+replays
		switch state {
		case sequence.Reserved:
			t.held += n
		case sequence.Allocated:
			t.waiting += n
		case sequence.Confirmed:
			t.confirmed += n
		case sequence.Abandoned:
			t.inWindow, t.gaps = n, t.gaps+n
		case sequence.Replayable:
			t.free, t.gaps = n, t.gaps+once
		case sequence.Replayed:
			t.held, t.gaps = t.held+n, t.gaps+once
		case sequence.Dead:
			t.dead, t.gaps = n, t.gaps+n
		case sequence.Retired:
			t.retired = n
		}
	}
	t.abandoned = t.issued - t.confirmed - t.waiting
	return t, rows.Err()
}

const queryTimes = `SELECT confirm_timeout_ms + safety_window_ms FROM t_seq_biz_type WHERE name = ?`

// rest waits until nothing is with a caller or in its window any more, for as long as the biz
// type's times and the patience: what takes longer was left by a process that was killed.
func (s *shop) rest(ctx context.Context) error {
	var ms int64
	if err := s.ledger.QueryRowContext(ctx, queryTimes, s.bizType).Scan(&ms); err != nil {
		return fmt.Errorf("read the times of %s: %w", s.bizType, err)
	}
	end := time.Now().Add(time.Duration(ms)*time.Millisecond + s.patience)
	for time.Now().Before(end) && ctx.Err() == nil {
		if t, err := s.count(ctx); err == nil && t.waiting == 0 && t.inWindow == 0 {
			return nil
		}
		_ = wait.For(ctx, 200*time.Millisecond) // the loop ends with ctx
	}
	return nil
}

// fault is one broken invariant, with some of the numbers that break it.
type fault struct {
	invariant string
	numbers   []string
}

// order is one of the shop's orders against what the ledger says of its number.
type order struct{ number, ticket, bizKey string }

// check holds the shop's orders against the ledger, and the ledger against itself.
func (s *shop) check(ctx context.Context) ([]fault, error) {
	orders, err := s.orders(ctx)
	if err != nil {
		return nil, err
	}
	confirmed, err := s.confirmed(ctx)
	if err != nil {
		return nil, err
	}
	var unconfirmed, foreign fault
	unconfirmed.invariant = "every committed order ends CONFIRMED, under its own ticket and key"
	foreign.invariant = "every number that is confirmed for the shop has its order"
	for number, o := range orders {
		if confirmed[number] != o {
			unconfirmed.numbers = append(unconfirmed.numbers, fmt.Sprintf("%s (order %s, ledger %s)", number, o.ticket, confirmed[number].ticket))
		}
	}
	for number, o := range confirmed {
		if _, ok := orders[number]; !ok {
			foreign.numbers = append(foreign.numbers, number+" for "+o.bizKey)
		}
	}
	faults := []fault{unconfirmed, foreign}
	for _, q := range []struct{ invariant, query string }{
		{"every value up to the cursor has one row", `SELECT CONCAT('cursor ', c.value, ', rows ', COUNT(n.id)) FROM t_seq_cursor c
			LEFT JOIN t_seq_issue_log n ON n.biz_type = c.biz_type AND n.value <= c.value WHERE c.biz_type = ? GROUP BY c.value HAVING COUNT(n.id) <> c.value`},
		{"no number is issued again before its window is over", `SELECT n.seq_no FROM t_seq_life l JOIN t_seq_issue_log n
			ON n.biz_type = l.biz_type AND n.seq_no = l.seq_no AND n.life = l.life + 1 JOIN t_seq_biz_type b ON b.name = n.biz_type
			WHERE n.biz_type = ? AND n.issued_time < l.abandoned_time + INTERVAL b.safety_window_ms * 1000 MICROSECOND LIMIT 10`},
		{"no number has two holders", `SELECT seq_no FROM t_seq_conflict WHERE biz_type = ? LIMIT 10`},
	} {
		numbers, err := s.list(ctx, q.query, s.bizType)
		if err != nil {
			return nil, fmt.Errorf("check that %s: %w", q.invariant, err)
		}
		faults = append(faults, fault{q.invariant, numbers})
	}
	if n := s.duplicates.Load(); n > 0 {
		faults = append(faults, fault{"no order number is used twice", []string{fmt.Sprintf("%d times", n)}})
	}
	return faults, nil
}

func (s *shop) orders(ctx context.Context) (map[string]order, error) {
	return readOrders(s.books.db.QueryContext(ctx, `SELECT order_number, ticket, biz_key FROM orders`))
}

// confirmed reads what the ledger has confirmed for this shop's orders, of all its runs.
func (s *shop) confirmed(ctx context.Context) (map[string]order, error) {
	return readOrders(s.ledger.QueryContext(ctx, `SELECT seq_no, CONCAT(biz_type, '~', seq_no, '~', life), biz_key FROM t_seq_issue_log
		WHERE biz_type = ? AND status = 2 AND biz_key LIKE 'shop-%/%'`, s.bizType))
}

func (s *shop) list(ctx context.Context, query string, args ...any) ([]string, error) {
	rows, err := s.ledger.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells what went wrong
	var list []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, rows.Err()
}
