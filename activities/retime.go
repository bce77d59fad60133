package activities

import (
	"context"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// RetimeResult counts what a round gave another deadline.
type RetimeResult struct {
	Numbers int `json:"numbers"`
}

// Retime gives the waiting numbers of a biz type whose window or confirm timeout was changed the deadlines
// of the present rules. What is left of a very long list is the next round's, from its beginning: a number
// that is right already costs a read and no lock.
func (p *Patrol) Retime(ctx context.Context) (RetimeResult, error) {
	var result RetimeResult
	defer beat(ctx)()
	types, err := p.ledger.RetimeDue(ctx)
	if err != nil {
		return result, ledgerAway(err)
	}
	end := time.Now().Add(retimeTime)
	for _, b := range types {
		for _, state := range []sequence.State{sequence.Allocated, sequence.Abandoned} {
			if all, err := p.retime(ctx, b, state, end, &result); err != nil || !all {
				return result, err
			}
		}
		if err := p.ledger.Retimed(ctx, b.Name, b.Revision); err != nil {
			return result, ledgerAway(err)
		}
	}
	return result, nil
}

// retimeTime is how long a round goes on with it: recovery and wakes wait for the next round.
const retimeTime = 20 * time.Second

// retime reports whether it came to the end.
func (p *Patrol) retime(ctx context.Context, b sequence.BizType, state sequence.State, end time.Time, result *RetimeResult) (all bool, err error) {
	now, err := p.ledger.Now(ctx)
	if err != nil {
		return false, ledgerAway(err)
	}
	var after sequence.Number
	for time.Now().Before(end) {
		waiting, err := p.ledger.Waiting(ctx, b.Name, state, after, p.batch)
		if err != nil {
			return false, ledgerAway(err)
		}
		var commands []sequence.Command
		for _, n := range waiting {
			c := sequence.Command{Kind: sequence.Retime, Ticket: n.Ticket()}
			if sequence.Decide(b, n, c, now).Changed {
				commands = append(commands, c)
			}
		}
		decisions, err := p.ledger.Apply(ctx, commands)
		if err != nil {
			return false, ledgerAway(err)
		}
		for _, d := range decisions {
			if d.Outcome == sequence.OutcomeRetimed {
				result.Numbers++
			}
		}
		if len(waiting) < p.batch {
			return true, nil
		}
		after = waiting[len(waiting)-1]
	}
	return false, nil
}
