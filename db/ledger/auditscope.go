package ledger

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// scope is the values of one biz type and period.
type scope struct{ bizType, period string }

// String is the biz type, and the period where there are some.
func (s scope) String() string {
	if s.period == "" {
		return s.bizType
	}
	return s.bizType + " " + s.period
}

func compareScopes(a, b scope) int {
	return cmp.Or(cmp.Compare(a.bizType, b.bizType), cmp.Compare(a.period, b.period))
}

// The periods in which there are rows are found one by one: each statement reads one entry of the
// index, however many rows there are.
const (
	queryHasBizType = `SELECT EXISTS (SELECT 1 FROM t_seq_biz_type WHERE name = ?)`
	queryCursors    = `SELECT biz_type, period FROM t_seq_cursor`
	querySkipScopes = `SELECT DISTINCT biz_type, period FROM t_seq_skip`
	queryFirstScope = `SELECT biz_type, period FROM t_seq_issue_log FORCE INDEX (uk_value)
		WHERE biz_type >= ? ORDER BY biz_type, period LIMIT 1`
	queryNextPeriod = `SELECT biz_type, period FROM t_seq_issue_log FORCE INDEX (uk_value)
		WHERE biz_type = ? AND period > ? ORDER BY biz_type, period LIMIT 1`
	queryNextBizType = `SELECT biz_type, period FROM t_seq_issue_log FORCE INDEX (uk_value)
		WHERE biz_type > ? ORDER BY biz_type, period LIMIT 1`
)

// findScopes lists what is to be audited: whatever has a cursor, a row or a skip.
func (a *auditor) findScopes() error {
	found := map[scope]bool{}
	for _, statement := range []string{queryCursors, querySkipScopes} {
		scopes, err := query(a, scanScope, statement)
		if err != nil {
			return err
		}
		for _, s := range scopes {
			found[s] = true
		}
	}
	for _, table := range []string{logTable, archiveTable} {
		if err := a.scopesOfRows(table, found); err != nil {
			return err
		}
	}
	maps.DeleteFunc(found, func(s scope, _ bool) bool {
		return a.filter.BizType != "" && s.bizType != a.filter.BizType || a.filter.Period != "" && s.period != a.filter.Period
	})
	a.scopes = slices.SortedFunc(maps.Keys(found), compareScopes)
	if len(a.scopes) > 0 || a.filter.BizType == "" {
		return nil
	}
	var known bool
	if err := a.conn.QueryRowContext(a.ctx, queryHasBizType, a.filter.BizType).Scan(&known); err != nil {
		return err
	}
	switch {
	case !known:
		return fmt.Errorf("biz type %s: %w", a.filter.BizType, sequence.ErrNotFound)
	case a.filter.Period != "":
		return fmt.Errorf("period %s of biz type %s, in which nothing was allocated: %w", a.filter.Period, a.filter.BizType, sequence.ErrNotFound)
	}
	return nil
}

func (a *auditor) scopesOfRows(table string, found map[scope]bool) error {
	of := func(statement string) string { return strings.Replace(statement, logTable, table, 1) }
	next, err := a.oneScope(of(queryFirstScope), a.filter.BizType)
	for err == nil && (a.filter.BizType == "" || next.bizType == a.filter.BizType) {
		found[next] = true
		s := next
		if next, err = a.oneScope(of(queryNextPeriod), s.bizType, s.period); errors.Is(err, sql.ErrNoRows) {
			next, err = a.oneScope(of(queryNextBizType), s.bizType)
		}
	}
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}

func (a *auditor) oneScope(statement string, args ...any) (scope, error) {
	return scanScope(a.conn.QueryRowContext(a.ctx, statement, args...))
}

func scanScope(row row) (s scope, err error) {
	err = row.Scan(&s.bizType, &s.period)
	return s, err
}

