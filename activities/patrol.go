package activities

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"github.com/lacuna-seq/lacuna/sequence"
)

// Names under which the patrol's activities are registered. They stand in histories.
const (
	RecoverName = "Recover"
	NudgeName   = "Nudge"
	RepoolName  = "Repool"
	PurgeName   = "Purge"
	RetimeName  = "Retime"
	ShiftName   = "Shift"
	GatherName  = "Gather"
	ReleaseName = "Release"
	RestoreName = "Restore"
	FinishName  = "Finish"
	SealName    = "Seal"
)

// Bounds of one round of the patrol. What is left is the next round's.
const (
	patrolIssuers = 100
	patrolPages   = 10
	// nudgesAtOnce keeps the patrol from taking the server away from those who wait for it.
	nudgesAtOnce = 8
	// guessLimit is how long before the record of a hand-out its holder may have spoken: two leases,
	// within which the record was written or its issuer stopped. What came before that was a guess,
	// and settles nothing that somebody was given later.
	guessLimit = 30 * time.Second
)

// PatrolLedger is what the patrol needs of the ledger; db/ledger says what each call means.
type PatrolLedger interface {
	Ledger
	DeadIssuers(ctx context.Context, limit int) ([]sequence.Issuer, error)
	HeldBy(ctx context.Context, issuer string, limit int) ([]sequence.Number, error)
	IssuerRecovered(ctx context.Context, id string) error
	Overdue(ctx context.Context, state sequence.State, after sequence.Number, limit int) ([]sequence.Number, error)
	OverdueTracked(ctx context.Context, state sequence.State, tracked bool, after sequence.Number, limit int) ([]sequence.Number, error)
	OverdueTaken(ctx context.Context, state sequence.State, after sequence.Number, limit int) ([]sequence.Number, error)
	LastOutageEnd(ctx context.Context) (time.Time, error)
	Free(ctx context.Context, bizType string, after sequence.Number, until time.Time, limit int) ([]sequence.Number, error)
	BizTypes(ctx context.Context) ([]sequence.BizType, error)
	PurgeKeys(ctx context.Context, limit int) (int, error)
	PurgeDelays(ctx context.Context, limit int) (int, error)
	Now(ctx context.Context) (time.Time, error)
	RetimeDue(ctx context.Context) ([]sequence.BizType, error)
	Waiting(ctx context.Context, bizType string, state sequence.State, after sequence.Number, limit int) ([]sequence.Number, error)
	Retimed(ctx context.Context, bizType string, revision int64) error
	OnHold(ctx context.Context) (bool, error)
	Hold(ctx context.Context, name, reason string, lasts time.Duration) error
	Outages(ctx context.Context) ([]sequence.Outage, error)
	EndedIn(ctx context.Context, outage sequence.Outage, state sequence.State, limit int) ([]sequence.Number, error)
	OutageShifted(ctx context.Context, id int64) error
	PatrolFinished(ctx context.Context) error
	OpenBlocks(ctx context.Context, limit int) (int, error)
	DueBlocks(ctx context.Context, limit int) (due []sequence.Block, looked int, err error)
	SealNow(ctx context.Context, b sequence.Block) (bool, error)
	ArchiveNext(ctx context.Context) (moved int, ok bool, err error)
}

// Runs is what the patrol needs of Temporal.
type Runs interface {
	// Check wakes the run of the number's present life to look at its row, and starts it if it is
	// missing. false where it has closed.
	Check(ctx context.Context, n sequence.Number) (open bool, err error)
	// Open reports whether the number's present life has a run that is not closed. It starts none.
	Open(ctx context.Context, n sequence.Number) (bool, error)
	// CompensationOpen reports whether there is a Compensation of that workflow ID that is not closed.
	CompensationOpen(ctx context.Context, workflowID string) (bool, error)
	// Commands reads every confirm and abandon that the run of the number's present life was sent,
	// oldest first: a run that was terminated may have accepted some that it never read.
	Commands(ctx context.Context, n sequence.Number) ([]ToldCommand, error)
}

// ToldCommand is a command of a run's history and when it came, by Temporal's clock.
type ToldCommand struct {
	Command
	At time.Time
}

// PatrolPool is what the patrol needs of the pool.
type PatrolPool interface {
	Pool
	// Present says of each number, in its place, whether its pool has it.
	Present(ctx context.Context, entries []sequence.PoolEntry) ([]bool, error)
	Mark(ctx context.Context) (string, error)
	SwapMark(ctx context.Context, was, is string) (bool, error)
}

// Patrol is the activities of the net under every number.
type Patrol struct {
	ledger PatrolLedger
	pool   PatrolPool
	runs   Runs
	log    *slog.Logger
	batch  int         // numbers read and written at a time
	apart  atomic.Bool // the clocks were too far apart when they were last compared
}

