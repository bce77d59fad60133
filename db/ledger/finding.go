package ledger

import "strconv"

// FindingKind is a way in which the numbers of a biz type and period do not add up.
type FindingKind int8

const (
	// FindingUnaccounted means: values up to the cursor without a row and without a declared skip.
	FindingUnaccounted FindingKind = iota + 1
	// FindingTwice means: values that stand in two classes: a row and a skip, two skips, or rows in the log and in
	// the archive.
	FindingTwice
	// FindingAboveCursor means: rows or skips of values that the cursor has not given yet.
	FindingAboveCursor
	// FindingNoCursor means: rows or skips of a period that has no cursor.
	FindingNoCursor
	// FindingCursorBelowStart means: the cursor stands below the value before the first.
	FindingCursorBelowStart
	// FindingNoBizType means: numbers of a biz type that has no rules.
	FindingNoBizType
	// FindingUnknownStatus means: rows in a state that there is not.
	FindingUnknownStatus
	// FindingUnknownOwner means: numbers in the memory of an issuer that is not known or holds nothing any more.
	FindingUnknownOwner
	// FindingDeadWithoutLetter means: dead numbers that no person is shown.
	FindingDeadWithoutLetter
	// FindingSurplusLetter means: open dead letters whose number is not dead, or has another open one.
	FindingSurplusLetter
	// FindingSumDiffers means: the classes do not add up to the number of values: the server's indexes contradict each other.
	FindingSumDiffers
)

// FindingKinds lists every kind.
var FindingKinds = [...]FindingKind{
	FindingUnaccounted, FindingTwice, FindingAboveCursor, FindingNoCursor, FindingCursorBelowStart, FindingNoBizType,
	FindingUnknownStatus, FindingUnknownOwner, FindingDeadWithoutLetter, FindingSurplusLetter, FindingSumDiffers,
}

// String is the kind in capitals, e.g. "UNACCOUNTED".
func (k FindingKind) String() string {
	switch k {
	case FindingUnaccounted:
		return "UNACCOUNTED"
	case FindingTwice:
		return "TWICE"
	case FindingAboveCursor:
		return "ABOVE_CURSOR"
	case FindingNoCursor:
		return "NO_CURSOR"
	case FindingCursorBelowStart:
		return "CURSOR_BELOW_START"
	case FindingNoBizType:
		return "NO_BIZ_TYPE"
	case FindingUnknownStatus:
		return "UNKNOWN_STATUS"
	case FindingUnknownOwner:
		return "UNKNOWN_OWNER"
	case FindingDeadWithoutLetter:
		return "DEAD_WITHOUT_LETTER"
	case FindingSurplusLetter:
		return "SURPLUS_LETTER"
	case FindingSumDiffers:
		return "SUM_DIFFERS"
	}
	return "FINDING_" + strconv.Itoa(int(k))
}

// Finding is what an audit found wrong with consecutive values, lo to hi.
type Finding struct {
	Kind            FindingKind
	BizType, Period string
	Lo, Hi          int64
	Words           string
}

// MaxFindings bounds how many findings an audit lists; the rest is counted.
const MaxFindings = 1_000

// findings joins what is found in the order of the values.
type findings struct {
	all  []*Finding
	left int64
	last map[FindingKind]*Finding
}

// add adds a finding, or widens the last one of its kind where it goes on.
func (f *findings) add(found Finding) {
	last := f.last[found.Kind]
	if last != nil && last.BizType == found.BizType && last.Period == found.Period && last.Words == found.Words && last.Hi == found.Lo-1 {
		last.Hi = found.Hi
		return
	}
	if f.last == nil {
		f.last = map[FindingKind]*Finding{}
	}
	f.last[found.Kind] = &found
	if len(f.all) == MaxFindings {
		f.left++
		return
	}
	f.all = append(f.all, &found)
}

func (f *findings) list() []Finding {
	all := make([]Finding, len(f.all))
	for i, found := range f.all {
		all[i] = *found
	}
	return all
}
