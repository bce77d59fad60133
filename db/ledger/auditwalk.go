package ledger

import (
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/lacuna-seq/lacuna/sequence"
)

// auditChunk is how many values one statement of an audit reads the rows of.
const auditChunk = 20_000

// Each pass over the rows costs the same, however little it reads: one tells all that is counted. What reads
// fromRange, the log, is read of the archive by putting fromArchive, or archiveOnly, in its place.
const (
	queryChunk = `SELECT n.status, n.life > 0 AS issued, IF(n.status IN (0, 5), n.owner, '') AS holder, IF(n.status = 7, n.reason, '') AS why, COUNT(*)` +
		fromRange + ` GROUP BY n.status, issued, holder, why`
	queryValues    = `SELECT n.value` + fromRange + ` ORDER BY n.value`
	queryNextValue = `SELECT MIN(n.value)` + fromRange
	fromRange      = ` FROM t_seq_issue_log n FORCE INDEX (uk_value)` + inRange
	fromArchive    = ` FROM t_seq_archive n FORCE INDEX (uk_value)` + inRange
	inRange        = ` WHERE n.biz_type = ? AND n.period = ? AND n.value BETWEEN ? AND ?`
	// What stands in the log as well is counted there.
	archiveOnly = fromArchive + ` AND NOT ` + alsoInLog
	alsoInLog   = `EXISTS (SELECT 1 FROM t_seq_issue_log l FORCE INDEX (uk_value) WHERE l.biz_type = n.biz_type AND l.period = n.period AND l.value = n.value)`
	queryTwice  = `SELECT n.value` + fromArchive + ` AND ` + alsoInLog + ` ORDER BY n.value`
)

// rowCheck finds what is wrong with single rows. Its query gives values and what to say of each.
type rowCheck struct {
	kind  FindingKind
	due   func(chunk) bool // whether the chunk may have such rows
	query string
	words string
}

var rowChecks = []rowCheck{
	{
		FindingUnknownStatus, func(c chunk) bool { return c.unknown > 0 },
		`SELECT n.value, n.status` + fromRange + ` AND n.status NOT BETWEEN 0 AND 7 ORDER BY n.value`,
		"status %s is none that a number can have: find out who wrote it, and set what is true",
	},
	{
		FindingUnknownOwner, func(c chunk) bool { return c.strangers },
		`SELECT n.value, CONCAT(n.owner, COALESCE((SELECT CONCAT(', which is ', i.state) FROM t_seq_issuer i WHERE i.id = n.owner), ', which is unknown'))` +
			fromRange + ` AND n.status IN (0, 5) AND NOT EXISTS (SELECT 1 FROM t_seq_issuer i WHERE i.id = n.owner AND i.state IN ('LIVE', 'DEAD')) ORDER BY n.value`,
		"held by %s: nobody will hand it out or give it back",
	},
	{
		FindingDeadWithoutLetter, func(c chunk) bool { return c.states[sequence.Dead] > 0 },
		`SELECT n.value, ''` + fromRange + ` AND n.status = 6 AND NOT EXISTS (SELECT 1 FROM t_seq_issue_dead d FORCE INDEX (idx_dead_number)
			WHERE d.biz_type = n.biz_type AND d.seq_no = n.seq_no AND d.life = n.life AND d.resolution = '') ORDER BY n.value`,
		"dead without an open letter%s: no person is shown it",
	},
}

// walk goes through the rows of a scope in the order of their values.
type walk struct {
	*auditor
	scope     scope
	archived  bool // it has rows in the archive
	report    *AuditReport
	reasons   map[string]int64
	importing []importing
}

func (a *auditor) walk(s scope, b bounds) walk {
	return walk{auditor: a, scope: s, archived: b.lowestArchived.Valid, reasons: map[string]int64{}, importing: b.importing}
}

