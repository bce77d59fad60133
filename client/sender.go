package client

import (
	"context"
	"database/sql"
	"errors"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/internal/courier"
	"github.com/lacuna-seq/lacuna/sequence"
)

// senderOptions bound what InTx has left to say. What does not fit is left to Relay, or to the
// number's timeout.
var senderOptions = courier.Options{Capacity: 10_000, Workers: 64}

// job is something to be said after a transaction.
type job struct {
	caller  context.Context //nolint:containedctx // whose transaction it was, for its values; nil where nobody waits
	command *lacunav1.Command
	db      *sql.DB
	row     bool // it has a row in db's outbox
	unknown bool // first find out what became of the transaction
}

// say repeats the job until it has a final answer. A confirm with a row may be left to Relay when
// the client closes; whatever has none is lost then, and the number times out.
func (c *Client) say(ctx context.Context, j job) error {
	ctx = onBehalfOf(ctx, j.caller)
	err := retry(ctx, func(ctx context.Context) error {
		if j.unknown {
			found, err := fateOf(ctx, j.db, j.command.GetTicket(), j.command.GetBizKey())
			if err != nil {
				return err
			}
			j.unknown, j.row = false, true
			if found == fateCommitted {
				j.command.Action = lacunav1.Action_ACTION_CONFIRM
			}
		}
		answers, err := c.settle.Do(ctx, j.command)
		switch {
		case err != nil:
			return err
		case answers[0].outcome == sequence.OutcomeAccepted:
			return &sequence.UnavailableError{What: "the ledger is away"}
		default:
			return answers[0].err
		}
	})
	if err != nil && !isAnswer(err) {
		if ctx.Err() != nil {
			return err
		}
		c.log.WarnContext(ctx, "the service does not take what a transaction has left to say; the outbox or the timeout will", "ticket", j.command.GetTicket(), "error", err)
		return nil
	}
	c.conclude(ctx, j, err)
	return nil
}

// conclude ends the story of a command that has its final answer.
func (c *Client) conclude(ctx context.Context, j job, err error) {
	ticket := j.command.GetTicket()
	confirm := j.command.GetAction() == lacunav1.Action_ACTION_CONFIRM
	if err != nil && confirm {
		c.log.ErrorContext(ctx, "a transaction was committed with a number that was not confirmed: look at both", "ticket", ticket, "error", err)
		c.refused(Refusal{Ticket: ticket, BizKey: j.command.GetBizKey(), Err: err})
	}
	if err != nil && !confirm && !errors.Is(err, sequence.ErrStale) {
		c.log.WarnContext(ctx, "a number could not be abandoned", "ticket", ticket, "error", err)
	}
	if !j.row {
		return
	}
	var rowErr error
	if err != nil && confirm {
		_, rowErr = j.db.ExecContext(ctx, markRefused, firstBytes(err.Error(), 500), ticket)
	} else {
		rowErr = forget(ctx, j.db, ticket)
	}
	if rowErr != nil {
		c.log.DebugContext(ctx, "a settled row stays in the outbox; the relay will find it settled", "ticket", ticket, "error", rowErr)
	}
}

// firstBytes cuts a text to what its column holds.
func firstBytes(s string, most int) string {
	if len(s) > most {
		return s[:most]
	}
	return s
}
