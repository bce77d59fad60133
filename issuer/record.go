package issuer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lacuna-seq/lacuna/internal/telemetry"
	"github.com/lacuna-seq/lacuna/internal/wait"
	"github.com/lacuna-seq/lacuna/sequence"
)

// The record queue.
const (
	// recordBatch and recordWait close a batch of records: 500 rows or 5 ms.
	recordBatch = 500
	recordWait  = 5 * time.Millisecond
	// recordPlaces is how many records one shard holds. It is more than one call may ask for, and
	// ten seconds of a busy process.
	recordPlaces = 20_000
	// recordTimeout ends one try to write a batch; recordRetry is between two tries.
	recordTimeout = 20 * time.Second
	recordRetry   = 200 * time.Millisecond
	// busyRetryAfter is what a caller is told when the queue is full.
	busyRetryAfter = 500 * time.Millisecond
)

// handOut is a number that was handed to a caller and is not written down yet.
type handOut struct {
	held       *held
	bizKey     string
	trace      string // of the call; see sequence.Command
	callerGone bool
	final      bool     // it is told that no confirm is waited for
	untold     bool     // nobody is told of the number before it is written down
	receipt    *receipt // of a caller who waits for that; nil where none does
}

// receipt is how a caller who waits for its records learns what became of them.
type receipt struct {
	open    atomic.Int64 // records that are not written yet
	refused atomic.Bool  // one of the numbers had been taken away
	gone    atomic.Bool  // the caller has stopped waiting
	written chan struct{}
}

func newReceipt(records int) *receipt {
	r := &receipt{written: make(chan struct{})}
	r.open.Store(int64(records))
	return r
}

func (r *receipt) tell(d sequence.Decision) {
	if d.Outcome != sequence.OutcomeRecorded && d.Outcome != sequence.OutcomeAlreadyRecorded {
		r.refused.Store(true)
	}
	if r.open.Add(-1) == 0 {
		close(r.written)
	}
}

// recorder writes hand-outs to the ledger. Its queue is sharded so that callers share no lock; a
// place in a shard is taken before the number is, so that no number is taken which cannot be
// written down.
type recorder struct {
	issuer *Issuer
	shards []*recordShard
	open   sync.WaitGroup
}

type recordShard struct {
	places atomic.Int64 // taken
	since  atomic.Int64 // when the batch was begun that is being written, Unix nanoseconds; 0 for none
	queue  chan handOut
}

func newRecorder(i *Issuer) *recorder {
	r := &recorder{issuer: i, shards: make([]*recordShard, max(2, runtime.GOMAXPROCS(0)))}
	for s := range r.shards {
		r.shards[s] = &recordShard{queue: make(chan handOut, recordPlaces)}
		r.open.Go(func() { r.write(r.shards[s]) })
	}
	return r
}

// reserve takes count places in one shard, or answers a sequence.BusyError.
func (r *recorder) reserve(count int) (*recordShard, error) {
	s := r.shards[rand.IntN(len(r.shards))]
	if s.places.Add(int64(count)) > recordPlaces {
		s.release(count)
		return nil, &sequence.BusyError{What: "hand-outs wait for the ledger to write them down", RetryAfter: busyRetryAfter}
	}
	if r.issuer.stopped.Load() {
		s.release(count)
		return nil, &sequence.UnavailableError{What: "this process is stopping"}
	}
	return s, nil
}

// put queues a record in a place that was reserved; it does not block.
func (s *recordShard) put(h handOut) { s.queue <- h }

func (s *recordShard) release(count int) { s.places.Add(-int64(count)) }

// depth counts what is not written down yet.
func (r *recorder) depth() (n int64) {
	for _, s := range r.shards {
		n += s.places.Load()
	}
	return n
}

// stalled reports whether a hand-out has waited for the ledger for longer than that.
func (r *recorder) stalled(most time.Duration) bool {
	for _, s := range r.shards {
		if since := s.since.Load(); since != 0 && time.Now().UnixNano()-since > int64(most) {
			return true
		}
	}
	return false
}

// drain waits until every place is free.
func (r *recorder) drain(ctx context.Context) error {
	tick := time.NewTicker(recordWait)
	defer tick.Stop()
	for r.depth() > 0 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%d hand-outs are not written down: %w", r.depth(), context.Cause(ctx))
		}
	}
	return nil
}

// close ends the writers. Nothing may be put any more.
func (r *recorder) close() {
	for _, s := range r.shards {
		close(s.queue)
	}
	r.open.Wait()
}

func (r *recorder) write(s *recordShard) {
	batch := make([]handOut, 0, recordBatch)
	for first := range s.queue {
		s.since.Store(time.Now().UnixNano())
		batch = gather(append(batch[:0], first), s.queue)
		if !r.record(batch) {
			return // the issuer was given up with the ledger away
		}
		s.since.Store(0)
		s.release(len(batch))
	}
}

