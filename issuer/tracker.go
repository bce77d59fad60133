package issuer

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lacuna-seq/lacuna/internal/wait"
	"github.com/lacuna-seq/lacuna/sequence"
)

// Bounds of the numbers that are to have runs of their own later.
const (
	// maxUntracked is a rush of ten seconds at 10,000/s; what does not fit is the patrol's.
	maxUntracked = 131_072
	trackEvery   = 250 * time.Millisecond
	// calm is how many starts and wakes may wait when more are added: a server that is behind gets none.
	calm = 256
)

// tracker gives numbers a run of their own that were handed out without one: under the policy UNSETTLED
// those that are not settled soon, and what was left out in a storm once it is over. It is only a hint: what
// it loses the patrol sees to when it is overdue.
type tracker struct {
	issuer  *Issuer
	dropped atomic.Int64

	mu   sync.Mutex
	open map[sequence.Ticket]time.Time // from when on they are to have one
}

func newTracker(i *Issuer) *tracker {
	t := &tracker{issuer: i, open: map[sequence.Ticket]time.Time{}}
	i.upkeep.Go(t.work)
	return t
}

// add takes a number that was recorded without a run. stormy says that a storm is why.
func (t *tracker) add(n sequence.Number, stormy bool) {
	rules := (*t.issuer.rules.Load())[n.BizType]
	if rules.Track == sequence.TrackNone {
		return
	}
	due := time.Now()
	if rules.Track == sequence.TrackUnsettled && !stormy {
		due = due.Add(rules.TrackAfter)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.open) >= maxUntracked {
		t.dropped.Add(1)
		return
	}
	t.open[n.Ticket()] = due
}

// forget drops a number that this process has settled.
func (t *tracker) forget(n sequence.Number) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, n.Ticket())
}

func (t *tracker) waiting() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.open)
}

func (t *tracker) work() {
	i := t.issuer
	for wait.For(i.background, trackEvery) == nil {
		if i.storm.rages() || i.starts.Waiting()+i.wakes.Waiting() > calm {
			continue
		}
		due := t.due(time.Now())
		if len(due) == 0 {
			continue
		}
		if err := t.track(i.background, due); err != nil {
			i.log.Debug("numbers could not be given runs of their own; trying again", "count", len(due), "error", err)
			continue
		}
		t.mu.Lock()
		for _, c := range due {
			delete(t.open, c.Ticket)
		}
		t.mu.Unlock()
	}
}

// due gives some of the numbers whose time has come.
func (t *tracker) due(now time.Time) (commands []sequence.Command) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for ticket, due := range t.open {
		if now.Before(due) {
			continue
		}
		if commands = append(commands, sequence.Command{Kind: sequence.TrackIt, Ticket: ticket}); len(commands) == recordBatch {
			return commands
		}
	}
	return commands
}

// track writes down that they have runs, and starts these. One that was settled in the meantime needs none.
func (t *tracker) track(ctx context.Context, commands []sequence.Command) error {
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	decisions, err := t.issuer.ledger.Apply(ctx, commands)
	if err != nil {
		return err
	}
	now := time.Now()
	for _, d := range decisions {
		if d.Outcome == sequence.OutcomeTracked {
			t.issuer.starts.Send(start{number: d.Number, due: now.Add(d.Wait)})
		}
	}
	return nil
}
