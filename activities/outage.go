package activities

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/lacuna-seq/lacuna/sequence"
)

const (
	// shiftTime is how long a round goes on with it; what is left stays on hold until the next.
	shiftTime = time.Minute
	// maxClockGap is how far the ledger's clock and Temporal's may be apart: timers are Temporal's and
	// deadlines the ledger's, and of two that differ at least one is wrong.
	maxClockGap = 5 * time.Second
	// clockHold outlasts the pause between two rounds; each renews it.
	clockHold = 30 * time.Second
	// holdOfClocks names it.
	holdOfClocks = "CLOCKS"
)

// ShiftResult counts what a round moved.
type ShiftResult struct {
	Outages int `json:"outages,omitempty"`
	Numbers int `json:"numbers,omitempty"`
	// Clocks is how far the ledger's clock is ahead of Temporal's, where that is too far: all deadlines are
	// on hold.
	Clocks time.Duration `json:"clocks,omitempty"`
}

// Shift looks whether deadlines may be acted on. It compares the ledger's clock with Temporal's, and gives
// the numbers whose deadline ended in an outage their time again: silence counts only while callers could
// speak. Until all are moved no deadline is acted on.
func (p *Patrol) Shift(ctx context.Context) (ShiftResult, error) {
	defer beat(ctx)()
	var result ShiftResult
	if err := p.compareClocks(ctx, &result); err != nil {
		return result, err
	}
	outages, err := p.ledger.Outages(ctx)
	if err != nil {
		return result, ledgerAway(err)
	}
	end := time.Now().Add(shiftTime)
	for _, outage := range outages {
		for _, state := range []sequence.State{sequence.Allocated, sequence.Abandoned} {
			if all, err := p.shift(ctx, outage, state, end, &result); err != nil || !all {
				return result, err
			}
		}
		if err := p.ledger.OutageShifted(ctx, outage.ID); err != nil {
			return result, ledgerAway(err)
		}
		p.log.WarnContext(ctx, "deadlines that ended in an outage run again from its end", "from", outage.From, "to", outage.To)
		result.Outages++
	}
	return result, nil
}

// shift reports whether it came to the end.
func (p *Patrol) shift(ctx context.Context, outage sequence.Outage, state sequence.State, end time.Time, result *ShiftResult) (all bool, err error) {
	for time.Now().Before(end) {
		numbers, err := p.ledger.EndedIn(ctx, outage, state, p.batch)
		if err != nil {
			return false, ledgerAway(err)
		}
		if len(numbers) == 0 {
			return true, nil
		}
		commands := make([]sequence.Command, len(numbers))
		for i, n := range numbers {
			commands[i] = sequence.Command{Kind: sequence.Shift, Ticket: n.Ticket(), Outage: outage}
		}
		decisions, err := p.ledger.Apply(ctx, commands)
		if err != nil {
			return false, ledgerAway(err)
		}
		for _, d := range decisions {
			if d.Outcome == sequence.OutcomeShifted {
				result.Numbers++
			}
		}
	}
	return false, nil
}

// compareClocks puts all deadlines on hold while the clocks are too far apart in two rounds in a row.
// Temporal's is the time at which it gave this attempt out: a worker that was slow to begin looks, for one
// round, as if the ledger's were ahead.
func (p *Patrol) compareClocks(ctx context.Context, result *ShiftResult) error {
	begun := time.Now()
	shows, err := p.ledger.Now(ctx)
	if err != nil {
		return ledgerAway(err)
	}
	gap := clockGap(shows, activity.GetInfo(ctx).StartedTime, time.Since(begun))
	apart := gap.Abs() > maxClockGap
	if before := p.apart.Swap(apart); !apart || !before {
		return nil
	}
	result.Clocks = gap
	reason := fmt.Sprintf("the ledger's clock is %s ahead of Temporal's", gap.Round(time.Millisecond))
	p.log.ErrorContext(ctx, "no deadline is acted on until the clocks agree: set the clocks of both servers right", "reason", reason)
	if err := p.ledger.Hold(ctx, holdOfClocks, reason, clockHold); err != nil {
		return ledgerAway(err)
	}
	return nil
}

// clockGap is the least by which the one clock can be ahead of the other (below 0: behind), when the
// answer took as long as took at most.
func clockGap(ledger, temporal time.Time, took time.Duration) time.Duration {
	gap := ledger.Sub(temporal)
	switch {
	case gap > took:
		return gap - took
	case gap < 0:
		return gap
	}
	return 0
}
