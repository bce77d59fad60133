package issuer

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/lacuna-seq/lacuna/internal/wait"
	"github.com/lacuna-seq/lacuna/sequence"
)

// Bounds of the commands that were answered ACCEPTED and are not carried out yet.
const (
	maxAccepted = 10_000
	repeatEvery = time.Second
)

// repeater repeats accepted commands to the ledger until it answers. Temporal holds them too; the
// repetition makes the ledger know them as soon as it is back.
type repeater struct {
	issuer *Issuer

	mu       sync.Mutex
	commands []sequence.Command
}

func newRepeater(i *Issuer) *repeater {
	r := &repeater{issuer: i}
	i.upkeep.Go(r.work)
	return r
}

func (r *repeater) hasRoom() bool { return r.waiting() < maxAccepted }

func (r *repeater) waiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.commands)
}

func (r *repeater) add(c sequence.Command) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.commands = append(r.commands, c)
}

func (r *repeater) work() {
	ctx := r.issuer.background
	for wait.For(ctx, repeatEvery) == nil {
		for batch := r.next(); len(batch) > 0 && r.repeat(ctx, batch); batch = r.next() {
		}
	}
}

func (r *repeater) next() []sequence.Command {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.commands[:min(len(r.commands), recordBatch)])
}

// repeat carries a batch out and forgets it; an undecided command is asked again at the next turn.
func (r *repeater) repeat(ctx context.Context, batch []sequence.Command) bool {
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	decisions, err := r.issuer.ledger.Apply(ctx, batch)
	if err != nil {
		return false
	}
	var again []sequence.Command
	for j, d := range decisions {
		if d.Outcome == sequence.OutcomePending {
			again = append(again, batch[j])
			continue
		}
		if err := sequence.Answer(batch[j], d); err != nil {
			r.issuer.log.Error("a command that was accepted while the ledger was away could not be carried out", "ticket", batch[j].Ticket.String(), "error", err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.commands = append(r.commands[len(batch):], again...)
	return len(again) < len(batch)
}
