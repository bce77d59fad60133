package issuer

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/lacuna-seq/lacuna/internal/wait"
	"github.com/lacuna-seq/lacuna/sequence"
)

// The bounds of a storm: when Temporal is so far behind that a number's own run would come too late to be
// of use, numbers are left to the patrol, which sees to thousands at once.
const (
	// stormBegins is a wait that a safety window can spare.
	stormBegins = 5 * time.Second
	stormEnds   = 5 // at this part of it
	stormLook   = 250 * time.Millisecond
	asksEach    = 4 // looks
	// backlogTimeout ends the question how far behind the workers are.
	backlogTimeout = time.Second
)

// storm tells whether the runs are behind: starts and wakes in this process, or the tasks of runs in Temporal.
type storm struct {
	issuer  *Issuer
	begins  atomic.Int64            // after how long a wait, in nanoseconds
	backlog atomic.Pointer[Backlog] // when Temporal last answered
	asked   atomic.Bool             // whether it answered the last time
	on      atomic.Bool
}

func newStorm(i *Issuer) *storm {
	s := &storm{issuer: i}
	s.begins.Store(int64(stormBegins))
	s.backlog.Store(&Backlog{})
	return s
}

// rages looks at the queues now. A storm that began goes on until they are nearly empty.
func (s *storm) rages() bool {
	i := s.issuer
	lag := max(i.starts.Lag(), i.wakes.Lag(), s.backlog.Load().Age)
	switch was := s.on.Load(); {
	case !was && int64(lag) > s.begins.Load() && s.on.CompareAndSwap(false, true):
		i.log.Warn("Temporal or the workers are behind; numbers are left to the patrol until they have caught up",
			"lag", lag.Round(time.Second), "starts", i.starts.Waiting(), "wakes", i.wakes.Waiting())
	case was && int64(lag) < s.begins.Load()/stormEnds && s.on.CompareAndSwap(true, false):
		i.log.Info("Temporal and the workers have caught up; numbers have runs of their own again")
	}
	return s.on.Load()
}

// watch looks again and again, asks Temporal how far behind the workers are, and in a storm takes back what
// waits for Temporal.
func (s *storm) watch() {
	ctx := s.issuer.background
	for look := 0; wait.For(ctx, stormLook) == nil; look++ {
		if look%asksEach == 0 {
			s.ask(ctx)
		}
		if s.rages() {
			s.relieve(ctx)
		}
	}
}

func (s *storm) ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, backlogTimeout)
	defer cancel()
	backlog, err := s.issuer.runs.Backlog(ctx)
	if err == nil { // away, it is the queues that tell
		s.backlog.Store(&backlog)
	}
	s.asked.Store(err == nil)
}

// relieve writes down that nobody counts on the runs whose starts and wakes wait here, and forgets these.
func (s *storm) relieve(ctx context.Context) {
	i := s.issuer
	var commands []sequence.Command
	var rescued []sequence.PoolEntry
	for _, w := range i.wakes.Drain() {
		if w.rescued {
			rescued = append(rescued, w.pool)
		}
		if w.kind == sequence.Abandon && !w.noRun {
			commands = append(commands, sequence.Command{Kind: sequence.Untrack, Ticket: w.number.Ticket()})
		}
	}
	for _, s := range i.starts.Drain() {
		commands = append(commands, sequence.Command{Kind: sequence.Untrack, Ticket: s.number.Ticket()})
	}
	if err := i.pool.Remove(ctx, rescued); err != nil {
		i.log.DebugContext(ctx, "rescued numbers may still be in the pool", "count", len(rescued), "error", err)
	}
	decisions, err := i.applyRecords(commands)
	if err != nil {
		i.log.WarnContext(ctx, "numbers count as having runs that were not started or woken; the patrol sees to them one by one",
			"count", len(commands), "error", err)
		return
	}
	for _, d := range decisions {
		if d.Outcome == sequence.OutcomeUntracked && d.Number.State == sequence.Allocated {
			i.tracker.add(d.Number, true)
		}
	}
}
