package sequence

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// ErrSteppedBack means that the ledger is behind what was seen of it before. See SteppedBackError.
var ErrSteppedBack = errors.New("the ledger has stepped back")

// After a step back a number begins its next life above every one that it may have had and the ledger has forgotten,
// so that no ticket is ever given twice. A fixed distance would not do: the same backup may be restored again, after the
// number was issued from there. So such a life is counted in the seconds from lifeEpoch to when the number was sent back, which
// is later each time; int32 lasts until 2092. lostLives is the distance where a clock was wrong.
const lostLives = 1_000

var lifeEpoch = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

// nextUnsureLife is the next life of a number with lives that the ledger does not know.
func (n Number) nextUnsureLife() int32 {
	seconds := n.AbandonedTime.Unix() - lifeEpoch.Unix() // below 0 where it was never given up
	if seconds <= int64(n.Life) {
		seconds = int64(n.Life) + lostLives + 1
	}
	return int32(min(seconds, math.MaxInt32))
}

// Mark is the highest value that was seen allocated in a period of a biz type.
type Mark struct {
	BizType string
	Period  string
	Value   int64
}

// SteppedBackError is a biz type of which nothing is issued or brought back, since the ledger shows less than was
// seen of it before: it was restored from a backup, or is a replica that lagged. It lasts until an operator has
// raised the ledger. It is an ErrUnavailable, too: the same call may succeed later.
type SteppedBackError struct {
	BizType string
	// Behind is by how many numbers, 1 at least.
	Behind int64
	Reason string // what shows it; empty where another process found it
}

func (e *SteppedBackError) Error() string {
	shown := ""
	if e.Reason != "" {
		shown = " (" + e.Reason + ")"
	}
	return fmt.Sprintf("nothing of biz type %s is issued or brought back: the ledger has stepped back%s: an operator must run `lacuna ledger raise`", e.BizType, shown)
}

// Unwrap makes errors.Is hold for ErrSteppedBack and for ErrUnavailable.
func (e *SteppedBackError) Unwrap() []error { return []error{ErrSteppedBack, ErrUnavailable} }

// doubt leaves a number to a person that was open when the ledger stepped back: what its row says may be long
// over. The number of a life that was never handed out may have been, so it begins one.
func doubt(n *Number, c Command, now time.Time) Outcome {
	switch n.State {
	case Confirmed, Retired:
		return OutcomeSuperseded
	case Dead: // for a reason that may be long over, too
		if n.LifeUnsure {
			return OutcomeAlreadyDead
		}
		n.LifeUnsure, n.Reason = true, c.Reason
		return OutcomeDead
	case Reserved, Allocated, Abandoned, Replayable, Replayed:
	}
	if n.Life == 0 {
		n.Life, n.IssuedTime = 1, now
	}
	n.Owner, n.Durable, n.LifeUnsure = "", false, true
	die(n, c.Reason)
	return OutcomeDead
}
