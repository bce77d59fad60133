package ledger

import (
	"context"
	"database/sql"
	"fmt"
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
	query := insertEvent + tuples(len(events), 9)
	if _, err := tx.ExecContext(ctx, query, args...); err != nil {
		return fmt.Errorf("write %d events: %w", len(events), err)
	}
	return nil
}

// Events reads what was out of the ordinary in a number's lives, oldest first, at most the first 1,000.
func (l *Ledger) Events(ctx context.Context, bizType, seqNo string) ([]Event, error) {
	rows, err := l.db.QueryContext(ctx, queryEvents, bizType, seqNo, maxEvents)
	events, err := collect(rows, err, func(row row) (Event, error) {
		e := Event{Event: sequence.Event{Ticket: sequence.Ticket{BizType: bizType, SeqNo: seqNo}}}
		var outcome string
		if err := row.Scan(&e.Ticket.Life, &e.Actor, &outcome, &e.From, &e.To, &e.Reason, &e.Time); err != nil {
			return e, err
		}
		return e, e.Outcome.UnmarshalText([]byte(outcome))
	})
	return events, classify("read the events of "+seqNo+" of "+bizType, err)
}