const (
	queryBounds = `SELECT (SELECT start FROM t_seq_biz_type WHERE name = ?), (SELECT value FROM t_seq_cursor WHERE biz_type = ? AND period = ?),
		(SELECT first_value FROM t_seq_cursor WHERE biz_type = ? AND period = ?),
		(SELECT MIN(value) FROM t_seq_issue_log FORCE INDEX (uk_value) WHERE biz_type = ? AND period = ?),
		(SELECT MIN(value) FROM t_seq_archive FORCE INDEX (uk_value) WHERE biz_type = ? AND period = ?)`
	querySkips   = `SELECT lo, hi, reason FROM t_seq_skip WHERE biz_type = ? AND period = ? AND lo <= hi ORDER BY lo`
	queryRunning = `SELECT r.lo, r.hi, i.source, i.position, i.numbers, i.changed_time FROM t_seq_import i JOIN t_seq_import_range r ON r.batch_id = i.batch_id
		WHERE i.biz_type = ? AND i.state = 'RUNNING' AND r.period = ? ORDER BY r.lo`
)

// bounds are what the values of a scope begin and end with.
type bounds struct {
	start, cursor, firstValue, lowest, lowestArchived sql.NullInt64
	skips                                             []skip
	importing                                         []importing
}

// importing is a range that an import which is under way brings numbers of.
type importing struct {
	span
	words string
}

func scanImporting(row row) (i importing, err error) {
	var source string
	var position, numbers int64
	var changed time.Time
	err = row.Scan(&i.lo, &i.hi, &source, &position, &numbers, &changed)
	i.words = fmt.Sprintf("no row yet: the import of %s is under way, at %d of %d numbers since %s; let it end, or begin it again to go on",
		source, position, numbers, changed.Format(time.RFC3339))
	return i, err
}

// skip is a range of values that no row stands for.
type skip struct {
	lo, hi int64
	reason string
}

func (a *auditor) bounds(s scope) (b bounds, err error) {
	err = a.conn.QueryRowContext(a.ctx, queryBounds, s.bizType, s.bizType, s.period, s.bizType, s.period, s.bizType, s.period, s.bizType, s.period).
		Scan(&b.start, &b.cursor, &b.firstValue, &b.lowest, &b.lowestArchived)
	if err != nil {
		return b, err
	}
	b.skips, err = query(a, scanSkip, querySkips, s.bizType, s.period)
	if err != nil {
		return b, err
	}
	b.importing, err = query(a, scanImporting, queryRunning, s.bizType, s.period)
	return b, err
}

// first is where the values begin: at the start that held when the period began, or, where nobody noted it, at
// the start of now or below it.
func (b bounds) first() int64 {
	first := int64(math.MaxInt64)
	switch {
	case b.firstValue.Valid:
		first = b.firstValue.Int64
	case b.start.Valid:
		first = b.start.Int64
	}
	for _, lowest := range []sql.NullInt64{b.lowest, b.lowestArchived} {
		if lowest.Valid {
			first = min(first, lowest.Int64)
		}
	}
	if len(b.skips) > 0 {
		first = min(first, b.skips[0].lo)
	}
	if first == math.MaxInt64 { // a cursor and nothing else
		return 1
	}
	return first
}

// last is where the values end; below first where there is no cursor.
func (b bounds) last() int64 {
	if !b.cursor.Valid {
		return b.first() - 1
	}
	return b.cursor.Int64
}

func scanSkip(row row) (k skip, err error) {
	err = row.Scan(&k.lo, &k.hi, &k.reason)
	return k, err
}

// stretch is values that lie in equally many skips.
type stretch struct {
	lo, hi int64
	skips  []skip
}

// stretches cuts lo to hi where skips begin and end.
func (b bounds) stretches(lo, hi int64) []stretch {
	var all []stretch
	ahead := b.skips // without those at the front that end before lo
	for lo <= hi {
		s := stretch{lo: lo, hi: hi}
		for len(ahead) > 0 && ahead[0].hi < lo {
			ahead = ahead[1:]
		}
		for _, k := range ahead {
			if k.lo > lo {
				s.hi = min(s.hi, k.lo-1)
				break
			}
			if k.hi >= lo {
				s.skips, s.hi = append(s.skips, k), min(s.hi, k.hi)
			}
		}
		all = append(all, s)
		if s.hi == hi {
			break
		}
		lo = s.hi + 1
	}
	return all
}
