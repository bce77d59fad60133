package issuer

import (
	"context"
	"fmt"
	"time"

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
)

// Request asks for numbers.
type Request struct {
	BizType string
	BizKey  string // what the caller calls the business object; may be empty
	Count   int    // 1 to MaxCount
}

// Issued is one number in the hands of its caller.
type Issued struct {
	Ticket  string
	SeqNo   string
	Life    int32
	BatchID string
	// ConfirmBy is by this process's clock. The ledger's deadline is never earlier by its own.
	ConfirmBy time.Time
}

// Next hands out exactly the numbers asked for, claimed ones before fresh ones. It returns a
// sequence.InvalidError, ErrNotFound (no such biz type), ErrFull (no numbers left), a BusyError
// (the record queue is full, or memory was empty for a second) or an UnavailableError (memory is
// empty and the ledger away, or this process lost its lease). On an error nothing was handed out; a number that was taken for a
// caller who has gone is recorded as abandoned.
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
	queue, err := i.records.reserve(r.Count)
	if err != nil {
		return nil, err
	}
	taken, err := b.take(ctx, r.Count, begun)
	if err != nil {
		queue.release(r.Count)
		return nil, err
	}
	if !i.mayAnswer(&taken) { // what was taken is recovered with the rest of what this process held
		queue.release(r.Count)
		return nil, &sequence.UnavailableError{What: "this process's lease ended while it answered: repeat"}
	}
	gone := ctx.Err() != nil
	confirmBy := begun.Add(b.rules.Load().ConfirmTimeout)
	issued := make([]Issued, r.Count)
	n := 0
	for _, part := range taken.parts() {
		for j := range part {
			h := &part[j]
			issued[n] = Issued{Ticket: h.ticket, SeqNo: h.number.SeqNo, Life: h.number.Life + 1, BatchID: h.number.BatchID, ConfirmBy: confirmBy}
			queue.put(handOut{held: h, bizKey: r.BizKey, callerGone: gone})
			n++
		}
	}
	if gone {
		return nil, fmt.Errorf("next of %s: the caller has gone, its %d numbers are abandoned: %w", r.BizType, r.Count, context.Cause(ctx))
	}
	i.metrics.next(time.Since(begun))
	return issued, nil
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