// DefaultPatrolBatch is how many numbers the patrol reads and writes at a time.
const DefaultPatrolBatch = 500

// NewPatrol makes the patrol's activities. batch is how many numbers they read and write at a time, from 1 to
// DefaultPatrolBatch.
func NewPatrol(ledger PatrolLedger, pool PatrolPool, runs Runs, log *slog.Logger, batch int) *Patrol {
	return &Patrol{batch: batch, ledger: ledger, pool: pool, runs: runs, log: log.With("component", "patrol")}
}

// Register adds the activities to a worker under their names.
func (p *Patrol) Register(r worker.ActivityRegistry) {
	r.RegisterActivityWithOptions(p.Shift, activity.RegisterOptions{Name: ShiftName})
	r.RegisterActivityWithOptions(p.Recover, activity.RegisterOptions{Name: RecoverName})
	r.RegisterActivityWithOptions(p.Release, activity.RegisterOptions{Name: ReleaseName})
	r.RegisterActivityWithOptions(p.Gather, activity.RegisterOptions{Name: GatherName})
	r.RegisterActivityWithOptions(p.Nudge, activity.RegisterOptions{Name: NudgeName})
	r.RegisterActivityWithOptions(p.Finish, activity.RegisterOptions{Name: FinishName})
	r.RegisterActivityWithOptions(p.Restore, activity.RegisterOptions{Name: RestoreName})
	r.RegisterActivityWithOptions(p.Repool, activity.RegisterOptions{Name: RepoolName})
	r.RegisterActivityWithOptions(p.Retime, activity.RegisterOptions{Name: RetimeName})
	r.RegisterActivityWithOptions(p.Purge, activity.RegisterOptions{Name: PurgeName})
	r.RegisterActivityWithOptions(p.Seal, activity.RegisterOptions{Name: SealName})
}

// RecoverResult counts what a round recovered.
type RecoverResult struct {
	Issuers int `json:"issuers"`
	Numbers int `json:"numbers"`
}

// Recover sees to the numbers of issuers whose lease is over. Each may have been handed out, so each
// begins the life in which its holder, if there is one, can confirm; if nobody does, it times out
// and comes back. What was handed to nobody for certain is free at once.
func (p *Patrol) Recover(ctx context.Context) (RecoverResult, error) {
	defer beat(ctx)()
	var result RecoverResult
	dead, err := p.ledger.DeadIssuers(ctx, patrolIssuers)
	if err != nil {
		return result, ledgerAway(err)
	}
	for _, issuer := range dead {
		n, err := p.recoverIssuer(ctx, issuer)
		result.Numbers += n
		if err != nil {
			return result, ledgerAway(err)
		}
		p.log.WarnContext(ctx, "an issuer's lease was over; what it held begins the life in which it may have been handed out",
			"issuer", issuer.ID, "numbers", n)
		result.Issuers++
	}
	return result, nil
}

func (p *Patrol) recoverIssuer(ctx context.Context, issuer sequence.Issuer) (numbers int, err error) {
	for {
		held, err := p.ledger.HeldBy(ctx, issuer.ID, p.batch)
		if err != nil {
			return numbers, err
		}
		if len(held) == 0 {
			return numbers, p.ledger.IssuerRecovered(ctx, issuer.ID)
		}
		commands := make([]sequence.Command, len(held))
		for i, n := range held {
			commands[i] = sequence.Command{Kind: sequence.Recover, Ticket: n.Ticket(), Owner: issuer.ID, Lease: issuer.Lease}
		}
		decisions, err := p.ledger.Apply(ctx, commands)
		if err != nil {
			return numbers, err
		}
		var free []sequence.PoolEntry
		for _, d := range decisions {
			switch d.Outcome {
			case sequence.OutcomeRecovered, sequence.OutcomeRetired:
				numbers++
			case sequence.OutcomeHandedBack:
				numbers++
				free = append(free, d.Pool)
			default:
			}
		}
		if err := p.pool.Push(ctx, free); err != nil {
			p.log.WarnContext(ctx, "recovered numbers that are free are not in the pool yet", "count", len(free), "error", err)
		}
	}
}

// maxClosed bounds the numbers that one round hands to Compensation, and compensationSize those of one
// run of it.
const (
	maxClosed        = 4 * compensationSize
	compensationSize = 2_000
	// nudgeTime is when a round wakes nobody any more. Rounds do not overlap, and the others' steps wait.
	nudgeTime = 10 * time.Second
)

