package activities

import (
	"context"

	"github.com/lacuna-seq/lacuna/sequence"
)

// RepoolResult counts what a round looked for in the pool.
type RepoolResult struct {
	Numbers int `json:"numbers"`
	// Absent: the pool had lost them, and they were pushed again.
	Absent int `json:"absent,omitempty"`
	// Dead: the pool had lost them so often in a row that they wait for a person.
	Dead int `json:"dead,omitempty"`
}

// Repool looks in the pool for numbers that have been free for a while, and pushes those that it has lost. The
// push comes before the row's write: a number whose check was moved without it would wait for the next one.
// What may not be issued any more, or is lost again and again, leaves the pool.
func (p *Patrol) Repool(ctx context.Context) (RepoolResult, error) {
	defer beat(ctx)()
	var result RepoolResult
	defer func() {
		if result.Absent > 0 {
			p.log.WarnContext(ctx, "the pool had lost free numbers; they were pushed again",
				"looked_for", result.Numbers, "lost", result.Absent, "dead", result.Dead)
		}
	}()
	for range patrolPages {
		free, err := p.ledger.Overdue(ctx, sequence.Replayable, sequence.Number{}, p.batch)
		if err != nil {
			return result, ledgerAway(err)
		}
		if len(free) == 0 {
			break
		}
		if err := p.repool(ctx, free, &result); err != nil {
			return result, err
		}
		if len(free) < p.batch {
			break
		}
	}
	return result, nil
}

func (p *Patrol) repool(ctx context.Context, free []sequence.Number, result *RepoolResult) error {
	r, err := p.rules(ctx)
	if err != nil {
		return err
	}
	entries := r.entries(free)
	present, err := p.pool.Present(ctx, entries)
	if err != nil {
		return poolAway(err)
	}
	commands := make([]sequence.Command, len(free))
	var absent []sequence.PoolEntry
	for i, n := range free {
		commands[i] = sequence.Command{Kind: sequence.Repool, Ticket: n.Ticket(), Absent: !present[i]}
		if !present[i] {
			absent = append(absent, entries[i])
		}
	}
	if err := p.pool.Push(ctx, absent); err != nil {
		return poolAway(err)
	}
	decisions, err := p.ledger.Apply(ctx, commands)
	if err != nil {
		return ledgerAway(err)
	}
	var gone []sequence.PoolEntry
	for _, d := range decisions {
		switch d.Outcome {
		case sequence.OutcomeDead:
			result.Dead++
			gone = append(gone, d.Pool)
		case sequence.OutcomeRetired:
			gone = append(gone, d.Pool)
		default:
		}
	}
	result.Numbers += len(free)
	result.Absent += len(absent)
	forget(ctx, p.pool, p.log, gone)
	return nil
}
