package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/lacuna-seq/lacuna/sequence"
)

const (
	queryCursorsOf   = `SELECT period, value FROM t_seq_cursor WHERE biz_type = ?`
	querySkipsOf     = `SELECT period, lo, hi FROM t_seq_skip WHERE biz_type = ? AND lo <= hi ORDER BY period, lo`
	queryImportLives = `SELECT seq_no FROM t_seq_life WHERE biz_type = ? AND batch_id = ? AND seq_no IN (`
	queryRowsAfter   = `SELECT value FROM t_seq_issue_log FORCE INDEX (uk_value) WHERE biz_type = ? AND period = ? AND value > ? AND value <= ?
		ORDER BY value LIMIT ?`
	// What is archived while the log is read is found here: it is read after it.
	queryArchivedAfter = `SELECT value FROM t_seq_archive FORCE INDEX (uk_value) WHERE biz_type = ? AND period = ? AND value > ? AND value <= ?
		ORDER BY value LIMIT ?`
)

// importPeriod is what a source has of one period, and how the ledger stood when it was read.
type importPeriod struct {
	name   string
	seen   valueSet // what the source names
	known  valueSet // what of it stands in the ledger
	n      int64
	lo, hi int64
	cursor int64
	ranges []span // for which this import has raised the cursor
	skips  []span
	holes  []span
}

// lookup is a number at or below the cursor, to be held against its row.
type lookup struct {
	line   ImportLine
	number sequence.Number
	period *importPeriod
}

// read holds the whole source against the rules and the ledger, and writes nothing.
func (r *importer) read(ctx context.Context) error {
	if err := r.prepare(ctx); err != nil {
		return err
	}
	var pending []lookup
	err := r.Source.Read(ctx, func(line ImportLine) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if at := r.check(line); at != nil {
			pending = append(pending, *at)
		}
		var err error
		if len(pending) == MaxBatch {
			err = r.lookUp(ctx, pending)
			pending = pending[:0]
		}
		if r.report.Numbers%MaxBatch == 0 {
			r.Progress(ImportProgress{Step: "checked", Done: r.report.Numbers})
		}
		return err
	})
	if err == nil {
		err = r.lookUp(ctx, pending)
	}
	if err != nil {
		return err
	}
	r.Progress(ImportProgress{Step: "checked", Done: r.report.Numbers, Total: r.report.Numbers})
	slices.SortStableFunc(r.report.Faults, func(a, b ImportFault) int { return cmp.Compare(a.Line, b.Line) })
	return r.findHoles(ctx)
}

// prepare reads what the source is held against.
func (r *importer) prepare(ctx context.Context) error {
	identity, err := r.Source.Identity(ctx)
	if err != nil {
		return err
	}
	r.batchID = importBatchID(r.BizType, identity)
	r.report = ImportReport{BizType: r.BizType, BatchID: r.batchID, Moves: map[ImportMove]int64{}}
	r.periods = map[string]*importPeriod{}
	db := r.ledger.db
	r.rules, err = scanBizType(db.QueryRowContext(ctx, queryBizType, r.BizType), &r.now)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("biz type %s: %w", r.BizType, sequence.ErrNotFound)
	}
	if err != nil {
		return err
	}
	if err := refuseOtherImport(ctx, db, r.BizType, r.batchID); err != nil {
		return err
	}
	if r.record, err = readImport(ctx, db, queryImport, r.batchID); err != nil {
		return err
	}
	r.report.Resumed, r.report.Done = r.record.state != "", r.record.state == importDone
	return r.readPeriods(ctx)
}

// readPeriods reads the cursors, and what lies below them without a row.
func (r *importer) readPeriods(ctx context.Context) error {
	type periodRange struct {
		period string
		span
	}
	scanRange := func(row row) (p periodRange, err error) { return p, row.Scan(&p.period, &p.lo, &p.hi) }
	rows, err := r.ledger.db.QueryContext(ctx, queryCursorsOf, r.BizType)
	cursors, err := collect(rows, err, func(row row) (p periodRange, err error) { return p, row.Scan(&p.period, &p.hi) })
	if err != nil {
		return err
	}
	for _, c := range cursors {
		r.period(c.period).cursor = c.hi
	}
	rows, err = r.ledger.db.QueryContext(ctx, queryImportRanges, r.batchID)
	ranges, err := collect(rows, err, scanRange)
	if err != nil {
		return err
	}
	for _, g := range ranges {
		p := r.period(g.period)
		p.ranges = append(p.ranges, g.span)
	}
	rows, err = r.ledger.db.QueryContext(ctx, querySkipsOf, r.BizType)
	skips, err := collect(rows, err, scanRange)
	for _, s := range skips {
		p := r.period(s.period)
		p.skips = append(p.skips, s.span)
	}
	return err
}

// period is that of a name. One without a cursor begins at the start.
func (r *importer) period(name string) *importPeriod {
	p := r.periods[name]
	if p == nil {
		p = &importPeriod{name: name, seen: valueSet{}, known: valueSet{}, cursor: r.rules.Start - 1}
		r.periods[name] = p
	}
	return p
}

// inOrder is the periods in the order of their names, in which their cursors are locked.
func (r *importer) inOrder() []*importPeriod {
	return slices.SortedFunc(maps.Values(r.periods), func(a, b *importPeriod) int { return cmp.Compare(a.name, b.name) })
}

