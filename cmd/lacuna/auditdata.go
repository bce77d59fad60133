package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"strconv"

	"google.golang.org/protobuf/encoding/protojson"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

// auditJSON writes the API's answers, one a line: the audit, and then further pages of gaps.
type auditJSON struct {
	out   io.Writer
	list  bool // the gaps are listed
	begun bool
	err   error
}

func (p *auditJSON) audit(a *lacunav1.AuditResponse) {
	if !p.list {
		a.Gaps, a.NextGapsPageToken = nil, ""
	}
	p.write(a)
}

func (p *auditJSON) gaps(a *lacunav1.AuditResponse) {
	if p.begun { // the first page stands with the audit
		p.write(a)
	}
	p.begun = true
}

func (p *auditJSON) end() error { return p.err }

func (p *auditJSON) write(a *lacunav1.AuditResponse) {
	text, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(a)
	if err == nil {
		_, err = fmt.Fprintf(p.out, "%s\n", text)
	}
	if p.err == nil {
		p.err = err
	}
}

// auditCSV writes a line for each class of each biz type and period, or one for each gap. Findings
// have other columns: they go to standard error.
type auditCSV struct {
	csv  *csv.Writer
	list bool
}

func newAuditCSV(out io.Writer, list bool) *auditCSV {
	return &auditCSV{csv: csv.NewWriter(out), list: list}
}

func (p *auditCSV) audit(a *lacunav1.AuditResponse) {
	for _, f := range a.GetFindings() {
		fmt.Fprintln(os.Stderr, findingLine(f))
	}
	if left := a.GetFindingsLeft(); left > 0 {
		fmt.Fprintf(os.Stderr, "and %d more findings\n", left)
	}
	if p.list {
		p.line("biz_type", "period", "value", "seq_no", "ticket", "state", "since", "biz_key", "reason")
		return
	}
	p.line("biz_type", "period", "from", "to", "class", "count")
	for _, r := range a.GetReports() {
		for _, c := range auditClasses {
			p.line(r.GetBizType(), r.GetPeriod(), number(r.GetFrom()), number(r.GetTo()), c.name, number(c.of(r)))
		}
	}
}

func (p *auditCSV) gaps(a *lacunav1.AuditResponse) {
	for _, g := range a.GetGaps() {
		p.line(g.GetBizType(), g.GetPeriod(), number(g.GetValue()), g.GetSeqNo(), g.GetTicket(), stateName(g.GetState()), gapSince(g), g.GetBizKey(), g.GetReason())
	}
	p.csv.Flush()
}

func (p *auditCSV) end() error {
	p.csv.Flush()
	return p.csv.Error()
}

func (p *auditCSV) line(fields ...string) { _ = p.csv.Write(fields) } // end tells what went wrong

func number(n int64) string { return strconv.FormatInt(n, 10) }
