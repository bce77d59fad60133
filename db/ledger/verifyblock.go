package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lacuna-seq/lacuna/sequence"
)

const (
	// A sealed block has at most so many rows; more are a fault, however many.
	querySealedRows = `SELECT n.value, n.seq_no, n.status, n.life` + fromRange + ` ORDER BY n.value LIMIT ?`
	queryAmendments = `SELECT ` + sealColumns + ` FROM t_seq_seal WHERE biz_type = ? AND period = ? AND kind = 'AMENDMENT' AND lo BETWEEN ? AND ? AND number > ?`
	queryAmended    = `SELECT EXISTS (SELECT 1 FROM t_seq_seal WHERE biz_type = ? AND period = ? AND kind = 'SEAL' AND lo <= ? AND hi >= ? AND number < ?)`
)

// content holds an entry against the numbers that it is about.
func (v *verifier) content(s sequence.Seal, report *ChainReport) error {
	switch s.Kind {
	case sequence.SealAmendment:
		report.Amendments++
		var sealed bool
		err := v.conn.QueryRowContext(v.ctx, queryAmended, s.BizType, s.Period, s.Lo, s.Lo, s.Number).Scan(&sealed)
		if err == nil && !sealed {
			v.compare(s, SealFaultAmendment, "a seal before it", "none", "it amends a number that was not sealed")
		}
		return err
	case sequence.SealOfBlock:
		report.Seals++
		report.Values += s.Hi - s.Lo + 1
		return v.block(s)
	}
	v.compare(s, SealFaultEdited, "SEAL or AMENDMENT", string(s.Kind), "it is of a kind that there is not")
	return nil
}

// block recomputes the sum of a sealed block as it was when it was sealed.
func (v *verifier) block(s sequence.Seal) error {
	b := sequence.Block{BizType: s.BizType, Period: s.Period, Lo: s.Lo, Hi: s.Hi}
	skips, err := query(v.auditor, scanSkip, querySkipsIn, b.BizType, b.Period, b.Hi, b.Lo)
	if err != nil {
		return err
	}
	amendments, err := query(v.auditor, scanSeal, queryAmendments, append(blockArgs(b), s.Number)...)
	if err != nil {
		return err
	}
	rows, err := v.sealedRows(b)
	if err != nil {
		return err
	}
	amended := make(map[int64]sequence.Seal, len(amendments))
	for _, a := range amendments {
		amended[a.Lo] = a
	}
	w := newBlockWalk(b, skips)
	for _, r := range rows {
		if a, ok := amended[r.value]; ok {
			v.compare(a, SealFaultAmendment, fmt.Sprintf("%s CONFIRMED in life %d", a.SeqNo, a.Life), fmt.Sprintf("%s %s in life %d", r.seqNo, r.state, r.life),
				"the number is not what its amendment says")
			r.state, r.life = sequence.Retired, a.Life
		}
		w.row(r)
	}
	sum, _ := w.end()
	v.compare(s, SealFaultNumbers, s.ContentHash, sum.ContentHash,
		fmt.Sprintf("its numbers are not what was sealed: sealed were %s; there are %s", s.BlockSum, sum))
	return nil
}

// sealedRows reads the rows of a block, wherever they are, by their values.
func (v *verifier) sealedRows(b sequence.Block) ([]sealedRow, error) {
	all := make([]sealedRow, 0, sequence.SealBlock)
	for _, from := range []string{fromRange, fromArchive} {
		rows, err := v.conn.QueryContext(v.ctx, strings.Replace(querySealedRows, fromRange, from, 1), append(blockArgs(b), sequence.SealBlock+1)...)
		if err != nil {
			return nil, err
		}
		before := len(all)
		err = eachSealed(rows, func(r sealedRow) error {
			all = append(all, r)
			return nil
		})
		if err != nil {
			return nil, err
		}
		if before > 0 && len(all) > before {
			slices.SortStableFunc(all, func(a, b sealedRow) int { return cmp.Compare(a.value, b.value) })
		}
	}
	return all, nil
}
