package issuer

import (
	"context"
	"fmt"
	"time"

	"github.com/lacuna-seq/lacuna/internal/telemetry"
	"github.com/lacuna-seq/lacuna/sequence"
)

// MaxCount is the most numbers that one call of Next hands out.
const MaxCount = 10_000

// Bounds of a call of Next.
const (
	// emptyWait is how long a call waits for numbers when memory is empty.
	emptyWait = time.Second
	// coldWait is how long the first call after an idle while waits for the pool.
	coldWait = 20 * time.Millisecond
	// recordedWait is how long a call waits for its hand-out to be written down, where it does.
	recordedWait = 2 * time.Second
)

// Request asks for numbers.
type Request struct {
	BizType string
	BizKey  string // what the caller calls the business object; may be empty
	Count   int    // 1 to MaxCount
	// AllowPartial is content with fewer numbers, at least one, where there are not enough.
	AllowPartial bool
	// IdempotencyKey makes the call repeatable: for the confirm timeout the same key of the same caller
	// is answered the same tickets, by any process. Empty for none.
	IdempotencyKey string
	// Caller is who calls; keys of different callers are different.
	Caller string
}

// Issued is one number in the hands of its caller.
type Issued struct {
	Ticket  string
	SeqNo   string
	Life    int32
	BatchID string
	// ConfirmBy is by this process's clock. The ledger's deadline is never earlier by its own. Zero where a number is
	// final at its issue.
	ConfirmBy time.Time
}

// Next hands out exactly the numbers asked for, claimed ones before fresh ones. It returns a
// sequence.InvalidError, ErrNotFound (no such biz type), ErrFull (no numbers left), a BusyError
// (the record queue is full, or memory was empty for a second) or an UnavailableError (memory is
// empty and the ledger away, or this process lost its lease), of which a SteppedBackError is one. On an error nothing was handed out; a number that was taken for a
// caller who has gone is recorded as abandoned.
//
// With an idempotency key, and where the biz type says durableIssue, it answers only after the
// hand-out is written down, and is unavailable while the ledger is away. A key that stands for another
// call is ErrKeyReused, and one whose number has come to its end a KeySpentError.
func (i *Issuer) Next(ctx context.Context, r Request) ([]Issued, error) {
	if err := r.validate(); err != nil {
		return nil, err
	}
	begun := time.Now()
	if err := i.leaseFault(); err != nil {
		return nil, err
	}
	b, err := i.buffer(ctx, r.BizType)
	if err != nil {
		return nil, err
	}
	if err := b.stepBackFault(); err != nil {
		return nil, err
	}
	if r.IdempotencyKey != "" {
		return i.nextKeyed(ctx, b, r, begun)
	}
	h, queue, err := i.take(ctx, b, r, begun)
	if err != nil {
		return nil, err
	}
	var wait *receipt
	rules := b.rules.Load()
	if rules.DurableIssue || h.durable() {
		wait = newReceipt(h.count)
	}
	gone, called := ctx.Err() != nil, telemetry.TraceOf(ctx)
	issued := make([]Issued, 0, h.count)
	confirmBy := rules.ConfirmBy(begun)
	for _, part := range h.parts() {
		for j := range part {
			issued = append(issued, issuedOf(&part[j], confirmBy))
			telemetry.LinkTo(ctx, part[j].number.Trace) // the life before
			queue.put(handOut{held: &part[j], bizKey: r.BizKey, trace: called, callerGone: gone, final: rules.FinalAtIssue(), untold: wait != nil, receipt: wait})
		}
	}
	if gone {
		return nil, fmt.Errorf("next of %s: the caller has gone, its %d numbers are abandoned: %w", r.BizType, h.count, context.Cause(ctx))
	}
	if wait != nil {
		if err := wait.await(ctx); err != nil {
			return nil, fmt.Errorf("next of %s: %w", r.BizType, err)
		}
	}
	i.metrics.next(time.Since(begun))
	return issued, nil
}

// take takes numbers for a call, and a place in the record queue for each of them first.
func (i *Issuer) take(ctx context.Context, b *buffer, r Request, begun time.Time) (haul, *recordShard, error) {
	queue, err := i.records.reserve(r.Count)
	if err != nil {
		return haul{}, nil, err
	}
	h, err := b.take(ctx, r.Count, r.AllowPartial, begun)
	queue.release(r.Count - h.count)
	if err != nil {
		return haul{}, nil, err
	}
	if err := b.stepBackFault(); err != nil { // since it began; nobody was told of them
		queue.release(h.count)
		for _, part := range h.parts() {
			b.forget(part)
		}
		return haul{}, nil, err
	}
	if !i.mayAnswer(&h) { // nobody was told of them; what is being recovered is refused
		queue.release(h.count)
		for _, part := range h.parts() {
			b.giveBackLater(part)
		}
		return haul{}, nil, &sequence.UnavailableError{What: "this process's lease ended while it answered: repeat"}
	}
	return h, queue, nil
}

func issuedOf(h *held, confirmBy time.Time) Issued {
	return Issued{Ticket: h.ticket, SeqNo: h.number.SeqNo, Life: h.number.NextLife(), BatchID: h.number.BatchID, ConfirmBy: confirmBy}
}

// await waits for the records. A caller who leaves first has its numbers recorded as abandoned, or if
// they are written already, left to time out.
func (r *receipt) await(ctx context.Context) error {
	timer := time.NewTimer(recordedWait)
	defer timer.Stop()
	select {
	case <-r.written:
		if r.refused.Load() {
			return &sequence.UnavailableError{What: "this process's lease ended before the hand-out was written down: repeat"}
		}
		return nil
	case <-timer.C:
		r.gone.Store(true)
		return &sequence.UnavailableError{What: "the hand-out could not be written down within " + recordedWait.String()}
	case <-ctx.Done():
		r.gone.Store(true)
		return context.Cause(ctx)
	}
}

func (r Request) validate() error {
	if err := sequence.ValidateBizTypeName(r.BizType); err != nil {
		return err
	}
	if err := sequence.ValidateBizKey(r.BizKey); err != nil {
		return err
	}
	if r.Count < 1 || r.Count > MaxCount {
		return sequence.Invalidf("count", "%d is not from 1 to %d", r.Count, MaxCount)
	}
	if r.IdempotencyKey != "" {
		return sequence.ValidateIdempotencyKey(r.IdempotencyKey)
	}
	return nil
}

// haul is what one call has taken: one part in the common case, more where it crossed blocks.
type haul struct {
	first []held
	more  [][]held
	count int
}

func (h *haul) add(part []held) {
	if h.first == nil {
		h.first = part
	} else {
		h.more = append(h.more, part)
	}
	h.count += len(part)
}

// durable reports whether a number was taken under the promise that nobody is told of it before it is
// written down.
func (h *haul) durable() bool {
	for _, part := range h.parts() {
		if part[0].number.Durable {
			return true
		}
	}
	return false
}

// parts ranges over what was taken.
func (h *haul) parts() func(func(int, []held) bool) {
	return func(yield func(int, []held) bool) {
		if h.first != nil && !yield(0, h.first) {
			return
		}
		for i, part := range h.more {
			if !yield(i+1, part) {
				return
			}
		}
	}
}
