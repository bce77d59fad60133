package issuer

import (
	"context"
	"sync"
)

// batches is which allocations and claims this process knows of, and how much of each is still open:
// numbers that are not written down or handed back yet, and one for a call whose answer is not known.
// A batch is known from before its call is sent until its last number is settled. What the ledger
// holds for this issuer beside them is nobody's, and is handed back.
type batches struct {
	mu        sync.Mutex
	open      map[string]int
	strangers map[string]bool // held in the ledger at the last renewal, and not known
}

func newBatches() *batches { return &batches{open: map[string]int{}} }

// opened adds to what is open of a batch.
func (b *batches) opened(batchID string, count int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open[batchID] += count
}

// settled takes off what is open of a batch. One that is not known any more was of an earlier lease.
func (b *batches) settled(batchID string, count int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	left, known := b.open[batchID]
	switch {
	case !known:
	case left > count:
		b.open[batchID] = left - count
	default:
		delete(b.open, batchID)
	}
}

// forget starts over: what an earlier lease held is recovered, not known.
func (b *batches) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open, b.strangers = map[string]int{}, nil
}

// unknown gives those of the held batches that were not known at two calls in a row. A batch whose
// last number was settled between the ledger's answer and this call looks unknown once.
func (b *batches) unknown(held map[string]int) (twice []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	strangers := map[string]bool{}
	for batchID := range held {
		if _, known := b.open[batchID]; known {
			continue
		}
		strangers[batchID] = true
		if b.strangers[batchID] {
			twice = append(twice, batchID)
		}
	}
	b.strangers = strangers
	return twice
}

// compareBatches hands back what the ledger holds for this issuer and this issuer does not know of,
// e.g. an allocation that was committed long after its call was given up.
func (i *Issuer) compareBatches(ctx context.Context) error {
	held, err := i.ledger.BatchesHeldBy(ctx, i.ID())
	if err != nil {
		return err
	}
	for _, batchID := range i.batches.unknown(held) {
		numbers, err := i.ledger.Held(ctx, batchID)
		if err != nil {
			return err
		}
		i.log.WarnContext(ctx, "the ledger holds numbers for this process that it does not know of; handing them back",
			"batch_id", batchID, "count", len(numbers))
		if err := i.handBack(ctx, holdAll(numbers)); err != nil {
			return err
		}
	}
	return nil
}
