package ledger

import (
	"fmt"

	"github.com/lacuna-seq/lacuna/sequence"
)

// auditChunk is how many rows one statement of an audit reads.
const auditChunk = 20_000

// A further table of numbers is a UNION ALL in the first of these, ordered and limited as a whole, and in
// the second; where two tables can hold one value, runs finds it twice.
const (
	queryChunk = `SELECT status, life > 0, COUNT(*), MAX(value) FROM (SELECT value, status, life FROM t_seq_issue_log FORCE INDEX (uk_value)
		WHERE biz_type = ? AND period = ? AND value BETWEEN ? AND ? ORDER BY value LIMIT ?) n GROUP BY status, life > 0`
	queryValues = `SELECT n.value` + fromRange + ` ORDER BY n.value`
	fromRange   = ` FROM t_seq_issue_log n FORCE INDEX (uk_value) WHERE n.biz_type = ? AND n.period = ? AND n.value BETWEEN ? AND ?`

	// Who holds numbers, and why numbers were retired: read at once, since each pass over the rows costs as
	// much as the counting.
	queryDetails = `SELECT n.status, n.owner, IF(n.status = 7, n.reason, '') AS why, COUNT(*)` + fromRange + ` AND n.status IN (0, 5, 7) GROUP BY n.status, n.owner, why`
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
	scope   scope
	report  *AuditReport
	reasons map[string]int64
}

// chunk is at most auditChunk consecutive rows, counted, and all values from lo to hi around them.
type chunk struct {
	lo, hi        int64
	rows, unknown int64
	states        [len(sequence.States)]int64
	gaps          int64
	strangers     bool // an owner is no issuer that holds anything
}

func (c chunk) width() int64 { return c.hi - c.lo + 1 }

// chunks gives every row from lo to hi to do. It takes as many rows at a time, however far apart they
// lie: a cursor that jumped costs nothing.
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
	type group struct {
		state       sequence.State
		issued      bool
		count, last int64
	}
	groups, err := query(w.auditor, func(row row) (g group, err error) {
		err = row.Scan(&g.state, &g.issued, &g.count, &g.last)
		return g, err
	}, queryChunk, append(w.args(lo, hi), auditChunk)...)
	c := chunk{lo: lo, hi: hi}
	last := lo
	for _, g := range groups {
		c.rows, last = c.rows+g.count, max(last, g.last)
		if g.state < 0 || int(g.state) >= len(c.states) {
			c.unknown += g.count
			continue
		}
		c.states[g.state] += g.count
		if isGap(g.state, g.issued) {
			c.gaps += g.count
		}
	}
	if c.rows == auditChunk {
		c.hi = last
	}
	return c, err
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
}

// runs gives the ranges of a chunk in which every value has a row.
func (w walk) runs(c chunk, do func(lo, hi int64)) error {
	if c.rows == 0 || c.rows == c.width() {
		if c.rows > 0 {
			do(c.lo, c.hi)
		}
		return nil
	}
	values, err := query(w.auditor, scanValue, queryValues, w.args(c.lo, c.hi)...)
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
			w.find(FindingUnaccounted, w.scope, lo, hi, "no row and no declared skip: nobody can say where they are; restore the rows from a backup, or declare a skip")
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

// details reads what the counts do not tell.
func (w walk) details(c chunk) error {
	if c.states[sequence.Reserved]+c.states[sequence.Replayed]+c.states[sequence.Retired] > 0 {
		if err := w.ownersAndReasons(&c); err != nil {
			return err
		}
	}
	for _, check := range rowChecks {
		if check.due(c) {
			if err := w.check(check, c); err != nil {
				return err
			}
		}
	}
	return w.gaps.read(w, c)
}

func (w walk) ownersAndReasons(c *chunk) error {
	type group struct {
		state      sequence.State
		owner, why string
		count      int64
	}
	groups, err := query(w.auditor, func(row row) (g group, err error) {
		err = row.Scan(&g.state, &g.owner, &g.why, &g.count)
		return g, err
	}, queryDetails, w.args(c.lo, c.hi)...)
	for _, g := range groups {
		switch {
		case g.state == sequence.Retired:
			w.reasons[g.why] += g.count
		case !w.holders[g.owner]:
			c.strangers = true
		}
	}
	return err
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

func scanValue(row row) (value int64, err error) {
	err = row.Scan(&value)
	return value, err
}
