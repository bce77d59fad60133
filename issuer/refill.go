package issuer

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/lacuna-seq/lacuna/internal/wait"
	"github.com/lacuna-seq/lacuna/sequence"
)

// The upkeep of a buffer.
const (
	// upkeepEvery is how often a buffer in use is looked after without being asked to.
	upkeepEvery = 250 * time.Millisecond
	// freshDepth is how long the fresh numbers in memory last at the present rate. A refill begins at
	// half of it.
	freshDepth = 10 * time.Second
	// freshHold is how long they are kept when nobody asks for any.
	freshHold = time.Minute
	// claimDepth is how long the claimed ones last.
	claimDepth = time.Second
	// claimHold is how long a claimed number may wait in memory: a late confirm waits for it.
	claimHold = 2 * time.Second
	// idleAfter is when a biz type that nobody asks for is left alone.
	idleAfter = 2 * time.Second
	// ledgerTimeout and poolTimeout end one call of the upkeep.
	ledgerTimeout = 5 * time.Second
	poolTimeout   = time.Second
	// faultPause keeps a failing server from being asked in a tight loop.
	faultPause = 100 * time.Millisecond
)

// keepUp refills the buffer ahead of use until the issuer stops.
func (b *buffer) keepUp() {
	ctx := b.issuer.background
	tick := time.NewTicker(upkeepEvery)
	defer tick.Stop()
	u := upkeep{buffer: b, freshSize: sizing{target: freshDepth / 2}, claimSize: sizing{target: claimDepth / 2}}
	for {
		fault := u.round(ctx)
		b.nudged.Store(false)
		b.announce(fault)
		if fault != nil && !errors.Is(fault, sequence.ErrFull) {
			_ = wait.For(ctx, faultPause) // the select below ends with ctx
		}
		select {
		case <-ctx.Done():
			u.settleDoubts(context.WithoutCancel(ctx)) // what it finds is handed back by the stop
			return
		case <-b.nudge:
		case <-tick.C:
		}
	}
}

// upkeep is what one buffer's goroutine remembers between rounds.
type upkeep struct {
	*buffer
	freshSize, claimSize sizing

	poolFault time.Time      // when the pool last failed
	poolEmpty bool           // it gave nothing when it was last asked
	doubtful  []string       // batches whose allocation or claim may have happened: its answer was lost
	skipped   map[string]int // free numbers that somebody was working on when they were claimed: how often
	warned    int            // how full the format was when it was last said, in percent
}

// round hands back what waited too long, and refills what is low.
func (u *upkeep) round(ctx context.Context) error {
	now := time.Now()
	u.dropOthers(u.issuer.ID()) // a call under way may have brought what an earlier lease held
	u.settleDoubts(ctx)
	if fault := u.stepBackFault(); fault != nil {
		u.forgetAll()
		return fault
	}
	u.handBackOld(ctx, now)
	if now.UnixNano()-u.lastAsked.Load() > int64(idleAfter) {
		return u.lastFault()
	}
	u.claim(ctx, now)
	return u.allocate(ctx, now)
}

// freshCover counts what can be handed out without waiting for the pool: fresh numbers, and claimed
// ones that nobody can be about to confirm.
func (u *upkeep) freshCover() int {
	return int(u.freshLeft.Load()) + u.claimed.leftWhere((*block).neverIssued)
}

// allocate brings the fresh numbers up to what their use asks for, from stepMin to stepMax.
func (u *upkeep) allocate(ctx context.Context, now time.Time) error {
	rules := u.rules.Load()
	left := u.freshCover()
	waited := min(int(u.waited.Load()), rules.StepMax)
	if low := max(u.freshSize.size, rules.StepMin) / 2; left >= max(1, low) && waited == 0 {
		return nil
	}
	// A rush is served at once, and not by doubling until it is over.
	want := u.freshSize.next(now, max(waited, rules.StepMin), rules.StepMax)
	u.freshLow.Store(int64(max(1, want/2)))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ledgerTimeout) // a stop waits for it
	defer cancel()
	count := min(max(want-left, rules.StepMin), rules.StepMax)
	batchID := "seg-" + uuid.NewString()
	u.issuer.batches.opened(batchID, 1)
	numbers, err := u.issuer.ledger.Allocate(ctx, rules.Name, u.issuer.ID(), batchID, count)
	if err != nil {
		u.failed(err, batchID)
		var behind *sequence.SteppedBackError
		if errors.As(err, &behind) {
			u.stop(behind)
		}
		if u.lastFault() == nil {
			u.issuer.log.WarnContext(ctx, "no fresh numbers", "biz_type", rules.Name, "left", left, "error", err)
		}
		if errors.Is(err, sequence.ErrLeaseOver) {
			return &sequence.UnavailableError{What: "this process's lease is over", Cause: err}
		}
		return err
	}
	agreed := u.agreeOnPeriod(ctx, numbers[0].Period)
	u.shelve(batchID, numbers)
	u.warnOfFull(ctx, numbers)
	return agreed
}