// NudgeResult counts what a round woke.
type NudgeResult struct {
	// OnHold: no deadline is acted on now, and nobody was woken.
	OnHold bool `json:"onHold,omitempty"`
	// Woken runs, or started because they were missing.
	Woken int `json:"woken"`
	// Failed could not be woken, or not in time; the next round tries again.
	Failed int `json:"failed,omitempty"`
	// Closed are the numbers whose runs have closed all the same: somebody terminated them, or they were
	// dead letters and are requeued. They are Compensation's, a batch of one biz type each.
	Closed []Numbers `json:"closed,omitempty"`
}

// Nudge wakes the run of every number that has one and whose deadline passed without its seeing to it.
// Those whose run has closed it only finds.
func (p *Patrol) Nudge(ctx context.Context) (NudgeResult, error) {
	defer beat(ctx)()
	var result NudgeResult
	var closed []sequence.Number
	var err error
	if result.OnHold, err = p.ledger.OnHold(ctx); err != nil {
		return result, ledgerAway(err)
	}
	if result.OnHold {
		return result, nil
	}
	end := time.Now().Add(nudgeTime)
	for _, state := range []sequence.State{sequence.Allocated, sequence.Abandoned} {
		var after sequence.Number
		for range patrolPages {
			overdue, err := p.ledger.OverdueTracked(ctx, state, true, after, p.batch)
			if err != nil {
				return result, ledgerAway(err)
			}
			found, failed, err := p.nudge(ctx, overdue, end)
			if err != nil && failed == len(overdue) && len(closed) == 0 { // Temporal is away
				return result, err
			}
			if err != nil {
				p.log.WarnContext(ctx, "numbers could not be woken; the next round tries again", "numbers", failed, "error", err)
			}
			result.Woken += len(overdue) - len(found) - failed
			result.Failed += failed
			closed = append(closed, found...)
			if len(overdue) < p.batch || len(closed) >= maxClosed || failed == len(overdue) || time.Now().After(end) {
				break
			}
			after = overdue[len(overdue)-1]
		}
	}
	if len(closed) > 0 {
		p.log.WarnContext(ctx, "numbers are overdue although their runs have closed; a Compensation sees to them", "numbers", len(closed))
	}
	result.Closed = batched(closed[:min(len(closed), maxClosed)])
	return result, nil
}

// nudge wakes one page until the time is over, a few at a time, and gives those whose run has closed. One that
// cannot be woken keeps no other from being; err is one of those.
func (p *Patrol) nudge(ctx context.Context, numbers []sequence.Number, end time.Time) (closed []sequence.Number, failed int, err error) {
	var mu sync.Mutex
	_ = atOnce(nudgesAtOnce, numbers, func(n sequence.Number) error {
		if time.Now().After(end) {
			mu.Lock()
			defer mu.Unlock()
			failed++
			return nil
		}
		open, checkErr := p.runs.Check(ctx, n)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case checkErr != nil:
			failed++
			err = fmt.Errorf("wake %s: %w", n.Ticket(), checkErr)
		case !open:
			closed = append(closed, n)
		}
		return nil
	})
	return closed, failed, err
}

// batched sorts numbers into batches of one biz type, at most compensationSize each.
func batched(numbers []sequence.Number) []Numbers {
	var batches []Numbers
	last := map[string]int{} // the batch of a biz type that is being filled
	for _, n := range numbers {
		i, ok := last[n.BizType]
		if !ok || len(batches[i].Tickets) == compensationSize {
			i, batches = len(batches), append(batches, Numbers{BizType: n.BizType})
			last[n.BizType] = i
		}
		batches[i].Tickets = append(batches[i].Tickets, n.Ticket().String())
	}
	return batches
}

// PurgeResult counts what a round deleted.
type PurgeResult struct {
	Keys   int `json:"keys"`
	Delays int `json:"delays,omitempty"`
}

// Purge deletes idempotency keys that have expired, and delays of days that are not kept any more.
func (p *Patrol) Purge(ctx context.Context) (PurgeResult, error) {
	defer beat(ctx)()
	var result PurgeResult
	var err error
	if result.Keys, err = p.purge(ctx, p.ledger.PurgeKeys); err != nil {
		return result, ledgerAway(err)
	}
	if result.Delays, err = p.purge(ctx, p.ledger.PurgeDelays); err != nil {
		return result, ledgerAway(err)
	}
	return result, nil
}

// purge deletes some pages.
func (p *Patrol) purge(ctx context.Context, from func(context.Context, int) (int, error)) (deleted int, err error) {
	for range patrolPages {
		n, err := from(ctx, p.batch)
		if err != nil {
			return deleted, err
		}
		if deleted += n; n < p.batch {
			break
		}
	}
	return deleted, nil
}

// Finish notes that a round is over in which no step failed: processes that wait for the patrol see it.
func (p *Patrol) Finish(ctx context.Context) error {
	return wrapAway(p.ledger.PatrolFinished(ctx))
}
