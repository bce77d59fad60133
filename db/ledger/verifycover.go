package ledger

import (
	"strconv"

	"github.com/lacuna-seq/lacuna/sequence"
)

const (
	queryFrontiers = `SELECT period, lo, next_lo FROM t_seq_seal_frontier WHERE biz_type = ? ORDER BY period`
	queryBlocks    = `SELECT period, lo, hi FROM t_seq_seal WHERE biz_type = ? AND kind = 'SEAL'
		UNION ALL SELECT period, lo, hi FROM t_seq_seal_open WHERE biz_type = ? ORDER BY period, lo`
)

// cover holds the blocks, sealed or open, against the values that blocks were made of: a seal that was removed
// together with the end of its chain leaves a hole.
func (v *verifier) cover(bizType string) error {
	scanRange := func(row row) (b sequence.Block, err error) {
		b.BizType = bizType
		err = row.Scan(&b.Period, &b.Lo, &b.Hi)
		return b, err
	}
	frontiers, err := query(v.auditor, scanRange, queryFrontiers, bizType)
	if err != nil {
		return err
	}
	blocks, err := query(v.auditor, scanRange, queryBlocks, bizType, bizType)
	if err != nil {
		return err
	}
	of := make(map[string][]sequence.Block)
	for _, b := range blocks {
		of[b.Period] = append(of[b.Period], b)
	}
	for _, f := range frontiers {
		v.coverPeriod(f, of[f.Period])
		delete(of, f.Period)
	}
	for _, b := range blocks {
		if strays := of[b.Period]; len(strays) > 0 {
			v.uncovered(b, strays[0].Lo, strays[len(strays)-1].Hi, "there are blocks of a period that t_seq_seal_frontier does not know: its row was removed")
			delete(of, b.Period)
		}
	}
	return nil
}

// coverPeriod goes through the blocks of a period. Of f, Hi is the value after its last.
func (v *verifier) coverPeriod(f sequence.Block, blocks []sequence.Block) {
	const hole = "no block of these values is sealed, and none waits for it: the seal was removed"
	next := f.Lo
	for _, b := range blocks {
		switch {
		case b.Lo > next:
			v.uncovered(f, next, b.Lo-1, hole)
		case b.Lo < next:
			v.uncovered(f, b.Lo, min(next-1, b.Hi), "these values are in two blocks")
		}
		next = max(next, b.Hi+1)
	}
	switch {
	case next < f.Hi:
		v.uncovered(f, next, f.Hi-1, hole)
	case next > f.Hi:
		v.uncovered(f, f.Hi, next-1, "blocks go beyond the values that t_seq_seal_frontier says blocks were made of: it was set back")
	}
}

func (v *verifier) uncovered(b sequence.Block, lo, hi int64, words string) {
	v.fault(SealFault{
		Kind: SealFaultCover, BizType: b.BizType, Period: b.Period, Lo: lo, Hi: hi,
		Expected: strconv.FormatInt(lo, 10) + " to " + strconv.FormatInt(hi, 10) + " in one block", Found: "not so", Words: words,
	})
}
