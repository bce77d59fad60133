package ledger

import (
	"sort"

	"github.com/lacuna-seq/lacuna/sequence"
)

// The blocks that were sealed, each with how many of its numbers were confirmed late since.
const querySealedCounts = `SELECT s.lo, s.hi, s.confirmed, s.retired, (SELECT COUNT(*) FROM t_seq_seal a FORCE INDEX (uk_seal_range)
		WHERE a.biz_type = s.biz_type AND a.period = s.period AND a.kind = 'AMENDMENT' AND a.lo BETWEEN s.lo AND s.hi)
	FROM t_seq_seal s FORCE INDEX (uk_seal_range)
	WHERE s.biz_type = ? AND s.period = ? AND s.kind = 'SEAL' AND s.lo BETWEEN ? AND ? AND s.hi <= ? ORDER BY s.lo LIMIT ?`

// sealedCounts is a sealed block, all of whose numbers are final.
type sealedCounts struct {
	span

	confirmed, retired, amended int64
}

// sealedFrom lists the first sealed blocks between two values, at most maxMapSeals. Cells that are narrower than a
// block have none.
func (m *mapper) sealedFrom(lo, hi int64) ([]sealedCounts, error) {
	if m.Width < sequence.SealBlock {
		return nil, nil
	}
	return query(m.auditor, func(row row) (s sealedCounts, err error) {
		err = row.Scan(&s.lo, &s.hi, &s.confirmed, &s.retired, &s.amended)
		return s, err
	}, querySealedCounts, m.scope.bizType, m.scope.period, lo, hi, hi, maxMapSeals)
}

// addSeal counts a block by its seal, and lays the rest of its values to the declared skips.
func (m *mapper) addSeal(s sealedCounts) {
	c := m.at(m.cell(s.lo))
	c.add(sequence.Confirmed, s.confirmed+s.amended)
	c.add(sequence.Retired, s.retired-s.amended)
}

// joined are the values of skips, which are in order, as spans that are in order and apart.
func joined(skips []skip) (spans []span) {
	for _, k := range skips {
		if last := len(spans) - 1; last >= 0 && k.lo <= spans[last].hi {
			spans[last].hi = max(spans[last].hi, k.hi)
			continue
		}
		spans = append(spans, span{k.lo, k.hi})
	}
	return spans
}

// overlap is how many values from lo to hi lie in the spans, which are in order and apart.
func overlap(spans []span, lo, hi int64) (n int64) {
	from := sort.Search(len(spans), func(i int) bool { return spans[i].hi >= lo })
	for _, s := range spans[from:] {
		if s.lo > hi {
			break
		}
		n += min(hi, s.hi) - max(lo, s.lo) + 1
	}
	return n
}