// both reads what a statement of fromRange gives from the log and from the archive, one after the other.
func both[T any](w walk, archive string, scan func(row) (T, error), statement string, args ...any) ([]T, error) {
	all, err := query(w.auditor, scan, statement, args...)
	if err != nil || !w.archived {
		return all, err
	}
	archived, err := query(w.auditor, scan, strings.Replace(statement, fromRange, archive, 1), args...)
	return append(all, archived...), err
}

// chunk is the values from lo to hi and what rows there are of them, at most auditChunk.
type chunk struct {
	lo, hi        int64
	rows, unknown int64
	states        [len(sequence.States)]int64
	gaps          int64
	reasons       map[string]int64 // of the retired
	strangers     bool             // an owner is no issuer that holds anything
}

func (c chunk) width() int64 { return c.hi - c.lo + 1 }

// chunks gives every row from lo to hi to do. Values without rows cost nothing, however many they are.
func (w walk) chunks(lo, hi int64, do func(chunk) error) error {
	for lo <= hi {
		c, err := w.chunk(lo, hi)
		if err == nil {
			err = do(c)
		}
		if err != nil || c.hi == hi {
			return err
		}
		lo = c.hi + 1
	}
	return nil
}

func (w walk) chunk(lo, hi int64) (chunk, error) {
	c := chunk{lo: lo, hi: chunkEnd(lo, hi), reasons: map[string]int64{}}
	groups, err := query(w.auditor, scanGroup, queryChunk, w.args(lo, c.hi)...)
	for _, g := range groups {
		w.addGroup(&c, g)
	}
	if err == nil && w.archived {
		err = w.addArchived(&c)
	}
	if err == nil && c.rows < c.width() {
		c.hi, err = w.beforeNext(c.hi, hi)
	}
	return c, err
}

// addArchived adds what was archived of the chunk, and finds what was and stands in the log all the same.
func (w walk) addArchived(c *chunk) error {
	from := fromArchive
	if c.rows > 0 {
		twice, err := query(w.auditor, scanValue, queryTwice, w.args(c.lo, c.hi)...)
		if err != nil {
			return err
		}
		for _, value := range twice {
			w.find(FindingTwice, w.scope, value, value, "in t_seq_issue_log and in t_seq_archive: compare both with the seal (lacuna verify), and delete the row that is not true")
		}
		from = archiveOnly
	}
	groups, err := query(w.auditor, scanGroup, strings.Replace(queryChunk, fromRange, from, 1), w.args(c.lo, c.hi)...)
	for _, g := range groups {
		w.addGroup(c, g)
	}
	return err
}

// chunkEnd is the last value of the chunk that begins at lo.
func chunkEnd(lo, hi int64) int64 {
	if lo > math.MaxInt64-auditChunk {
		return hi
	}
	return min(hi, lo+auditChunk-1)
}

// beforeNext is the last value after which a row follows, from end to hi.
func (w walk) beforeNext(end, hi int64) (int64, error) {
	if end == hi {
		return hi, nil
	}
	next, err := both(w, fromArchive, scanMaybe, queryNextValue, w.args(end+1, hi)...)
	for _, value := range next {
		if value.Valid {
			hi = min(hi, value.Int64-1)
		}
	}
	return hi, err
}

// group is the rows of a chunk that are alike.
type group struct {
	state      sequence.State
	issued     bool
	owner, why string
	count      int64
}

func scanGroup(row row) (g group, err error) {
	err = row.Scan(&g.state, &g.issued, &g.owner, &g.why, &g.count)
	return g, err
}

func (w walk) addGroup(c *chunk, g group) {
	c.rows += g.count
	if g.state < 0 || int(g.state) >= len(c.states) {
		c.unknown += g.count
		return
	}
	c.states[g.state] += g.count
	if isGap(g.state, g.issued) {
		c.gaps += g.count
	}
	if g.state == sequence.Retired {
		c.reasons[g.why] += g.count
	}
	c.strangers = c.strangers || g.state.Held() && !w.holders[g.owner]
}

func (w walk) args(lo, hi int64) []any { return []any{w.scope.bizType, w.scope.period, lo, hi} }

