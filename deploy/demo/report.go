package main

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// report prints how the numbers stand and which invariants hold; errBroken where one does not.
func (s *shop) report(ctx context.Context) error {
	t, err := s.count(ctx)
	if err != nil {
		return err
	}
	faults, err := s.check(ctx)
	if err != nil {
		return err
	}
	s.screen.say("\n%s: %d numbers up to the cursor, handed out %d times, %d of them again", s.bizType, t.cursor, t.issued, t.reissued)
	for _, line := range []struct {
		n    int
		what string
	}{
		{t.confirmed, "confirmed: in business use"},
		{t.free, "free: in the pool, issued next"},
		{t.retired, "retired: declared gaps"},
		{t.held, "held in memory by issuers, to be handed out or back"},
		{t.waiting, "held by callers: a killed process or a missing run left them"},
		{t.inWindow, "held in the window: a missing run left them"},
		{t.dead, "dead: a person must act"},
	} {
		if line.n > 0 {
			s.screen.say("  %6d  %s", line.n, line.what)
		}
	}
	s.screen.say("")
	broken := false
	for _, f := range faults {
		if len(f.numbers) == 0 {
			s.screen.say("  ok      %s", f.invariant)
			continue
		}
		broken = true
		s.screen.say("  BROKEN  %s: %s", f.invariant, strings.Join(f.numbers[:min(5, len(f.numbers))], ", "))
	}
	if broken {
		return errBroken
	}
	return nil
}

func readOrders(rows *sql.Rows, err error) (map[string]order, error) {
	if err != nil {
		return nil, fmt.Errorf("read the orders: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells what went wrong
	orders := map[string]order{}
	for rows.Next() {
		var o order
		if err := rows.Scan(&o.number, &o.ticket, &o.bizKey); err != nil {
			return nil, err
		}
		orders[o.number] = o
	}
	return orders, rows.Err()
}
