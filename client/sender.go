package client

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/sequence"
)

// The sender's bounds. What does not fit is left to Relay, or to the number's timeout.
const (
	senderQueue   = 10_000
	senderWorkers = 64
)

// job is something to be said after a transaction.
type job struct {
	command *lacunav1.Command
	db      *sql.DB
	row     bool // it has a row in db's outbox
	unknown bool // first find out what became of the transaction
}

// sender says in the background what InTx has left to say.
type sender struct {
	client  *Client
	queue   chan job
	ctx     context.Context //nolint:containedctx // the sender's own life
	cancel  context.CancelFunc
	workers sync.WaitGroup
	left    atomic.Int64

	sending sync.RWMutex // against a close while something is being sent
	closed  bool
}

func newSender(c *Client) *sender {
	s := &sender{client: c, queue: make(chan job, senderQueue)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	for range senderWorkers {
		s.workers.Go(func() {
			for j := range s.queue {
				s.say(j)
				s.left.Add(-1)
			}
		})
	}
	return s
}

// send never waits: the caller has business of its own.
func (s *sender) send(j job) {
	s.sending.RLock()
	defer s.sending.RUnlock()
	if !s.closed {
		s.left.Add(1)
		select {
		case s.queue <- j:
			return
		default:
			s.left.Add(-1)
		}
	}
	s.client.log.Warn("too much is left to say; the outbox or the timeout will", "ticket", j.command.GetTicket())
}

func (s *sender) close(ctx context.Context) error {
	s.sending.Lock()
	if s.closed {
		s.sending.Unlock()
		return nil
	}
	s.closed = true
	close(s.queue)
	s.sending.Unlock()
	stop := context.AfterFunc(ctx, s.cancel)
	defer stop()
	s.workers.Wait()
	defer s.cancel()
	if ctx.Err() != nil {
		return fmt.Errorf("close the client: not everything was said; the outbox or the timeout will: %w", context.Cause(ctx))
	}
	return nil
}

// say repeats the job until it has a final answer. A confirm with a row may be left to Relay when
// the client closes; whatever has none is lost then, and the number times out.
func (s *sender) say(j job) {
	err := retry(s.ctx, func(ctx context.Context) error {
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
		answers, err := s.client.settle.Do(ctx, j.command)
		switch {
		case err != nil:
			return err
		case answers[0].outcome == sequence.OutcomeAccepted:
			return &sequence.UnavailableError{What: "the ledger is away"}
		default:
			return answers[0].err
		}
	})
	if s.ctx.Err() != nil && err != nil {
		return
	}
	s.client.conclude(s.ctx, j, err)
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
