package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

// auditText is for people: a table whose rows and columns add up, the findings, the gaps.
type auditText struct {
	out    io.Writer
	table  *tabwriter.Writer // of the gaps
	listed int
}

func (p *auditText) audit(a *lacunav1.AuditResponse) {
	fmt.Fprintf(p.out, "as of %s\n\n", a.GetTime().AsTime().Format(time.RFC3339Nano))
	p.sums(a.GetReports())
	p.reasons(a.GetReports())
	fmt.Fprintln(p.out)
	if a.GetClean() {
		fmt.Fprintln(p.out, "every value is accounted for")
		return
	}
	fmt.Fprintf(p.out, "%d findings:\n", int64(len(a.GetFindings()))+a.GetFindingsLeft())
	for _, f := range a.GetFindings() {
		fmt.Fprintf(p.out, "  %s\n", findingLine(f))
	}
	if left := a.GetFindingsLeft(); left > 0 {
		fmt.Fprintf(p.out, "  and %d more\n", left)
	}
}

func (p *auditText) sums(reports []*lacunav1.AuditReport) {
	table := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	titles := []string{"biz type", "from", "cursor"}
	for _, c := range auditClasses {
		titles = append(titles, c.title)
	}
	fmt.Fprintln(table, strings.Join(append(titles, "= values", "open gaps"), "\t")+"\t")
	total := make([]int64, len(auditClasses)+2)
	for _, r := range reports {
		cursor := "none"
		if r.Cursor != nil {
			cursor = fmt.Sprint(r.GetCursor())
		}
		row := []string{numbering(r.GetBizType(), r.GetPeriod()), fmt.Sprint(r.GetFrom()), cursor}
		for i, n := range auditRow(r) {
			total[i] += n
			row = append(row, fmt.Sprint(n))
		}
		fmt.Fprintln(table, strings.Join(row, "\t")+"\t")
	}
	row := []string{"total", "", ""}
	for _, n := range total {
		row = append(row, fmt.Sprint(n))
	}
	fmt.Fprintln(table, strings.Join(row, "\t")+"\t")
	table.Flush() //nolint:errcheck // a terminal that went away has nobody to tell
}

// auditRow is the classes of a report, their sum as the ledger counted the values, and the gaps.
func auditRow(r *lacunav1.AuditReport) []int64 {
	row := make([]int64, 0, len(auditClasses)+2)
	for _, c := range auditClasses {
		row = append(row, c.of(r))
	}
	return append(row, r.GetValues(), r.GetGaps())
}

func (p *auditText) reasons(reports []*lacunav1.AuditReport) {
	for _, r := range reports {
		for _, c := range r.GetRetiredReasons() {
			reason := c.GetReason()
			if reason == "" {
				reason = "other reasons"
			}
			fmt.Fprintf(p.out, "retired of %s: %d: %s\n", numbering(r.GetBizType(), r.GetPeriod()), c.GetCount(), reason)
		}
	}
}

func (p *auditText) gaps(a *lacunav1.AuditResponse) {
	if p.table == nil {
		p.table = tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
		fmt.Fprintf(p.out, "\nopen gaps:\n")
		fmt.Fprintln(p.table, "biz type\tseq no\tticket\tstate\tsince\treason\t")
	}
	for _, g := range a.GetGaps() {
		fmt.Fprintf(p.table, "%s\t%s\t%s\t%s\t%s\t%s\t\n", numbering(g.GetBizType(), g.GetPeriod()), g.GetSeqNo(), orDash(g.GetTicket()),
			stateName(g.GetState()), orDash(gapSince(g)), g.GetReason())
	}
	p.listed += len(a.GetGaps())
	p.table.Flush() //nolint:errcheck // a terminal that went away has nobody to tell
}

func (p *auditText) end() error {
	if p.table != nil {
		fmt.Fprintf(p.out, "%d open gaps\n", p.listed)
	}
	return nil
}

// numbering names a biz type and period.
func numbering(bizType, period string) string {
	if period == "" {
		return bizType
	}
	return bizType + " " + period
}

func findingLine(f *lacunav1.AuditFinding) string {
	values := fmt.Sprint(f.GetLo())
	if f.GetHi() != f.GetLo() {
		values = fmt.Sprintf("%d to %d", f.GetLo(), f.GetHi())
	}
	return fmt.Sprintf("%s %s: %s: %s", numbering(f.GetBizType(), f.GetPeriod()), values, strings.TrimPrefix(f.GetKind().String(), "FINDING_KIND_"), f.GetWords())
}

func gapSince(g *lacunav1.Gap) string {
	if g.GetSince() == nil {
		return ""
	}
	return g.GetSince().AsTime().Format(time.RFC3339)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
