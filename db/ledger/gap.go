package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// Gap is a number that was issued, or declared a gap, and is not in business use nor with a caller.
type Gap struct {
	Number sequence.Number
	// Since: when it was given up; where it never was, when it died or was retired.
	Since time.Time
}

// isGap says which numbers are open gaps; queryGaps selects the same. One that was never issued, and may
// still be, is none.
func isGap(s sequence.State, issued bool) bool {
	switch s {
	case sequence.Abandoned, sequence.Dead, sequence.Retired:
		return true
	case sequence.Replayable, sequence.Replayed:
		return issued
	case sequence.Reserved, sequence.Allocated, sequence.Confirmed:
	}
	return false
}

const queryGaps = `SELECT COALESCE(n.abandoned_time,
		(SELECT MAX(d.dead_time) FROM t_seq_issue_dead d WHERE d.biz_type = n.biz_type AND d.seq_no = n.seq_no AND d.life = n.life),
		(SELECT MAX(e.event_time) FROM t_seq_event e WHERE e.biz_type = n.biz_type AND e.seq_no = n.seq_no AND e.life = n.life AND e.to_status = n.status)), ` +
	numberColumns + fromRange + ` AND (n.status IN (3, 6, 7) OR n.status IN (4, 5) AND n.life > 0) ORDER BY n.value LIMIT ?`

// GapPosition is a gap's place in the order in which gaps are listed: biz type, period, value.
type GapPosition struct {
	BizType, Period string
	Value           int64
}

// Position is where the gap stands.
func (g Gap) Position() GapPosition {
	return GapPosition{g.Number.BizType, g.Number.Period, g.Number.Value}
}

// Gaps lists at most limit further gaps of the values that the filter means, after the one at the
// position, and says whether there are more. Each call reads a snapshot of its own, taken at the time
// that it gives. Its errors are those of Audit.
func (l *Ledger) Gaps(ctx context.Context, f AuditFilter, after GapPosition, limit int) (gaps []Gap, more bool, now time.Time, err error) {
	err = l.audit(ctx, f, limit, func(a *auditor) error {
		now = a.now
		defer func() { gaps, more = a.gaps.list, a.gaps.more }()
		return a.gapsAfter(after)
	})
	return gaps, more, now, err
}

func (a *auditor) gapsAfter(after GapPosition) error {
	at := scope{after.BizType, after.Period}
	for _, s := range a.scopes {
		if compareScopes(s, at) < 0 {
			continue
		}
		b, err := a.bounds(s)
		if err != nil {
			return err
		}
		from := a.filter.from(b.first())
		if s == at {
			from = max(from, after.Value+1)
		}
		if err := a.walk(s, b).listGaps(from, a.filter.to(b.last())); err != nil {
			return err
		}
	}
	return nil
}

// listGaps adds the gaps from lo to hi until the page is full.
func (w walk) listGaps(lo, hi int64) error {
	for lo <= hi && !w.gaps.more {
		end, before := chunkEnd(lo, hi), len(w.gaps.list)
		err := w.readGaps(lo, end)
		if err == nil && len(w.gaps.list) == before {
			end, err = w.beforeNext(end, hi)
		}
		if err != nil || end == hi {
			return err
		}
		lo = end + 1
	}
	return nil
}

// gapPage gathers gaps until it is full and there are more.
type gapPage struct {
	limit int
	list  []Gap
	more  bool
}

// readGaps adds those of a chunk.
func (w walk) readGaps(lo, hi int64) error {
	p := &w.gaps
	gaps, err := both(w, archiveOnly, scanGap, queryGaps, append(w.args(lo, hi), p.limit-len(p.list)+1)...)
	slices.SortFunc(gaps, func(a, b Gap) int { return cmp.Compare(a.Number.Value, b.Number.Value) })
	p.list = append(p.list, gaps...)
	if p.more = len(p.list) > p.limit; p.more {
		p.list = p.list[:p.limit]
	}
	return err
}

func scanGap(row row) (g Gap, err error) {
	var since sql.NullTime
	g.Number, err = scanNumber(prefixed{row, []any{&since}})
	g.Since = since.Time
	return g, err
}

// prefixed is a row whose first columns are read into first.
type prefixed struct {
	row
	first []any
}

func (r prefixed) Scan(dest ...any) error { return r.row.Scan(append(r.first, dest...)...) }
