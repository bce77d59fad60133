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
	// freshDepth is how long the fresh numbers in memory last at the present rate.
	freshDepth = 10 * time.Second
	// claimDepth is how long the claimed ones do.
	claimDepth = time.Second
	// claimHold is how long a claimed number may wait in memory: a late confirm waits for it.
	claimHold = 2 * time.Second
	// rulesEvery is how often the biz type's settings are read again while it is in use.
	rulesEvery = 2 * time.Second
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
	u := upkeep{buffer: b, began: time.Now(), rulesRead: time.Now()}
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
	began     time.Time
	issued    int64   // at the last round
	rate      float64 // numbers per second, smoothed
	rulesRead time.Time
	poolFault time.Time      // when the pool last failed
	doubtful  []string       // batches whose allocation or claim may have happened: its answer was lost
	skipped   map[string]int // free numbers that somebody was working on when they were claimed: how often
}

// round measures the rate, hands back claims that waited too long, and refills what is low.
func (u *upkeep) round(ctx context.Context) error {
	now := time.Now()
	u.measure(now)
	u.dropOthers(u.issuer.ID()) // a call under way may have brought what an earlier lease held
	u.settleDoubts(ctx)
	u.handBackOldClaims(ctx, now)
	if now.UnixNano()-u.lastAsked.Load() > int64(idleAfter) {
		return u.lastFault()
	}
	u.readRules(ctx, now)
	u.claim(ctx, now)
	return u.allocate(ctx)
}

// measure smooths the rate over about a second.
func (u *upkeep) measure(now time.Time) {
	elapsed := now.Sub(u.began).Seconds()
	if elapsed < upkeepEvery.Seconds()/2 {
		return
	}
	issued := u.issuedClaimed.Load() + u.issuedFresh.Load()
	present := float64(issued-u.issued) / elapsed
	weight := min(1, elapsed)
	u.rate += weight * (present - u.rate)
	u.issued, u.began = issued, now
}

func (u *upkeep) readRules(ctx context.Context, now time.Time) {
	if now.Sub(u.rulesRead) < rulesEvery {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, ledgerTimeout)
	defer cancel()
	rules, err := u.issuer.ledger.BizType(ctx, u.rules.Load().Name)
	if err != nil {
		u.issuer.log.DebugContext(ctx, "the settings could not be read again", "biz_type", u.rules.Load().Name, "error", err)
		return
	}
	u.rules.Store(&rules)
	u.rulesRead = now
}

// allocate brings the fresh numbers up to what the rate asks for, at least stepMin.
func (u *upkeep) allocate(ctx context.Context) error {
	rules := u.rules.Load()
	want := min(max(int64(u.rate*freshDepth.Seconds()), int64(rules.StepMin)), int64(rules.StepMax))
	u.lowWater.Store(max(1, want/2))
	left := u.freshLeft.Load()
	if left >= max(1, want/2) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ledgerTimeout) // a stop waits for it
	defer cancel()
	count := min(max(want-left, int64(rules.StepMin)), int64(rules.StepMax))
	batchID := "seg-" + uuid.NewString()
	numbers, err := u.issuer.ledger.Allocate(ctx, rules.Name, u.issuer.ID(), batchID, int(count))
	if err != nil {
		u.doubt(err, batchID)
		if u.lastFault() == nil {
			u.issuer.log.WarnContext(ctx, "no fresh numbers", "biz_type", rules.Name, "left", left, "error", err)
		}
		if errors.Is(err, sequence.ErrLeaseOver) {
			return &sequence.UnavailableError{What: "this process's lease is over", Cause: err}
		}
		return err
	}
	u.shelve(numbers)
	return nil
}

// shelve puts held numbers where they belong.
func (u *upkeep) shelve(numbers []sequence.Number) {
	switch {
	case len(numbers) == 0:
	case numbers[0].State == sequence.Replayed:
		u.claimed.put(newBlock(numbers, time.Now()))
	default:
		u.freshLeft.Add(int64(len(numbers)))
		u.fresh.put(newBlock(numbers, time.Now()))
	}
}

// doubt remembers a batch that the ledger may hold for this issuer although the call failed.
func (u *upkeep) doubt(err error, batchID string) {
	if errors.Is(err, sequence.ErrUnavailable) {
		u.doubtful = append(u.doubtful, batchID)
	}
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
		u.shelve(numbers)
		u.doubtful = u.doubtful[1:]
	}
}