// gather joins to the batch what comes within recordWait.
func gather(batch []handOut, queue <-chan handOut) []handOut {
	timer := time.NewTimer(recordWait)
	defer timer.Stop()
	for len(batch) < recordBatch {
		select {
		case h, open := <-queue:
			if !open {
				return batch
			}
			batch = append(batch, h)
		case <-timer.C:
			return batch
		}
	}
	return batch
}

func (h handOut) command() sequence.Command {
	n := h.held.number
	return sequence.Command{
		Kind: sequence.Record, Ticket: n.NextTicket(), Owner: n.Owner, BatchID: n.BatchID, BizKey: h.bizKey, Trace: h.trace,
		Final: h.final, CallerGone: h.callerGone || h.receipt != nil && h.receipt.gone.Load(), Waiting: h.untold,
	}
}

// record writes one batch, however often that takes. It gives up, with false, only when the
// issuer does.
func (r *recorder) record(batch []handOut) bool {
	i := r.issuer
	for try := 1; ; try++ {
		commands := make([]sequence.Command, len(batch))
		untracked := i.storm.rages()
		for j, h := range batch {
			commands[j] = h.command()
			commands[j].Untracked = untracked
		}
		i.metrics.batch("record", len(commands))
		decisions, err := i.applyRecords(commands)
		if err == nil {
			i.recorded(commands, decisions)
			for j, h := range batch {
				if h.receipt != nil {
					h.receipt.tell(decisions[j])
				}
			}
			return true
		}
		if try == 1 {
			i.log.Warn("hand-outs could not be written down; trying until they are", "count", len(batch), "error", err)
		}
		if i.background.Err() != nil {
			i.log.Error("hand-outs were not written down; the ledger holds their numbers for this issuer", "count", len(batch), "error", err)
			return false
		}
		_ = wait.For(i.background, recordRetry) // the loop asks whether the issuer was given up
	}
}

func (i *Issuer) applyRecords(commands []sequence.Command) ([]sequence.Decision, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(i.background), recordTimeout)
	defer cancel()
	ctx, ended := i.joinRecords(ctx, commands)
	decisions, err := i.ledger.Apply(ctx, commands)
	ended(err)
	return decisions, err
}

// joinRecords makes a batch part of the traces of the calls that handed its numbers out.
func (i *Issuer) joinRecords(ctx context.Context, commands []sequence.Command) (context.Context, func(error)) {
	var calls []context.Context
	for j, c := range commands {
		if c.Trace != "" && (j == 0 || c.Trace != commands[j-1].Trace) { // a call's numbers lie side by side
			calls = append(calls, telemetry.InTrace(context.Background(), c.Trace))
		}
	}
	return telemetry.Join(i.tracer, "record")(ctx, calls)
}

// recorded starts the lifecycles of what was written down. A number that turned out to be another
// holder's is an alarm, and nothing more is issued of its batch.
func (i *Issuer) recorded(commands []sequence.Command, decisions []sequence.Decision) {
	now := time.Now()
	for j, d := range decisions {
		switch d.Outcome {
		case sequence.OutcomeRecorded, sequence.OutcomeAlreadyRecorded:
			i.batches.settled(commands[j].BatchID, 1)
			if d.Number.Tracked {
				i.starts.Send(start{number: d.Number, due: now.Add(d.Wait)})
			} else {
				i.tracker.add(d.Number, commands[j].Untracked)
			}
		case sequence.OutcomeSuperseded: // taken away before anybody was told of it
			i.batches.settled(commands[j].BatchID, 1)
		default:
			i.log.ErrorContext(telemetry.InTrace(i.background, commands[j].Trace),
				"a number was handed out that the ledger does not hold for this issuer; its batch is issued from no more", "ticket", commands[j].Ticket.String(), "batch_id", commands[j].BatchID, "outcome", d.Outcome.String(),
				"current", d.Number.Ticket().String(), "state", d.Number.State.String())
			i.discard(commands[j].Ticket.BizType, commands[j].BatchID)
		}
		i.metrics.recorded(commands[j].Ticket.BizType, d.Outcome)
	}
}

// discard takes a batch out of memory for good. Its rows stay held in the ledger under this issuer.
func (i *Issuer) discard(bizType, batchID string) {
	value, ok := i.buffers.Load(bizType)
	if !ok {
		return
	}
	b := value.(*buffer) //nolint:forcetypeassert // the map holds buffers only
	of := func(b *block) bool { return len(b.numbers) > 0 && b.numbers[0].number.BatchID == batchID }
	b.takeClaimed(of)
	b.takeFresh(of)
}
