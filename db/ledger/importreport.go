package ledger

import (
	"fmt"

	"github.com/lacuna-seq/lacuna/sequence"
)

// Bounds of the lists in an import's report; the rest is counted.
const (
	MaxImportFaults = 100
	MaxImportHoles  = 100
)

// ImportReport is what an import found in its source, and did.
type ImportReport struct {
	BizType, BatchID string
	// Numbers is how many the source names, faulty ones included.
	Numbers int64
	// Known is how many of them stand in the ledger from an earlier run.
	Known int64
	// Moves counts the others without a fault by the state that they had and the one that they get.
	Moves   map[ImportMove]int64
	Periods []ImportPeriod
	// Faults are in the order of the source, at most MaxImportFaults.
	Faults     []ImportFault
	FaultsLeft int64
	// Holes are values without a number, at most MaxImportHoles ranges; Periods counts all of them.
	Holes     []ImportHole
	HolesLeft int64 // ranges
	// Imported is how many rows of numbers this run wrote, and Closed how many values it pooled or declared.
	Imported, Closed int64
	// Resumed is an import that began in an earlier run. Done is one that has ended, then or now.
	Resumed, Done bool
}

// ImportMove is what becomes of a state.
type ImportMove struct{ From, To sequence.State }

// ImportPeriod is what an import brings to one period.
type ImportPeriod struct {
	Period  string
	Numbers int64
	Lo, Hi  int64 // of the source
	// Cursor is where it stood, and CursorAfter where the import raises it to.
	Cursor, CursorAfter int64
	Holes               int64 // values
}

// ImportFault is a number that cannot be imported.
type ImportFault struct {
	Line  int // 0 where the source has no lines
	SeqNo string
	Words string
}

// ImportHole is consecutive values that nobody accounts for.
type ImportHole struct {
	Period string
	Lo, Hi int64
}

// FaultCount is how many numbers have a fault.
func (r ImportReport) FaultCount() int64 { return int64(len(r.Faults)) + r.FaultsLeft }

// HoleCount is how many values the source leaves out and nothing accounts for yet.
func (r ImportReport) HoleCount() (n int64) {
	for _, p := range r.Periods {
		n += p.Holes
	}
	return n
}

// Refusal says why the import is refused; "" where it is not.
func (r ImportReport) Refusal(holes Holes) string {
	n, ranges := r.HoleCount(), int64(len(r.Holes))+r.HolesLeft
	switch {
	case r.FaultCount() > 0:
		return fmt.Sprintf("%d faults: correct the source, and import it again", r.FaultCount())
	case r.Numbers == 0:
		return "the source names no number: is it the right one?"
	case n > 0 && holes == HolesRefuse:
		return fmt.Sprintf("%d values below the highest are not named: pool them if nobody can ever have held them, or declare them", n)
	case n > MaxPooledHoles && holes == HolesPool:
		return fmt.Sprintf("%d values below the highest are not named, and at most %d can be pooled: declare them", n, MaxPooledHoles)
	case ranges > MaxDeclaredHoles && holes == HolesDeclare:
		return fmt.Sprintf("the values below the highest that are not named lie in %d ranges, and at most %d can be declared: is the source complete?", ranges, MaxDeclaredHoles)
	}
	return ""
}

// complete reports whether there is nothing to write.
func (r ImportReport) complete() bool {
	for _, p := range r.Periods {
		if p.CursorAfter > p.Cursor {
			return false
		}
	}
	return r.Known == r.Numbers && r.HoleCount() == 0
}

func (r *ImportReport) fault(line ImportLine, err error) {
	if len(r.Faults) == MaxImportFaults {
		r.FaultsLeft++
		return
	}
	r.Faults = append(r.Faults, ImportFault{Line: line.Line, SeqNo: line.Number.SeqNo, Words: err.Error()})
}
