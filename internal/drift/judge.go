package drift

import (
	"strconv"

	"github.com/lacuna-seq/lacuna/db/pool"
	"github.com/lacuna-seq/lacuna/sequence"
)

// Kind is how a number differs.
type Kind int8

// What a number may be.
const (
	// Missing: it is free and not in its pool.
	Missing Kind = iota
	// Stale: it is in the pool and not free.
	Stale
	// WrongScore: its pool has it in another place than its row asks for, e.g. after a change of the pool's order.
	WrongScore
	// WrongPeriod: it is free, and in the pool of another period than its own.
	WrongPeriod
)

const kinds = int(WrongPeriod) + 1

// String is the kind in words, e.g. "wrong score".
func (k Kind) String() string {
	switch k {
	case Missing:
		return "missing"
	case Stale:
		return "stale"
	case WrongScore:
		return "wrong score"
	case WrongPeriod:
		return "wrong period"
	}
	return "kind " + strconv.Itoa(int(k))
}

// suspect is a number that differs at the first look.
type suspect struct {
	at      sequence.PoolEntry // where it was looked for, or found
	kind    Kind
	version int64 // of its row; noRow where it has none
}

const noRow = -1

// finding is a number that differs, and how its pool should have it.
type finding struct {
	suspect
	want sequence.PoolEntry // zero where it should be in no pool
}

// judge says whether a number, looked for at a place in the pool, differs. row is nil where it has none.
func judge(rules sequence.BizType, row *sequence.Number, at sequence.PoolEntry, score pool.Score) (f finding, differs bool) {
	f.at, f.version = at, noRow
	if row != nil {
		f.version = row.Version
	}
	if row == nil || row.State != sequence.Replayable {
		f.kind = Stale
		return f, score.Present
	}
	f.want = rules.PoolEntry(*row)
	switch {
	case f.want.Period != at.Period:
		f.kind = WrongPeriod
		return f, score.Present
	case !score.Present:
		f.kind = Missing
		return f, true
	}
	f.kind = WrongScore
	return f, score.Value != f.want.Score
}
