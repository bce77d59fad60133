package ledger

import (
	"database/sql"
	"errors"
	"strconv"

	"github.com/lacuna-seq/lacuna/sequence"
)

// sealedRow is what a seal says of a number.
type sealedRow struct {
	value int64
	seqNo string
	state sequence.State
	life  int32
}

// eachSealed gives the rows of a query for value, seq_no, status and life to do, and closes it. There are many:
// it makes no garbage of each but the seq no.
func eachSealed(rows *sql.Rows, do func(sealedRow) error) (err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	var value, seqNo, status, life sql.RawBytes
	for rows.Next() {
		if err := rows.Scan(&value, &seqNo, &status, &life); err != nil {
			return err
		}
		r := sealedRow{seqNo: string(seqNo)}
		var errs [3]error
		var state, lives int64
		r.value, errs[0] = strconv.ParseInt(string(value), 10, 64)
		state, errs[1] = strconv.ParseInt(string(status), 10, 8)
		lives, errs[2] = strconv.ParseInt(string(life), 10, 32)
		r.state, r.life = sequence.State(state), int32(lives) //nolint:gosec // parsed with those sizes
		if err := errors.Join(errs[:]...); err != nil {
			return err
		}
		if err := do(r); err != nil {
			return err
		}
	}
	return rows.Err()
}

// blockWalk goes through the values of a block in ascending order and adds them up.
type blockWalk struct {
	block sequence.Block
	hash  *sequence.BlockHash
	next  int64 // the first value that was not seen yet
	skips []skip
	torn  bool // a value has neither a row nor a skip, or more than one of them
}

func newBlockWalk(b sequence.Block, skips []skip) *blockWalk {
	return &blockWalk{block: b, hash: sequence.NewBlockHash(), next: b.Lo, skips: skips}
}

func (w *blockWalk) row(r sealedRow) {
	w.skipTo(r.value)
	w.torn = w.torn || r.value != w.next
	w.hash.Number(r.value, r.seqNo, r.state, r.life)
	w.next = max(w.next, r.value+1)
}

// skipTo adds the skips that begin below the value, as far as they lie in the block.
func (w *blockWalk) skipTo(value int64) {
	for len(w.skips) > 0 && w.skips[0].lo < value {
		lo, hi := max(w.skips[0].lo, w.block.Lo), min(w.skips[0].hi, w.block.Hi)
		w.torn = w.torn || lo != w.next
		w.hash.Skip(lo, hi)
		w.next, w.skips = max(w.next, hi+1), w.skips[1:]
	}
}

// end adds what is left and gives the sum; whole is whether each value had exactly one row or skip.
func (w *blockWalk) end() (sum sequence.BlockSum, whole bool) {
	w.skipTo(w.block.Hi + 1)
	return w.hash.Sum(), !w.torn && w.next == w.block.Hi+1
}
