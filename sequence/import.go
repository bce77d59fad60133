package sequence

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Imported is a number as the system that issued it before describes it. What it does not say is zero.
type Imported struct {
	SeqNo string
	// State is one of those that such a system knows: Allocated, Confirmed, Abandoned, Replayable or Replayed.
	State State
	// Life is how often the number has been issued, from 1; 0 means 1.
	Life    int32
	BizKey  string
	BatchID string
	Reason  string

	IssuedTime, ConfirmedTime, AbandonedTime time.Time
}

// MaxImportedLife bounds how often an imported number may have been issued.
const MaxImportedLife = MaxMaxReplays

// ImportSkew is how far the clock that an import's times come from may be ahead of the ledger's.
const ImportSkew = time.Minute

// ReasonHole is why a value has no number that an import brought.
const ReasonHole = "a hole in what was imported"

// importedStates are those that an import may name. Their codes are those of the production table.
var importedStates = []State{Allocated, Confirmed, Abandoned, Replayable, Replayed}

// ParseImportedState reads a state by its name, in capitals or not, or by its code, 1 to 5. Anything else
// is an InvalidError of the field "state".
func ParseImportedState(text string) (State, error) {
	for _, s := range importedStates {
		if strings.EqualFold(text, s.String()) || text == strconv.Itoa(int(s)) {
			return s, nil
		}
	}
	return 0, Invalidf("state", "%s is none of 1 ALLOCATED, 2 CONFIRMED, 3 ABANDONED, 4 REPLAYABLE, 5 REPLAYED", quote(text))
}

// Import says how a number of another system begins in the ledger at now, the database's time. What does
// not fit the biz type is an InvalidError. It depends on the state that the number had:
//
//	CONFIRMED            stays CONFIRMED
//	ABANDONED            ABANDONED, and a full window runs from now
//	REPLAYABLE           REPLAYABLE where its window is known to be over and nothing else stands between it and
//	                     its next holder; otherwise as ABANDONED, so that it is probed or retired as any other
//	ALLOCATED, REPLAYED  ALLOCATED, with a full confirm timeout from now: somebody may hold it
//
// No number has a run of its own: the patrol sees to them. A window that begins anew begins by the time of
// abandonment too, since that is what every later step and every change of the window counts from; the time
// that was given is kept in the reason. A number that was issued n times has been replayed n-1 times.
func (b BizType) Import(in Imported, now time.Time) (Number, error) {
	n := Number{
		BizType: b.Name, SeqNo: in.SeqNo, Life: max(in.Life, 1), BizKey: in.BizKey,
		IssuedTime: in.IssuedTime, ConfirmedTime: in.ConfirmedTime, AbandonedTime: in.AbandonedTime,
	}
	n.Replays = n.Life - 1
	var err error
	if n.Period, n.Value, err = b.Format.Parse(in.SeqNo); err != nil {
		return Number{}, err
	}
	if err := b.validateImported(in, n.Value); err != nil {
		return Number{}, err
	}
	for _, t := range []struct {
		name string
		time *time.Time
	}{{"issuedTime", &n.IssuedTime}, {"confirmedTime", &n.ConfirmedTime}, {"abandonedTime", &n.AbandonedTime}} {
		if t.time.After(now.Add(ImportSkew)) {
			return Number{}, Invalidf(t.name, "%s has not come yet: is the time zone of the source right?", t.time.Format(time.RFC3339))
		}
		if t.time.After(now) {
			*t.time = now
		}
	}
	if n.IssuedTime.IsZero() {
		n.IssuedTime = firstTime(n.AbandonedTime, n.ConfirmedTime, now)
	}
	if in.State != Confirmed {
		n.ConfirmedTime = time.Time{}
	}
	switch in.State {
	case Confirmed:
		n.State, n.ConfirmedTime, n.Reason = Confirmed, firstTime(n.ConfirmedTime, now), cut(in.Reason, MaxReason)
	case Replayable:
		if b.mayPool(n, now) {
			n.State, n.Deadline, n.Reason = Replayable, now, importReason(in)
			break
		}
		giveUp(b, &n, now, importReason(in))
	case Abandoned:
		giveUp(b, &n, now, importReason(in))
	case Allocated, Replayed:
		// The reason also keeps a change of the confirm timeout from taking the time away again.
		n.State, n.AbandonedTime, n.Deadline, n.Reason = Allocated, time.Time{}, now.Add(b.ConfirmTimeout), importReason(in)
	case Reserved, Dead, Retired:
	}
	return n, nil
}

func (b BizType) validateImported(in Imported, value int64) error {
	switch {
	case value < b.Start:
		return Invalidf("seqNo", "%s has the value %d, its biz type begins at %d", in.SeqNo, value, b.Start)
	case !slices.Contains(importedStates, in.State):
		return Invalidf("state", "%s is none that an import knows", in.State)
	case in.Life < 0 || in.Life > MaxImportedLife:
		return Invalidf("life", "%d is not from 1 to %d", in.Life, MaxImportedLife)
	}
	return cmp.Or(ValidateBizKey(in.BizKey), validateText("batchId", in.BatchID, MaxReason), validateText("reason", in.Reason, MaxReason))
}

// mayPool reports whether a number that was free is free here at once: its window is over, and it would
// be neither retired nor asked for.
func (b BizType) mayPool(n Number, now time.Time) bool {
	return !n.AbandonedTime.IsZero() && !now.Before(n.AbandonedTime.Add(b.SafetyWindow)) &&
		!b.Probe.Asks() && retirement(b, n, now) == ""
}

// importReason says what the source knew of a number that is not in use.
func importReason(in Imported) string {
	reason := "imported as " + in.State.String()
	if !in.AbandonedTime.IsZero() {
		reason += ", given up at " + in.AbandonedTime.UTC().Format(time.RFC3339)
	}
	if in.BatchID != "" {
		reason += ", of batch " + in.BatchID
	}
	if in.Reason != "" {
		reason += ": " + in.Reason
	}
	return cut(reason, MaxReason)
}

// cut shortens a text to so many bytes, at a character's end.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

func firstTime(times ...time.Time) time.Time {
	for _, t := range times {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// ImportedBefore reports whether a number of the ledger is what an import made of it, or what became of
// that since: a later life of it, or another state of the same. One that the source says is confirmed, and
// the ledger does not, is neither: somebody used it after it was imported.
func ImportedBefore(imported, n Number) bool {
	if imported.State == Confirmed {
		return n.State == Confirmed && n.Life == imported.Life
	}
	return n.Life >= imported.Life
}
