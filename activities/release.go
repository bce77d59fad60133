package activities

import (
	"context"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// releaseTime is when a round looks at no further page: while the pool is away, hundreds of thousands of
// numbers may be in the hands of Compensations that do their work.
const releaseTime = 5 * time.Second

// ReleaseResult counts what a round freed.
type ReleaseResult struct {
	// Numbers of Compensations that have gone.
	Numbers int `json:"numbers"`
	// Takers are those Compensations.
	Takers int `json:"takers,omitempty"`
}

// Release frees the overdue numbers that a Compensation has taken on and that it will not finish: its run was
// terminated, or Temporal lost it. Temporal is asked once for each Compensation.
func (p *Patrol) Release(ctx context.Context) (ReleaseResult, error) {
	defer beat(ctx)()
	var result ReleaseResult
	open := make(map[string]bool) // by workflow ID
	end := time.Now().Add(releaseTime)
	for _, state := range []sequence.State{sequence.Abandoned, sequence.Allocated} {
		var after sequence.Number
		for time.Now().Before(end) {
			page, err := p.ledger.OverdueTaken(ctx, state, after, p.batch)
			if err != nil {
				return result, ledgerAway(err)
			}
			var commands []sequence.Command
			for _, n := range page {
				if n.TakenBy == "" { // by a program that did not say so yet
					continue
				}
				alive, asked := open[n.TakenBy]
				if !asked {
					if alive, err = p.runs.CompensationOpen(ctx, n.TakenBy); err != nil {
						return result, err
					}
					open[n.TakenBy] = alive
					if !alive {
						result.Takers++
					}
				}
				if !alive {
					commands = append(commands, sequence.Command{Kind: sequence.Release, Ticket: n.Ticket(), Taker: n.TakenBy})
				}
			}
			decisions, err := p.ledger.Apply(ctx, commands)
			if err != nil {
				return result, ledgerAway(err)
			}
			for _, d := range decisions {
				if d.Outcome == sequence.OutcomeReleased {
					result.Numbers++
				}
			}
			if len(page) < p.batch {
				break
			}
			after = page[len(page)-1]
		}
	}
	if result.Numbers > 0 {
		p.log.WarnContext(ctx, "the Compensations of overdue numbers have gone; others see to them", "numbers", result.Numbers, "compensations", result.Takers)
	}
	return result, nil
}
