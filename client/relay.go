package client

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/sequence"
)

// The relay's rhythm.
const (
	relayEvery = time.Second
	relayBatch = 500
	// relayAge leaves fresh rows to the process that wrote them.
	relayAge = 5 * time.Second
)

const queryLeft = `SELECT ticket, biz_key, meaning FROM lacuna_outbox
	WHERE refusal IS NULL AND created_time < UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND ORDER BY created_time LIMIT ?`

// Relay repeats what a crash, an outage or a lost answer left unsaid in db's outbox, each until it
// has its final answer. It runs until ctx ends and then returns nil; several relays at once, in
// any processes, are safe. A confirm that is refused stays in the table with its refusal, for a
// person; see OnRefusal.
func (c *Client) Relay(ctx context.Context, db *sql.DB) error {
	tick := time.NewTicker(relayEvery)
	defer tick.Stop()
	failing := false
	for {
		more, err := c.relay(ctx, db)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && !failing {
			c.log.WarnContext(ctx, "the relay cannot go on; trying until it can", "error", err)
		}
		failing = err != nil
		if more && !failing {
			continue
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// relay says one batch, and whether there may be more.
func (c *Client) relay(ctx context.Context, db *sql.DB) (more bool, err error) {
	jobs, err := c.leftInOutbox(ctx, db)
	if err != nil || len(jobs) == 0 {
		return false, err
	}
	commands := make([]*lacunav1.Command, len(jobs))
	for i, j := range jobs {
		commands[i] = j.command
	}
	answers, err := c.settle.Do(ctx, commands...)
	if err != nil {
		return false, fmt.Errorf("settle %d numbers: %w", len(jobs), err)
	}
	final := 0
	for i, a := range answers {
		if a.outcome == sequence.OutcomeAccepted || a.err != nil && !isAnswer(a.err) {
			continue
		}
		c.conclude(ctx, jobs[i], a.err)
		final++
	}
	return final == relayBatch, nil
}

func (c *Client) leftInOutbox(ctx context.Context, db *sql.DB) ([]job, error) {
	rows, err := db.QueryContext(ctx, queryLeft, relayAge.Microseconds(), relayBatch)
	if err != nil {
		return nil, fmt.Errorf("read the outbox: %w", err)
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells what went wrong
	var jobs []job
	for rows.Next() {
		j := job{db: db, row: true, command: &lacunav1.Command{Action: lacunav1.Action_ACTION_CONFIRM}}
		var meaning string
		if err := rows.Scan(&j.command.Ticket, &j.command.BizKey, &meaning); err != nil {
			return nil, fmt.Errorf("read the outbox: %w", err)
		}
		if meaning == "tombstone" {
			j.command.Action, j.command.BizKey = lacunav1.Action_ACTION_ABANDON, ""
		}
		jobs = append(jobs, j)
	}
	return jobs, rows.Err()
}