// claim takes free numbers out of the pool into memory.
func (u *upkeep) claim(ctx context.Context, now time.Time) {
	if now.Sub(u.poolFault) < time.Second {
		return
	}
	rules := u.rules.Load()
	want := min(max(int(u.rate*claimDepth.Seconds()), 1), rules.StepMax)
	left := u.claimed.left()
	if left > want/2 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), ledgerTimeout) // a stop waits for it
	defer cancel()
	batchID := "claim-" + uuid.NewString()
	numbers, skipped, err := u.issuer.claim(ctx, rules.Name, batchID, want-left)
	if err != nil {
		u.doubt(err, batchID)
		if !u.poolAway.Swap(true) {
			u.issuer.log.WarnContext(ctx, "no numbers from the pool; issuing fresh ones", "biz_type", rules.Name, "error", err)
		}
		u.poolFault = now
		return
	}
	u.poolAway.Store(false)
	u.lastClaim.Store(time.Now().UnixNano())
	u.shelve(numbers)
	u.putBackSkipped(ctx, skipped)
}

// handBackOldClaims returns claims that were not issued within the hold time.
func (u *upkeep) handBackOldClaims(ctx context.Context, now time.Time) {
	old := append(u.takeReturning(), u.claimed.takeWhere(func(b *block) bool { return now.Sub(b.since) > claimHold })...)
	if len(old) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, ledgerTimeout)
	defer cancel()
	if err := u.issuer.handBack(ctx, old); err != nil {
		u.issuer.log.WarnContext(ctx, "claims could not be handed back; trying until they are", "biz_type", u.rules.Load().Name, "count", len(old), "error", err)
		u.mu.Lock()
		defer u.mu.Unlock()
		u.returning = append(u.returning, old...)
	}
}

// putBackSkipped returns numbers to the pool that somebody was working on when they were claimed.
// One that is skipped again and again has no row at all, and is dropped.
func (u *upkeep) putBackSkipped(ctx context.Context, numbers []sequence.Number) {
	const most = 3
	if u.skipped == nil || len(numbers) == 0 {
		u.skipped = map[string]int{}
	}
	back := numbers[:0]
	for _, n := range numbers {
		if u.skipped[n.SeqNo]++; u.skipped[n.SeqNo] < most {
			back = append(back, n)
		}
	}
	if err := u.issuer.pool.Push(ctx, back); err != nil {
		u.issuer.log.WarnContext(ctx, "numbers could not be put back into the pool", "biz_type", u.rules.Load().Name, "count", len(back), "error", err)
	}
}

// claim pops seq nos and claims their rows. A popped number that the ledger does not give is a
// stale hint and dropped, but one that is free and only not due goes back. Skipped ones have no
// row, or a row that somebody is working on.
func (i *Issuer) claim(ctx context.Context, bizType, batchID string, count int) (claimed, skipped []sequence.Number, err error) {
	popCtx, cancel := context.WithTimeout(ctx, poolTimeout)
	defer cancel()
	seqNos, err := i.pool.Pop(popCtx, bizType, count)
	if err != nil || len(seqNos) == 0 {
		return nil, nil, err
	}
	owner := i.ID()
	commands := make([]sequence.Command, len(seqNos))
	for j, seqNo := range seqNos {
		commands[j] = sequence.Command{
			Kind: sequence.Claim, Owner: owner, BatchID: batchID, Ticket: sequence.Ticket{BizType: bizType, SeqNo: seqNo},
		}
	}
	decisions, err := i.ledger.Apply(ctx, commands)
	if err != nil {
		// Nothing is known of the claim: the caller asks later. The hints go back for what it did
		// not take; one of a number that it took is dropped at the next claim.
		back := make([]sequence.Number, len(seqNos))
		for j, seqNo := range seqNos {
			back[j] = sequence.Number{BizType: bizType, SeqNo: seqNo}
		}
		return nil, nil, errors.Join(err, i.pool.Push(ctx, back))
	}
	var notDue []sequence.Number
	for j, d := range decisions {
		switch d.Outcome {
		case sequence.OutcomeClaimed:
			claimed = append(claimed, d.Number)
		case sequence.OutcomeNotDue:
			notDue = append(notDue, d.Number)
		case sequence.OutcomeNotFound:
			skipped = append(skipped, sequence.Number{BizType: bizType, SeqNo: seqNos[j]})
		default:
		}
	}
	i.metrics.claimed(bizType, len(claimed), len(seqNos)-len(claimed))
	if err := i.pool.Push(ctx, notDue); err != nil {
		i.log.WarnContext(ctx, "numbers that are not due could not be put back into the pool", "biz_type", bizType, "count", len(notDue), "error", err)
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
	free := make([]sequence.Number, 0, len(decisions))
	for _, d := range decisions {
		if d.Outcome == sequence.OutcomeHandedBack {
			free = append(free, d.Number)
		}
	}
	if err := i.pool.Push(ctx, free); err != nil {
		i.log.WarnContext(ctx, "numbers that were handed back are not in the pool yet", "count", len(free), "error", err)
	}
	return nil
}
