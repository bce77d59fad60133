package issuer

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// longOverdue is when a number that nobody sees to, or a patrol that does not come, is worth a line: some rounds of
// the patrol later.
const longOverdue = time.Minute

// overdue is what a process sees of the patrol's work from outside: it also tells when the workers are gone.
type overdue struct {
	oldest atomic.Pointer[map[sequence.State]time.Duration]
	patrol atomic.Pointer[time.Duration] // since its last round
	said   atomic.Bool
}

func (i *Issuer) lookForOverdue(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, ledgerTimeout)
	defer cancel()
	oldest, err := i.ledger.OldestOverdue(ctx)
	if err != nil {
		i.log.DebugContext(ctx, "nobody knows whether numbers are overdue", "error", err)
		return
	}
	i.overdue.oldest.Store(&oldest)
	age, err := i.ledger.PatrolAge(ctx)
	if err != nil {
		i.log.DebugContext(ctx, "nobody knows when the patrol last came", "error", err)
		return
	}
	i.overdue.patrol.Store(&age)
	worst := max(oldest[sequence.Allocated], oldest[sequence.Abandoned], oldest[sequence.Replayable], age)
	switch {
	case worst > longOverdue && i.overdue.said.CompareAndSwap(false, true):
		i.log.ErrorContext(ctx, "numbers are overdue and nobody sees to them, or no round of the patrol ends well: look at the workers and at the schedule of the patrol",
			"overdue", worst.Round(time.Second), "patrol", age.Round(time.Second))
	case worst < longOverdue && i.overdue.said.CompareAndSwap(true, false):
		i.log.InfoContext(ctx, "numbers that were overdue are seen to again")
	}
}
