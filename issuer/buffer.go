package issuer

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// buffer is the numbers of one biz type in this issuer's memory.
type buffer struct {
	issuer *Issuer
	rules  atomic.Pointer[sequence.BizType]

	claimed, fresh shelf

	freshLeft     atomic.Int64 // fresh numbers on the shelf
	claimedLeft   atomic.Int64 // claimed ones
	freshLow      atomic.Int64 // below which the refill begins
	claimedLow    atomic.Int64
	waited        atomic.Int64 // numbers that callers wait for, since memory was empty
	used          atomic.Int64 // highest value allocated, of the period that runs
	issuedClaimed atomic.Int64
	issuedFresh   atomic.Int64
	lastAsked     atomic.Int64 // time of the last Next, Unix nanoseconds
	lastClaim     atomic.Int64 // time of the last answer from the pool
	lastWarmUp    atomic.Int64 // time when a caller last waited for the pool
	poolAway      atomic.Bool
	period        atomic.Pointer[period]
	turning       sync.Mutex // held while the period turns, and while something is put on a shelf
	nudged        atomic.Bool
	nudge         chan struct{} // wakes the upkeep

	mu      sync.Mutex
	changed chan struct{} // closed and renewed when the upkeep has done a round
	fault   error         // why the last allocation failed
	// returning is numbers that are to be handed back, or whose hand-back was asked for and not
	// answered. They are never handed out: the ledger may have freed them.
	returning []held
}

// buffer gives the biz type's buffer and makes it on first use.
func (i *Issuer) buffer(ctx context.Context, name string) (*buffer, error) {
	if b, ok := i.buffers.Load(name); ok {
		return b.(*buffer), nil //nolint:forcetypeassert // the map holds buffers only
	}
	ctx, cancel := context.WithTimeout(ctx, emptyWait)
	defer cancel()
	rules, err := i.ledger.BizType(ctx, name)
	if err != nil {
		return nil, err
	}
	if rules.Format.HasPeriod() {
		if err := i.readClock(ctx); err != nil {
			return nil, err
		}
	}
	b := &buffer{issuer: i, nudge: make(chan struct{}, 1), changed: make(chan struct{})}
	b.rules.Store(&rules)
	b.freshLow.Store(int64(rules.StepMin) / 2)
	b.turn()
	if other, loaded := i.buffers.LoadOrStore(name, b); loaded {
		return other.(*buffer), nil //nolint:forcetypeassert // the map holds buffers only
	}
	i.upkeep.Go(b.keepUp)
	return b, nil
}

// take gets count numbers, and waits a bounded time where memory has too few. What it got on the
// way to an error it puts back; with partial it is content with that.
func (b *buffer) take(ctx context.Context, count int, partial bool, now time.Time) (haul, error) {
	b.lastAsked.Store(now.UnixNano())
	if !b.period.Load().runs(b.issuer.clock.Load()) {
		b.turn()
	}
	if b.cold(now) {
		b.warmUp(ctx)
	}
	var h haul
	if b.waited.Load() == 0 { // nobody is passed over
		b.fill(&h, count)
	}
	if h.count < count {
		if err := b.await(ctx, count, &h); err != nil && (!partial || h.count == 0 || ctx.Err() != nil) {
			b.putBack(&h)
			return haul{}, err
		}
	}
	return h, nil
}

// fill takes what memory has, up to count in all.
func (b *buffer) fill(h *haul, count int) {
	for h.count < count {
		part := b.takeSome(count - h.count)
		if part == nil {
			return
		}
		h.add(part)
	}
}

// left counts what is in memory.
func (b *buffer) left() int { return b.claimed.left() + b.fresh.left() }

