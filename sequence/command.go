package sequence

import (
	"strconv"
	"time"
)

// Kind is what a command asks for.
type Kind int8

const (
	// Record says: an issuer writes down that it handed a held number out; a life begins.
	Record Kind = iota + 1
	// HandBack says: an issuer returns a held number that it did not hand out.
	HandBack
	// Recover says: the owner's lease is over, and it may have handed the number out. A life begins
	// in which whoever has it can confirm.
	Recover
	// Claim says: an issuer takes a number out of the pool into its memory.
	Claim
	// Confirm says: the number is in business use.
	Confirm
	// Abandon says: the number will not be used.
	Abandon
	// Check says: expire the number if it was not confirmed in time, else say what time is left.
	Check
	// Repool says: the pool was asked for the free number, which was pushed again where it was not there;
	// look for it later.
	Repool
	// Replay says: return the number to the pool if its window is over.
	Replay
	// Extend says: the holder needs more time before it can confirm.
	Extend
	// Found says: the business was asked, and holds the number.
	Found
	// Bury says: the number cannot be returned, or must not be, until a person has looked at it.
	Bury
	// Requeue says: a person sends a dead number back on its way to the pool.
	Requeue
	// WriteOff says: a person declares a dead number's gap.
	WriteOff
	// Take says: a Compensation sees to the overdue number for a while.
	Take
	// Retime says: set the deadline by the rules of now.
	Retime
	// Shift says: give a deadline that ended in an outage its time again.
	Shift
	// TrackIt says: the number gets a run of its own.
	TrackIt
	// Untrack says: the number's run is not counted on any more.
	Untrack
	// Release says: the Compensation that had taken the number has gone, and others may see to it.
	Release
	// Doubt says: the ledger stepped back, and whatever it says of an open number may be over.
	Doubt
)

// Kinds lists every kind of command.
var Kinds = [...]Kind{
	Record, HandBack, Recover, Claim, Confirm, Abandon, Check, Repool, Replay,
	Extend, Found, Bury, Requeue, WriteOff, Take, Retime, Shift, TrackIt, Untrack, Release, Doubt,
}

// String is the kind in lower case, e.g. "hand_back". It labels metrics.
func (k Kind) String() string {
	switch k {
	case Record:
		return "record"
	case HandBack:
		return "hand_back"
	case Recover:
		return "recover"
	case Claim:
		return "claim"
	case Confirm:
		return "confirm"
	case Abandon:
		return "abandon"
	case Check:
		return "check"
	case Repool:
		return "repool"
	case Replay:
		return "replay"
	case Extend:
		return "extend"
	case Found:
		return "found"
	case Bury:
		return "bury"
	case Requeue:
		return "requeue"
	case WriteOff:
		return "write_off"
	case Take:
		return "take"
	case Retime:
		return "retime"
	case Shift:
		return "shift"
	case TrackIt:
		return "track"
	case Untrack:
		return "untrack"
	case Release:
		return "release"
	case Doubt:
		return "doubt"
	}
	return "kind_" + strconv.Itoa(int(k))
}

// FromHolder reports whether a command of this kind is about a life that somebody says was handed out.
func (k Kind) FromHolder() bool {
	return k == Confirm || k == Abandon || k == Extend || k == Check || k == Record
}

// WaitsForDeadline reports whether a command of this kind acts on a deadline that has passed.
func (k Kind) WaitsForDeadline() bool { return k == Check || k == Replay || k == Take }

// Command asks for one transition of one number.
type Command struct {
	Kind Kind
	// Ticket names the number and the life that is meant: for Record the life that begins, for
	// Confirm and Abandon 0 where the caller named no life. The others that move held or free numbers do not look at it.
	Ticket Ticket
	// BizKey: of Record and Confirm, the business object behind the number. May be empty.
	BizKey string
	// Trace: of Record, the W3C traceparent of the call that handed the number out; empty where it is not traced.
	Trace string
	// Owner and BatchID: of Record, HandBack, Recover and Claim, the issuer and what it holds the number by.
	Owner, BatchID string
	// Lease: of Recover, how long a lease lasts. A holder may have had its answer that much later.
	Lease time.Duration
	// CallerGone: of Record. The caller left before it was answered, so the life begins abandoned.
	CallerGone bool
	// Final: of Record. The caller is told that the number is in use for good, and waits for no confirm. What it is told is
	// what counts, whatever the rules say when it is written down; see BizType.FinalAtIssue.
	Final bool
	// Untracked: of Record and Abandon. The number has no run of its own, whatever its biz type says:
	// Temporal is behind.
	Untracked bool
	// Waiting: of Record. The caller is answered only after it, and is refused where the number has
	// been taken away in between.
	Waiting bool
	// Taker: of Take and Release, the workflow ID of the Compensation that takes the number, or had taken it.
	Taker string
	// Absent: of Repool. The pool did not have the number.
	Absent bool
	// Probed: of Replay. The business was asked and does not hold the number.
	Probed bool
	// For: of Extend, how much more time; of Take, how much longer than the window
	// and the retries of the number may last.
	For time.Duration
	// Cause: of Bury, why it was given up.
	Cause DeadCause
	// Retries: of Bury, how often bringing it back was tried again.
	Retries int32
	// Actor: who does it, for the record. Of Requeue and WriteOff a person's name; else it may be empty.
	Actor string
	// Outage: of Shift.
	Outage Outage
	// OnHold: of those that wait for a deadline. No deadline is acted on now; the ledger says so.
	OnHold bool
	// Reason: of Bury, Requeue and WriteOff, in words, at most MaxReason bytes; of Confirm and Abandon only where a
	// person settles by hand, who is then kept with it.
	Reason string
}
