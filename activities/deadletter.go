package activities

import (
	"context"
	"strings"

	"github.com/lacuna-seq/lacuna/sequence"
)

// DeadLetterInput leaves one life of a number to a person.
type DeadLetterInput struct {
	Ticket string             `json:"ticket"`
	Cause  sequence.DeadCause `json:"cause"`
	Reason string             `json:"reason"`
	// Retries is how often bringing it back was tried again.
	Retries int32 `json:"retries"`
}

// DeadLetterResult says what became of it.
type DeadLetterResult struct {
	// Outcome is DEAD, ALREADY_DEAD, SUPERSEDED or NOT_FOUND.
	Outcome sequence.Outcome `json:"outcome"`
	State   sequence.State   `json:"state"`
}

// DeadLetter makes the row DEAD and copies it to the dead letters. It fails, retryably, while the ledger
// is away.
func (a *Activities) DeadLetter(ctx context.Context, in DeadLetterInput) (DeadLetterResult, error) {
	ticket, err := sequence.ParseTicket(in.Ticket)
	if err != nil {
		return DeadLetterResult{}, invalidInput(err)
	}
	decisions, err := a.apply.Do(ctx, sequence.Command{Kind: sequence.Bury, Ticket: ticket, Cause: in.Cause, Reason: bounded(in.Reason), Retries: in.Retries})
	if err != nil {
		return DeadLetterResult{}, ledgerAway(err)
	}
	d := decisions[0]
	if d.Outcome == sequence.OutcomeDead {
		forget(ctx, a.pool, a.log, []sequence.PoolEntry{d.Pool})
	}
	return DeadLetterResult{Outcome: d.Outcome, State: d.Number.State}, nil
}

// bounded cuts a reason to what the ledger keeps.
func bounded(reason string) string {
	if len(reason) > sequence.MaxReason {
		reason = reason[:sequence.MaxReason]
	}
	return strings.ToValidUTF8(reason, "")
}

// RequeueInput sends one dead number back on its way to the pool.
type RequeueInput struct {
	Ticket string `json:"ticket"`
	Actor  string `json:"actor"`
	Reason string `json:"reason"`
}

// RequeueResult says what became of it.
type RequeueResult struct {
	// Outcome is REQUEUED, NOT_DEAD or NOT_FOUND.
	Outcome sequence.Outcome `json:"outcome"`
}

// Requeue lifts the row out of DEAD, if it is there. It fails, retryably, while the ledger is away.
func (a *Activities) Requeue(ctx context.Context, in RequeueInput) (RequeueResult, error) {
	ticket, err := sequence.ParseTicket(in.Ticket)
	if err != nil {
		return RequeueResult{}, invalidInput(err)
	}
	decisions, err := a.apply.Do(ctx, sequence.Command{Kind: sequence.Requeue, Ticket: ticket, Actor: in.Actor, Reason: in.Reason})
	if err != nil {
		return RequeueResult{}, ledgerAway(err)
	}
	return RequeueResult{Outcome: decisions[0].Outcome}, nil
}
