package activities

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/lacuna-seq/lacuna/sequence"
)

const (
	// ledgerRetry is how often Replay asks a ledger that is away.
	ledgerRetry = time.Second
	// heartbeat is a third of the shortest time after which a silent worker counts as dead.
	heartbeat = 3 * time.Second
)

// ReplayInput asks to return one life of a number to the pool.
type ReplayInput struct {
	Ticket string `json:"ticket"`
	// Probed: the business was asked, and does not hold the number.
	Probed bool `json:"probed,omitempty"`
}

// ReplayResult says what became of it.
type ReplayResult struct {
	// Outcome is REPLAYABLE or ALREADY_REPLAYABLE (it is in the pool), NOT_DUE, UNPROBED, RETIRED,
	// SUPERSEDED or NOT_FOUND.
	Outcome sequence.Outcome `json:"outcome"`
	State   sequence.State   `json:"state"`
	// Wait is what is left of the window where Outcome is NOT_DUE.
	Wait   time.Duration `json:"wait"`
	Reason string        `json:"reason,omitempty"`
}

// Replay moves the row to REPLAYABLE and pushes the number to the pool. An attempt that finds the
// row REPLAYABLE in this life pushes all the same: an earlier attempt may have died between the
// two. An attempt fails only by the push, and is repeated after the pauses of its biz type; a ledger that
// is away is waited for, with heartbeats.
func (a *Activities) Replay(ctx context.Context, in ReplayInput) (ReplayResult, error) {
	ticket, err := sequence.ParseTicket(in.Ticket)
	if err != nil {
		return ReplayResult{}, invalidInput(err)
	}
	defer beat(ctx)()
	d, err := a.applyWhenBack(ctx, sequence.Command{Kind: sequence.Replay, Ticket: ticket, Probed: in.Probed})
	if err != nil {
		return ReplayResult{}, err
	}
	if d.Outcome == sequence.OutcomeReplayable || d.Outcome == sequence.OutcomeAlreadyReplayable {
		if _, err := a.push.Do(ctx, d.Pool); err != nil {
			return ReplayResult{}, onLadder(ctx, d.RetryDelays, ErrorPoolAway, err)
		}
	}
	return ReplayResult{Outcome: d.Outcome, State: d.Number.State, Wait: d.Wait, Reason: d.Number.Reason}, nil
}

// applyWhenBack applies the command as soon as the ledger answers.
func (a *Activities) applyWhenBack(ctx context.Context, c sequence.Command) (sequence.Decision, error) {
	tick := time.NewTicker(ledgerRetry)
	defer tick.Stop()
	for {
		decisions, err := a.apply.Do(ctx, c)
		if err == nil {
			return decisions[0], nil
		}
		if !errors.Is(err, sequence.ErrUnavailable) {
			return sequence.Decision{}, ledgerAway(err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return sequence.Decision{}, ledgerAway(errors.Join(err, context.Cause(ctx)))
		}
	}
}

// beat heartbeats until stop is called, also while a joined call hangs.
func beat(ctx context.Context) (stop func()) {
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(heartbeat)
		defer tick.Stop()
		for { // the first beat can wait: most attempts are over long before it
			select {
			case <-tick.C:
				activity.RecordHeartbeat(ctx)
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}