// agreeOnPeriod follows the ledger where it allocates in another period than the one that runs here. An
// error keeps the upkeep from allocating over and over what it would have to give back.
func (u *upkeep) agreeOnPeriod(ctx context.Context, allocated string) error {
	if allocated == u.period.Load().name {
		return nil
	}
	if err := u.issuer.readClock(ctx); err != nil {
		return err
	}
	if u.turn(); allocated != u.period.Load().name {
		return &sequence.UnavailableError{What: "the period is changing"}
	}
	return nil
}

// warnOfFull says when most of the format is used, once for each bound.
func (u *upkeep) warnOfFull(ctx context.Context, numbers []sequence.Number) {
	last, rules := numbers[len(numbers)-1], u.rules.Load()
	u.used.Store(last.Value)
	percent := int(float64(last.Value) / float64(rules.Format.Max()) * 100)
	if percent < u.warned { // another period
		u.warned = 0
	}
	for _, bound := range []int{95, 80} {
		if percent >= bound && u.warned < bound {
			u.warned = percent
			u.issuer.log.WarnContext(ctx, "the format is filling up; when it is full only numbers of the pool are issued",
				"biz_type", rules.Name, "format", rules.Format.String(), "period", last.Period, "used_percent", percent)
		}
	}
}

// shelve puts what a call brought where it belongs, and ends the call.
func (u *upkeep) shelve(batchID string, numbers []sequence.Number) {
	u.issuer.batches.opened(batchID, len(numbers))
	u.issuer.batches.settled(batchID, 1)
	type kind struct {
		state  sequence.State
		issued bool
		period string
	}
	now := time.Now()
	var order []kind
	kinds := map[kind][]held{}
	for _, n := range numbers { // each kind is handed out, kept and given back by rules of its own
		k := kind{n.State, n.Life > 0, n.Period}
		if kinds[k] == nil {
			order = append(order, k)
		}
		kinds[k] = append(kinds[k], hold(n))
	}
	for _, k := range order {
		u.put(kinds[k], now)
	}
}

// failed ends a call that failed; one whose batch the ledger may hold all the same is asked about later.
func (u *upkeep) failed(err error, batchID string) {
	if errors.Is(err, sequence.ErrUnavailable) && !errors.Is(err, sequence.ErrSteppedBack) {
		u.doubtful = append(u.doubtful, batchID)
		return
	}
	u.issuer.batches.settled(batchID, 1)
}

// settleDoubts asks the ledger, once it answers again, what became of those batches.
func (u *upkeep) settleDoubts(ctx context.Context) {
	for len(u.doubtful) > 0 {
		ctx, cancel := context.WithTimeout(ctx, ledgerTimeout)
		numbers, err := u.issuer.ledger.Held(ctx, u.doubtful[0])
		cancel()
		if err != nil {
			return
		}
		u.shelve(u.doubtful[0], numbers)
		u.doubtful = u.doubtful[1:]
	}
}

// claim takes free numbers out of the pool into memory.
func (u *upkeep) claim(ctx context.Context, now time.Time) {
	if now.Sub(u.poolFault) < time.Second {
		return
	}
	rules, left := u.rules.Load(), u.claimed.left()
	if left > u.claimSize.size/2 {
		return
	}
	if u.poolEmpty { // nothing was used up
		u.claimSize = sizing{target: u.claimSize.target}
	}
	want := u.claimSize.next(now, 1, rules.StepMax)
	u.claimedLow.Store(int64(want/2 + 1))
	// What was never handed out may wait in memory as fresh numbers do, so the pool is asked for the
	// place of those too.
	if fresh, cover := max(u.freshSize.size, rules.StepMin), u.freshCover(); cover < fresh/2 {
		want = min(want+fresh-cover, rules.StepMax)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ledgerTimeout) // a stop waits for it
	defer cancel()
	batchID := "claim-" + uuid.NewString()
	u.issuer.batches.opened(batchID, 1)
	numbers, skipped, err := u.issuer.claim(ctx, rules, u.period.Load().name, batchID, max(1, want-left))
	if err != nil {
		u.failed(err, batchID)
		var behind *sequence.SteppedBackError
		if errors.As(err, &behind) {
			u.stop(behind)
			return
		}
		if !u.poolAway.Swap(true) {
			u.issuer.log.WarnContext(ctx, "no numbers from the pool; issuing fresh ones", "biz_type", rules.Name, "error", err)
		}
		u.poolFault = now
		return
	}
	u.poolAway.Store(false)
	u.lastClaim.Store(time.Now().UnixNano())
	u.poolEmpty = len(numbers) == 0
	u.shelve(batchID, numbers)
	u.putBackSkipped(ctx, skipped)
}

