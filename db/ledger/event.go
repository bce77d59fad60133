package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// Event is one of a number's timeline, with its time.
type Event struct {
	sequence.Event
	Time time.Time
}

const (
	insertEvent = `INSERT INTO t_seq_event (biz_type, seq_no, life, actor, outcome, from_status, to_status, reason, event_time) VALUES `
	queryEvents = `SELECT life, actor, outcome, from_status, to_status, reason, event_time FROM t_seq_event
		WHERE biz_type = ? AND seq_no = ? ORDER BY id LIMIT ?`
)

// maxEvents bounds the events of one number that are read.
const maxEvents = 1000

func insertEvents(ctx context.Context, tx *sql.Tx, events []sequence.Event, now time.Time) error {
	if len(events) == 0 {
		return nil
	}
	args := make([]any, 0, 9*len(events))
	for _, e := range events {
		args = append(args, e.Ticket.BizType, e.Ticket.SeqNo, e.Ticket.Life, e.Actor, e.Outcome.String(), e.From, e.To, e.Reason, now)
	}
	query := insertEvent + strings.TrimSuffix(strings.Repeat("(?,?,?,?,?,?,?,?,?),", len(events)), ",")
	if _, err := tx.ExecContext(ctx, query, args...); err != nil {
		return fmt.Errorf("write %d events: %w", len(events), err)
	}
	return nil
}

// Events reads what was out of the ordinary in a number's lives, oldest first, at most the first 1,000.
func (l *Ledger) Events(ctx context.Context, bizType, seqNo string) ([]Event, error) {
	events, err := scanEvents(l.db.QueryContext(ctx, queryEvents, bizType, seqNo, maxEvents))
	for i := range events {
		events[i].Ticket.BizType, events[i].Ticket.SeqNo = bizType, seqNo
	}
	return events, classify("read the events of "+seqNo+" of "+bizType, err)
}

func scanEvents(rows *sql.Rows, err error) ([]Event, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err tells what went wrong
	var events []Event
	for rows.Next() {
		var e Event
		var outcome string
		if err := rows.Scan(&e.Ticket.Life, &e.Actor, &outcome, &e.From, &e.To, &e.Reason, &e.Time); err != nil {
			return nil, err
		}
		if err := e.Outcome.UnmarshalText([]byte(outcome)); err != nil {
			return nil, err
		}
		events = append(events, e)
	}
	return events, rows.Err()
}