// await completes a haul that memory had too few numbers for.
func (b *buffer) await(ctx context.Context, count int, h *haul) error {
	deadline := time.NewTimer(emptyWait)
	defer deadline.Stop()
	waited := int64(count - h.count)
	b.waited.Add(waited)
	defer func() { b.waited.Add(-waited) }()
	for {
		changed := b.rounds()
		if b.issuer.stopped.Load() {
			return &sequence.UnavailableError{What: "this process is stopping"}
		}
		b.wake()
		select {
		case <-changed:
			b.fill(h, count)
			b.waited.Add(int64(count-h.count) - waited)
			if waited = int64(count - h.count); waited == 0 {
				return nil
			}
			if err := b.lastFault(); errors.Is(err, sequence.ErrFull) && b.left() == 0 {
				return err
			}
		case <-deadline.C:
			return b.emptyError()
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// takeSome takes what one block has, claimed numbers first.
func (b *buffer) takeSome(count int) []held {
	if part := b.claimed.take(count); part != nil {
		b.issuedClaimed.Add(int64(len(part)))
		if b.claimedLeft.Add(-int64(len(part))) < b.claimedLow.Load() {
			b.wake()
		}
		return part
	}
	part := b.fresh.take(count)
	if part == nil {
		return nil
	}
	b.issuedFresh.Add(int64(len(part)))
	if b.freshLeft.Add(-int64(len(part))) < b.freshLow.Load() {
		b.wake()
	}
	return part
}

// putBack returns numbers that were taken and not handed out.
func (b *buffer) putBack(h *haul) {
	for _, part := range h.parts() {
		if part[0].number.State == sequence.Replayed {
			b.issuedClaimed.Add(-int64(len(part)))
		} else {
			b.issuedFresh.Add(-int64(len(part)))
		}
		b.put(part, time.Now())
	}
}

// put lays numbers of one kind and one period on their shelf, or aside to go back where their period is
// over.
func (b *buffer) put(numbers []held, since time.Time) {
	b.turning.Lock()
	defer b.turning.Unlock()
	switch {
	case len(numbers) == 0:
	case b.isPast(numbers[0].number):
		b.giveBackLater(numbers)
	case numbers[0].number.State == sequence.Replayed:
		b.claimedLeft.Add(int64(len(numbers)))
		b.claimed.put(&block{numbers: numbers, since: since})
	default:
		b.freshLeft.Add(int64(len(numbers)))
		b.fresh.put(&block{numbers: numbers, since: since})
	}
}

// takeFresh and takeClaimed take everything out of the blocks that which names.
func (b *buffer) takeFresh(which func(*block) bool) []held {
	taken := b.fresh.takeWhere(which)
	b.freshLeft.Add(-int64(len(taken)))
	return taken
}

func (b *buffer) takeClaimed(which func(*block) bool) []held {
	taken := b.claimed.takeWhere(which)
	b.claimedLeft.Add(-int64(len(taken)))
	return taken
}

// giveBackLater lets the upkeep hand numbers back.
func (b *buffer) giveBackLater(numbers []held) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.returning = append(b.returning, numbers...)
}

// emptyError says why there were no numbers within the wait.
func (b *buffer) emptyError() error {
	if err := b.lastFault(); err != nil {
		return err
	}
	return &sequence.BusyError{What: "numbers of " + b.rules.Load().Name + " are taken faster than the ledger allocates them", RetryAfter: emptyWait}
}

func (b *buffer) lastFault() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.fault
}

// rounds is closed when the upkeep next has changed something.
func (b *buffer) rounds() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.changed
}

// announce tells those who wait that the upkeep has done a round.
func (b *buffer) announce(fault error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fault = fault
	close(b.changed)
	b.changed = make(chan struct{})
}

// wake asks the upkeep for a round now. Only the first of many callers pays for it.
func (b *buffer) wake() {
	if b.nudged.CompareAndSwap(false, true) {
		select {
		case b.nudge <- struct{}{}:
		default:
		}
	}
}

// cold reports whether nobody has looked into the pool for so long that it may hold numbers which
// memory does not know of. It says so to one caller: the others do not wait.
func (b *buffer) cold(now time.Time) bool {
	t, last := now.UnixNano(), b.lastWarmUp.Load()
	return t-b.lastClaim.Load() > int64(claimHold) && t-last > int64(claimHold) && !b.poolAway.Load() &&
		b.lastWarmUp.CompareAndSwap(last, t)
}

// warmUp waits a moment for the pool's answer, so that after an idle while, too, a free number
// goes out before a fresh one. While the pool is away nobody waits.
func (b *buffer) warmUp(ctx context.Context) {
	changed := b.rounds()
	b.wake()
	timer := time.NewTimer(coldWait)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// takeReturning gives the numbers whose hand-back is to be asked for again.
func (b *buffer) takeReturning() []held {
	b.mu.Lock()
	defer b.mu.Unlock()
	numbers := b.returning
	b.returning = nil
	return numbers
}

// takeAllHeld empties the memory of all biz types.
func (i *Issuer) takeAllHeld() []held {
	var all []held
	i.buffers.Range(func(_, value any) bool {
		b := value.(*buffer) //nolint:forcetypeassert // the map holds buffers only
		every := func(*block) bool { return true }
		all = append(all, b.takeClaimed(every)...)
		all = append(all, b.takeFresh(every)...)
		all = append(all, b.takeReturning()...)
		return true
	})
	return all
}
