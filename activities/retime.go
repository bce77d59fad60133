package activities

import (
	"context"

	"go.temporal.io/sdk/activity"

	"github.com/lacuna-seq/lacuna/sequence"
)

// RetimeResult counts what a round gave another deadline.
type RetimeResult struct {
	Numbers int `json:"numbers"`
}

// Retime gives the waiting numbers of a biz type whose window or confirm timeout was changed the deadlines
// of the present rules. What is left of a very long list is the next round's, from its beginning: a number
// that is right already costs no write.
func (p *Patrol) Retime(ctx context.Context) (RetimeResult, error) {
	var result RetimeResult
	types, err := p.ledger.RetimeDue(ctx)
	if err != nil {
		return result, ledgerAway(err)
	}
	for _, b := range types {
		for _, state := range []sequence.State{sequence.Allocated, sequence.Abandoned} {
			if err := p.retime(ctx, b.Name, state, &result); err != nil {
				return result, err
			}
		}
		if err := p.ledger.Retimed(ctx, b.Name, b.Revision); err != nil {
			return result, ledgerAway(err)
		}
	}
	return result, nil
}

func (p *Patrol) retime(ctx context.Context, bizType string, state sequence.State, result *RetimeResult) error {
	var after sequence.Number
	for {
		activity.RecordHeartbeat(ctx)
		waiting, err := p.ledger.Waiting(ctx, bizType, state, after, patrolBatch)
		if err != nil {
			return ledgerAway(err)
		}
		commands := make([]sequence.Command, len(waiting))
		for i, n := range waiting {
			commands[i] = sequence.Command{Kind: sequence.Retime, Ticket: n.Ticket()}
		}
		decisions, err := p.ledger.Apply(ctx, commands)
		if err != nil {
			return ledgerAway(err)
		}
		for _, d := range decisions {
			if d.Outcome == sequence.OutcomeRetimed {
				result.Numbers++
			}
		}
		if len(waiting) < patrolBatch {
			return nil
		}
		after = waiting[len(waiting)-1]
	}
}