// handBackOld returns claims that were not issued within their hold time, and what nobody asks for.
func (u *upkeep) handBackOld(ctx context.Context, now time.Time) {
	idle := now.UnixNano()-u.lastAsked.Load() > int64(freshHold)
	old := append(u.takeReturning(), u.takeClaimed(func(b *block) bool {
		return idle || !b.neverIssued() && now.Sub(b.since) > claimHold
	})...)
	if idle {
		old = append(old, u.takeFresh(func(*block) bool { return true })...)
	}
	if len(old) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, ledgerTimeout)
	defer cancel()
	if err := u.issuer.handBack(ctx, old); err != nil {
		u.issuer.log.WarnContext(ctx, "numbers could not be handed back; trying until they are", "biz_type", u.rules.Load().Name, "count", len(old), "error", err)
		u.giveBackLater(old)
	}
}

// putBackSkipped returns numbers to the pool that somebody was working on when they were claimed.
// One that is skipped again and again has no row at all, and is dropped.
func (u *upkeep) putBackSkipped(ctx context.Context, entries []sequence.PoolEntry) {
	const most = 3
	if u.skipped == nil || len(entries) == 0 {
		u.skipped = map[string]int{}
	}
	back := entries[:0]
	for _, e := range entries {
		if u.skipped[e.SeqNo]++; u.skipped[e.SeqNo] < most {
			back = append(back, e)
		}
	}
	if err := u.issuer.pool.Push(ctx, back); err != nil {
		u.issuer.log.WarnContext(ctx, "numbers could not be put back into the pool", "biz_type", u.rules.Load().Name, "count", len(back), "error", err)
	}
}

// claim pops numbers and claims their rows. A popped number that the ledger does not give is a
// stale hint and dropped, but one that is free and only not due goes back. Skipped ones have no
// row, or a row that somebody is working on.
func (i *Issuer) claim(ctx context.Context, rules *sequence.BizType, period, batchID string, count int) (claimed []sequence.Number, skipped []sequence.PoolEntry, err error) {
	if rules.Reuse != sequence.ReuseSamePeriod {
		period = ""
	}
	popCtx, cancel := context.WithTimeout(ctx, poolTimeout)
	defer cancel()
	entries, err := i.pool.Pop(popCtx, rules.Name, period, count)
	if err != nil || len(entries) == 0 {
		return nil, nil, err
	}
	owner := i.ID()
	commands := make([]sequence.Command, len(entries))
	for j, e := range entries {
		commands[j] = sequence.Command{
			Kind: sequence.Claim, Owner: owner, BatchID: batchID, Ticket: sequence.Ticket{BizType: rules.Name, SeqNo: e.SeqNo},
		}
	}
	decisions, err := i.ledger.Apply(ctx, commands)
	if err != nil {
		// Nothing is known of the claim: the caller asks later. The hints go back for what it did
		// not take; one of a number that it took is dropped at the next claim.
		return nil, nil, errors.Join(err, i.pool.Push(ctx, entries))
	}
	var notDue []sequence.PoolEntry
	for j, d := range decisions {
		switch d.Outcome {
		case sequence.OutcomeClaimed:
			claimed = append(claimed, d.Number)
		case sequence.OutcomeNotDue:
			notDue = append(notDue, d.Pool)
		case sequence.OutcomeNotFound:
			skipped = append(skipped, entries[j])
		default:
		}
	}
	i.metrics.claimed(rules.Name, len(claimed), len(entries)-len(claimed))
	if err := i.pool.Push(ctx, notDue); err != nil {
		i.log.WarnContext(ctx, "numbers that are not due could not be put back into the pool", "biz_type", rules.Name, "count", len(notDue), "error", err)
	}
	return claimed, skipped, nil
}

// handBack returns held numbers to the pool. In the ledger they are free when it returns nil; the
// pool learns of them where it can.
func (i *Issuer) handBack(ctx context.Context, numbers []held) error {
	commands := make([]sequence.Command, len(numbers))
	for j, h := range numbers {
		n := h.number
		commands[j] = sequence.Command{
			Kind: sequence.HandBack, Owner: n.Owner, BatchID: n.BatchID, Ticket: sequence.Ticket{BizType: n.BizType, SeqNo: n.SeqNo},
		}
	}
	decisions, err := i.ledger.Apply(ctx, commands)
	if err != nil {
		return err
	}
	free := make([]sequence.PoolEntry, 0, len(decisions))
	for j, d := range decisions {
		i.batches.settled(commands[j].BatchID, 1)
		if d.Outcome == sequence.OutcomeHandedBack {
			free = append(free, d.Pool)
		}
	}
	if err := i.pool.Push(ctx, free); err != nil {
		i.log.WarnContext(ctx, "numbers that were handed back are not in the pool yet", "count", len(free), "error", err)
	}
	return nil
}
