package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// AuditFilter says which values are audited: those for which all that is given holds.
type AuditFilter struct {
	BizType string // "" for all
	Period  string // "" for all; needs BizType
	Lo, Hi  *int64 // the first and the last value; need BizType
}

// Validate refuses a filter that means nothing.
func (f AuditFilter) Validate() error {
	switch {
	case f.BizType == "" && (f.Period != "" || f.Lo != nil || f.Hi != nil):
		return sequence.Invalidf("bizType", "is missing: a period and a range are those of one biz type")
	case f.Lo != nil && *f.Lo < 0:
		return sequence.Invalidf("lo", "%d is below 0", *f.Lo)
	case f.Hi != nil && *f.Hi < 0:
		return sequence.Invalidf("hi", "%d is below 0", *f.Hi)
	case f.Lo != nil && f.Hi != nil && *f.Lo > *f.Hi:
		return sequence.Invalidf("hi", "%d is below lo, %d", *f.Hi, *f.Lo)
	case f.BizType == "":
		return nil
	}
	return sequence.ValidateBizTypeName(f.BizType)
}

// from is the later of first and where the filter begins; to is where it ends, at last at the latest.
func (f AuditFilter) from(first int64) int64 {
	if f.Lo != nil {
		return max(first, *f.Lo)
	}
	return first
}

func (f AuditFilter) to(last int64) int64 {
	if f.Hi != nil {
		return min(last, *f.Hi)
	}
	return last
}

// means reports whether a value is meant.
func (f AuditFilter) means(s scope, value int64) bool {
	return (f.BizType == "" || f.BizType == s.bizType) && (f.Period == "" || f.Period == s.period) && f.from(value) == value && f.to(value) == value
}

// Audit is whether every value up to the cursor is accounted for, at one moment.
type Audit struct {
	Time         time.Time // the database's, of the snapshot
	Reports      []AuditReport
	Findings     []Finding // at most MaxFindings
	FindingsLeft int64     // how many more there are
	Gaps         []Gap     // the first ones
	MoreGaps     bool
}

// Clean is an audit without a finding.
func (a Audit) Clean() bool { return len(a.Findings) == 0 }

// Audit holds the values that the filter means against the rows, the declared skips, the dead letters
// and the issuers, all as they stood at one moment, and lists the first gaps of them. It takes no lock,
// and about 4 s for a million rows. What it finds is no error. It returns sequence.ErrNotFound where
// there is no such biz type or nothing was allocated in the period, and a sequence.InvalidError for a
// filter that means nothing.
func (l *Ledger) Audit(ctx context.Context, f AuditFilter, gaps int) (Audit, error) {
	var result Audit
	err := l.audit(ctx, f, gaps, func(a *auditor) error {
		if err := a.run(); err != nil {
			return err
		}
		result = Audit{
			Time: a.now, Reports: a.reports, Findings: a.findings.list(), FindingsLeft: a.findings.left,
			Gaps: a.gaps.list, MoreGaps: a.gaps.more,
		}
		return nil
	})
	return result, err
}

// audit runs do on what the filter means, in one snapshot.
func (l *Ledger) audit(ctx context.Context, f AuditFilter, gaps int, do func(*auditor) error) error {
	if err := f.Validate(); err != nil {
		return err
	}
	err := l.inSnapshot(ctx, func(conn *sql.Conn) error {
		a := &auditor{ctx: ctx, conn: conn, filter: f, gaps: gapPage{limit: gaps}}
		if err := conn.QueryRowContext(ctx, "SELECT UTC_TIMESTAMP(6)").Scan(&a.now); err != nil {
			return err
		}
		if err := a.findScopes(); err != nil {
			return err
		}
		return do(a)
	})
	return classify("audit "+f.BizType, err)
}

// auditor is one audit.
type auditor struct {
	ctx      context.Context //nolint:containedctx // it lives for one snapshot
	conn     *sql.Conn
	filter   AuditFilter
	now      time.Time
	scopes   []scope
	holders  map[string]bool // the issuers that may hold numbers
	reports  []AuditReport
	findings findings
	gaps     gapPage
}

const queryHolders = `SELECT id FROM t_seq_issuer WHERE state IN ('LIVE', 'DEAD')`

func (a *auditor) run() error {
	holders, err := query(a, scanText, queryHolders)
	if err != nil {
		return err
	}
	a.holders = make(map[string]bool, len(holders))
	for _, id := range holders {
		a.holders[id] = true
	}
	for _, s := range a.scopes {
		r, err := a.report(s)
		if err != nil {
			return fmt.Errorf("period %q of %s: %w", s.period, s.bizType, err)
		}
		a.reports = append(a.reports, r)
	}
	return a.letters()
}

func (a *auditor) find(kind FindingKind, s scope, lo, hi int64, words string) {
	a.findings.add(Finding{Kind: kind, BizType: s.bizType, Period: s.period, Lo: lo, Hi: hi, Words: words})
}

func scanText(row row) (text string, err error) {
	err = row.Scan(&text)
	return text, err
}

// query reads every row that a statement of the snapshot gives.
func query[T any](a *auditor, scan func(row) (T, error), statement string, args ...any) ([]T, error) {
	rows, err := a.conn.QueryContext(a.ctx, statement, args...)
	return collect(rows, err, scan)
}