// stretch counts its rows, and finds the values that have none where there is no skip, or one where
// there is.
func (w walk) stretch(s stretch) error {
	if len(s.skips) > 1 {
		w.find(FindingTwice, w.scope, s.lo, s.hi, fmt.Sprintf("declared as skipped %d times: remove all but one from t_seq_skip", len(s.skips)))
	}
	return w.chunks(s.lo, s.hi, func(c chunk) error {
		w.count(c)
		var err error
		if len(s.skips) > 0 {
			w.report.Skipped += c.width() - c.rows
			err = w.runs(c, func(lo, hi int64) {
				w.find(FindingTwice, w.scope, lo, hi, fmt.Sprintf("declared as skipped (%s), and rows: correct the range in t_seq_skip", s.skips[0].reason))
			})
		} else {
			err = w.holes(c)
		}
		if err != nil {
			return err
		}
		return w.details(c)
	})
}

func (w walk) count(c chunk) {
	for state, n := range c.states {
		w.report.States[state] += n
	}
	w.report.UnknownStatus += c.unknown
	w.report.Gaps += c.gaps
	for reason, n := range c.reasons {
		w.reasons[reason] += n
	}
}

// runs gives the ranges of a chunk in which every value has a row.
func (w walk) runs(c chunk, do func(lo, hi int64)) error {
	if c.rows == 0 || c.rows == c.width() {
		if c.rows > 0 {
			do(c.lo, c.hi)
		}
		return nil
	}
	values, err := both(w, archiveOnly, scanValue, queryValues, w.args(c.lo, c.hi)...)
	slices.Sort(values)
	for i, begin := 0, 0; i < len(values); i++ {
		if i+1 == len(values) || values[i+1] > values[i]+1 {
			do(values[begin], values[i])
			begin = i + 1
		}
	}
	return err
}

// holes finds the values of a chunk that have no row.
func (w walk) holes(c chunk) error {
	if c.rows == c.width() {
		return nil
	}
	hole := func(lo, hi int64) {
		if lo <= hi {
			w.report.Unaccounted += hi - lo + 1
			w.unaccounted(span{lo, hi})
		}
	}
	next := c.lo
	err := w.runs(c, func(lo, hi int64) {
		hole(next, lo-1)
		next = hi + 1
	})
	if err == nil {
		hole(next, c.hi)
	}
	return err
}

// unaccounted finds values that have no row, of an import that is under way or for no reason.
func (w walk) unaccounted(s span) {
	var spans []span
	for _, i := range w.importing {
		if lo, hi := max(s.lo, i.lo), min(s.hi, i.hi); lo <= hi {
			w.find(FindingUnaccounted, w.scope, lo, hi, i.words)
			spans = append(spans, span{lo, hi})
		}
	}
	for _, left := range without([]span{s}, spans) {
		w.find(FindingUnaccounted, w.scope, left.lo, left.hi, "no row and no declared skip: nobody can say where they are; restore the rows from a backup, or declare a skip")
	}
}

// details reads what the counts do not tell.
func (w walk) details(c chunk) error {
	for _, check := range rowChecks {
		if check.due(c) {
			if err := w.check(check, c); err != nil {
				return err
			}
		}
	}
	if c.gaps == 0 || w.gaps.more {
		return nil
	}
	return w.readGaps(c.lo, c.hi)
}

func (w walk) check(check rowCheck, c chunk) error {
	type fault struct {
		value int64
		of    string
	}
	faults, err := query(w.auditor, func(row row) (f fault, err error) {
		err = row.Scan(&f.value, &f.of)
		return f, err
	}, check.query, w.args(c.lo, c.hi)...)
	for _, f := range faults {
		w.find(check.kind, w.scope, f.value, f.value, fmt.Sprintf(check.words, f.of))
	}
	return err
}

func scanMaybe(row row) (value sql.NullInt64, err error) {
	err = row.Scan(&value)
	return value, err
}

func scanValue(row row) (value int64, err error) {
	err = row.Scan(&value)
	return value, err
}