// check holds a line against the rules and the lines before it. What lies at or below the cursor it gives
// back, to be looked up.
func (r *importer) check(line ImportLine) *lookup {
	r.report.Numbers++
	if line.Fault != nil {
		r.report.fault(line, line.Fault)
		return nil
	}
	n, err := r.rules.Import(line.Number, r.now)
	if err != nil {
		r.report.fault(line, err)
		return nil
	}
	p := r.period(n.Period)
	if !p.seen.add(n.Value) {
		r.report.fault(line, sequence.Invalidf("seqNo", "stands in the source before"))
		return nil
	}
	if p.n++; p.n == 1 {
		p.lo, p.hi = n.Value, n.Value
	}
	p.lo, p.hi = min(p.lo, n.Value), max(p.hi, n.Value)
	if n.Value <= p.cursor {
		return &lookup{line, n, p}
	}
	r.report.Moves[ImportMove{line.Number.State, n.State}]++
	return nil
}

// lookUp holds numbers at or below their cursors against their rows.
func (r *importer) lookUp(ctx context.Context, pending []lookup) error {
	if len(pending) == 0 {
		return nil
	}
	seqNos := make([]string, len(pending))
	for i, p := range pending {
		seqNos[i] = p.number.SeqNo
	}
	found, err := r.ledger.Numbers(ctx, r.BizType, seqNos)
	if err != nil {
		return err
	}
	rows := make(map[string]sequence.Number, len(found))
	var foreign []string
	for _, n := range found {
		rows[n.SeqNo] = n
		if n.BatchID != r.batchID {
			foreign = append(foreign, n.SeqNo)
		}
	}
	ours, err := r.issuedSince(ctx, foreign)
	if err != nil {
		return err
	}
	for _, p := range pending {
		n, exists := rows[p.number.SeqNo]
		switch {
		case exists:
			r.compare(p, n, n.BatchID == r.batchID || ours[n.SeqNo])
		case r.record.state == importRunning && within(p.period.ranges, p.number.Value) && !within(p.period.skips, p.number.Value):
			r.report.Moves[ImportMove{p.line.Number.State, p.number.State}]++
		case within(p.period.skips, p.number.Value):
			r.report.fault(p.line, sequence.Invalidf("seqNo", "its value %d was declared as skipped", p.number.Value))
		default:
			r.report.fault(p.line, sequence.Invalidf("seqNo", "its value %d is below the cursor, %d, and has no row: audit the biz type", p.number.Value, p.period.cursor))
		}
	}
	return nil
}

// compare holds a number against its row. One of this import stays as it is there.
func (r *importer) compare(p lookup, n sequence.Number, ours bool) {
	switch {
	case !ours:
		r.report.fault(p.line, sequence.Invalidf("seqNo", "stands in the ledger as %s of life %d, and not by this import", n.State, n.Life))
	case !sequence.ImportedBefore(p.number, n):
		r.report.fault(p.line, sequence.Invalidf("seqNo", "was imported before, and is %s of life %d: the source says %s of life %d by now", n.State, n.Life, p.line.Number.State, p.number.Life))
	default:
		r.report.Known++
		p.period.known.add(n.Value)
	}
}

// issuedSince tells which of the numbers had a life that this import brought, and were issued again since.
func (r *importer) issuedSince(ctx context.Context, seqNos []string) (map[string]bool, error) {
	if len(seqNos) == 0 {
		return nil, nil
	}
	args := []any{r.BizType, r.batchID}
	for _, s := range seqNos {
		args = append(args, s)
	}
	rows, err := r.ledger.db.QueryContext(ctx, queryImportLives+placeholders(len(seqNos))+")", args...)
	found, err := collect(rows, err, scanText)
	ours := make(map[string]bool, len(found))
	for _, s := range found {
		ours[s] = true
	}
	return ours, err
}

// findHoles lists the values that are to be accounted for and that neither the source nor the ledger does.
func (r *importer) findHoles(ctx context.Context) error {
	for _, p := range r.inOrder() {
		if p.n == 0 {
			continue
		}
		if r.record.state == importRunning {
			for _, g := range p.ranges {
				taken, err := r.taken(ctx, p, g)
				if err != nil {
					return err
				}
				p.holes = append(p.holes, without(taken.gaps(g.lo, g.hi), p.skips)...)
			}
		}
		p.holes = append(p.holes, p.seen.gaps(p.cursor+1, p.hi)...)
	}
	r.reportPeriods()
	return nil
}

// reportPeriods says what the import brings to each period, and leaves out.
func (r *importer) reportPeriods() {
	r.report.Periods, r.report.Holes, r.report.HolesLeft = nil, nil, 0
	for _, p := range r.inOrder() {
		if p.n == 0 {
			continue
		}
		var values int64
		for _, h := range p.holes {
			values += h.hi - h.lo + 1
			if len(r.report.Holes) == MaxImportHoles {
				r.report.HolesLeft++
				continue
			}
			r.report.Holes = append(r.report.Holes, ImportHole{p.name, h.lo, h.hi})
		}
		r.report.Periods = append(r.report.Periods, ImportPeriod{
			Period: p.name, Numbers: p.n, Lo: p.lo, Hi: p.hi, Cursor: p.cursor, CursorAfter: max(p.cursor, p.hi), Holes: values,
		})
	}
}

// taken is the values of a range that the source names or that have a row.
func (r *importer) taken(ctx context.Context, p *importPeriod, in span) (valueSet, error) {
	taken := p.seen.clone()
	for _, statement := range []string{queryRowsAfter, queryArchivedAfter} {
		for after, more := in.lo-1, true; more; {
			rows, err := r.ledger.db.QueryContext(ctx, statement, r.BizType, p.name, after, in.hi, auditChunk)
			values, err := collect(rows, err, scanValue)
			if err != nil {
				return nil, err
			}
			for _, v := range values {
				taken.add(v)
				after = v
			}
			more = len(values) == auditChunk
		}
	}
	return taken, nil
}
