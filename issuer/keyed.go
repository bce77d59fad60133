package issuer

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"

	"github.com/lacuna-seq/lacuna/internal/telemetry"
	"github.com/lacuna-seq/lacuna/sequence"
)

// keyedBatch is how many keyed calls share one transaction at most.
const keyedBatch = 100

// keyedOutcome is what a keyed call came to in the ledger.
type keyedOutcome struct {
	won bool
	err error
}

// content is the SHA-256 of what a call asks for: another call under its key is refused.
func (r Request) content() [32]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q %d %t", r.BizKey, r.Count, r.AllowPartial))
}

func (r Request) key() sequence.IdempotencyKey {
	return sequence.IdempotencyKey{Caller: r.Caller, BizType: r.BizType, Key: r.IdempotencyKey}
}

// nextKeyed answers what the key stands for, or takes numbers and makes the key stand for them. It
// waits for the ledger, never for the pool: a second number would be worse than an error.
func (i *Issuer) nextKeyed(ctx context.Context, b *buffer, r Request, begun time.Time) ([]Issued, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, recordedWait, &sequence.UnavailableError{
		What: "the ledger did not answer within " + recordedWait.String() + ": repeat the call under its key",
	})
	defer cancel()
	issued, err := i.repeatOf(ctx, b, r)
	if !errors.Is(err, sequence.ErrNotFound) {
		return issued, err
	}
	h, queue, err := i.take(ctx, b, r, begun)
	if err != nil {
		return nil, err
	}
	rules := b.rules.Load()
	confirmBy := rules.ConfirmBy(begun)
	handOuts, called := make([]handOut, 0, h.count), telemetry.TraceOf(ctx)
	for _, part := range h.parts() {
		for j := range part {
			issued = append(issued, issuedOf(&part[j], confirmBy))
			telemetry.LinkTo(ctx, part[j].number.Trace) // the life before
			handOuts = append(handOuts, handOut{held: &part[j], bizKey: r.BizKey, trace: called, final: rules.FinalAtIssue(), untold: true})
		}
	}
	outcome := make(chan keyedOutcome, 1)
	i.keyedOut.Go(func() {
		outcome <- i.writeKeyed(trace.ContextWithSpan(i.background, trace.SpanFromContext(ctx)), r, handOuts, queue)
	}) // it outlives a caller who leaves
	select {
	case o := <-outcome:
		switch {
		case o.err != nil:
			return nil, o.err
		case !o.won:
			return i.afterDefeat(ctx, b, r)
		}
		i.metrics.next(time.Since(begun))
		return issued, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// afterDefeat answers a call whose numbers are not the key's: another call was first, or its own
// numbers were taken away before they were written down.
func (i *Issuer) afterDefeat(ctx context.Context, b *buffer, r Request) ([]Issued, error) {
	issued, err := i.repeatOf(ctx, b, r)
	if errors.Is(err, sequence.ErrNotFound) {
		return nil, &sequence.UnavailableError{What: "this process's lease ended before the hand-out was written down: repeat"}
	}
	return issued, err
}

// writeKeyed records the hand-outs together with the key. Where the ledger does not take them nothing
// is known: they are recorded as abandoned, which changes nothing where they were written after all.
func (i *Issuer) writeKeyed(ctx context.Context, r Request, handOuts []handOut, queue *recordShard) keyedOutcome {
	issue := sequence.KeyedIssue{IdempotencyKey: r.key(), CallID: uuid.NewString(), Content: r.content()}
	for _, h := range handOuts {
		c := h.command()
		c.Untracked = i.storm.rages()
		issue.Records = append(issue.Records, c)
	}
	results, err := i.keyed.Do(ctx, issue)
	if err != nil {
		for _, h := range handOuts {
			h.callerGone = true
			queue.put(h)
		}
		if i.background.Err() != nil {
			err = &sequence.UnavailableError{What: "this process is stopping", Cause: err}
		}
		return keyedOutcome{err: err}
	}
	i.recorded(issue.Records, results[0].Decisions)
	queue.release(len(handOuts))
	return keyedOutcome{won: results[0].Won}
}

// issueKeyed is the coalescer's flush.
func (i *Issuer) issueKeyed(ctx context.Context, issues []sequence.KeyedIssue) ([]sequence.KeyedResult, error) {
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	i.metrics.batch("keyed", len(issues))
	return i.ledger.IssueKeyed(ctx, issues)
}

// repeatOf answers what the key stands for; sequence.ErrNotFound where it stands for nothing.
func (i *Issuer) repeatOf(ctx context.Context, b *buffer, r Request) ([]Issued, error) {
	found, err := i.ledger.Keyed(ctx, r.key())
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	if found.Content != r.content() {
		return nil, fmt.Errorf("next of %s: %w: %q", r.BizType, sequence.ErrKeyReused, r.IdempotencyKey)
	}
	issued := make([]Issued, len(found.Tickets))
	now := time.Now()
	for j, ticket := range found.Tickets {
		n := found.Numbers[j]
		confirmBy := b.rules.Load().ConfirmBy(now)
		switch {
		case n.Life == ticket.Life && n.State == sequence.Allocated:
			confirmBy = now.Add(n.Deadline.Sub(i.clock.Load().now()))
		case n.Life == ticket.Life && n.State == sequence.Confirmed && n.Reason == sequence.ReasonFinalAtIssue:
			confirmBy = time.Time{} // as it was told first, whatever the rules say now
		case n.Life == ticket.Life && n.State == sequence.Confirmed:
		default:
			return nil, &sequence.KeySpentError{Key: r.IdempotencyKey, Ticket: ticket, Current: n.Ticket(), State: n.State}
		}
		issued[j] = Issued{Ticket: ticket.String(), SeqNo: ticket.SeqNo, Life: ticket.Life, BatchID: n.BatchID, ConfirmBy: confirmBy}
	}
	return issued, nil
}
