// Package gapmap says how a map of numbers is shown: which classes there are, which letter stands for each, and which
// of them a cell that has several is shown as.
//
// It knows the API's messages and no picture: the command line writes letters, the console draws cells.
package gapmap

import (
	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

// Class is where a value can be.
type Class struct {
	// Name is that of the state, e.g. "DEAD", or of what no row stands for, e.g. "SKIPPED".
	Name string
	// Letter stands for it where there is place for no more. No two classes have the same.
	Letter string
	// Words say what it means.
	Words string

	count func(*lacunav1.MapCell) int64
}

// Classes are all of them, what somebody should look at first. A cell is shown as the first of them that it has:
// one dead letter among a million confirmed numbers is what an operator looks for, and would be lost in a mixture.
var Classes = [...]Class{
	{"UNACCOUNTED", "!", "no row and no declared skip: run an audit", (*lacunav1.MapCell).GetUnaccounted},
	{"UNKNOWN", "?", "in a state that there is not: run an audit", (*lacunav1.MapCell).GetUnknown},
	{"DEAD", "D", "could not be brought back, waits for a person", (*lacunav1.MapCell).GetDead},
	{"ABANDONED", "W", "given up, in its safety window", (*lacunav1.MapCell).GetAbandoned},
	{"REPLAYABLE", "P", "free, in the pool", (*lacunav1.MapCell).GetReplayable},
	{"REPLAYED", "h", "claimed from the pool, held in memory", (*lacunav1.MapCell).GetReplayed},
	{"ALLOCATED", "C", "with a caller, not confirmed yet", (*lacunav1.MapCell).GetAllocated},
	{"RESERVED", "H", "fresh, held in memory", (*lacunav1.MapCell).GetReserved},
	{"RETIRED", "R", "never issued again, a declared gap", (*lacunav1.MapCell).GetRetired},
	{"SKIPPED", "S", "declared as skipped, without a row", (*lacunav1.MapCell).GetSkipped},
	{"CONFIRMED", "·", "in business use", (*lacunav1.MapCell).GetConfirmed},
	{"UNALLOCATED", "-", "above the cursor, not allocated yet", (*lacunav1.MapCell).GetUnallocated},
}

// Count is how many values of the cell are in the class.
func (c Class) Count(cell *lacunav1.MapCell) int64 { return c.count(cell) }

// Total is how many values of the cells are in the class.
func (c Class) Total(cells []*lacunav1.MapCell) (n int64) {
	for _, cell := range cells {
		n += c.Count(cell)
	}
	return n
}

// Shown is the class that a cell is shown as: the first that it has. A cell without values has none, and ok is false.
func Shown(cell *lacunav1.MapCell) (c Class, ok bool) {
	for _, c := range Classes {
		if c.Count(cell) > 0 {
			return c, true
		}
	}
	return Class{}, false
}
