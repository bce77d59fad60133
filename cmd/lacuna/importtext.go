package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/sequence"
)

// writeImport says what the source brings, what is wrong with it and what it leaves out.
func writeImport(out io.Writer, r ledger.ImportReport) {
	fmt.Fprintf(out, "%s: %s\n\n", r.BizType, counted(r.Numbers, "number"))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "numbers\tthere\there\t")
	moves := slices.SortedFunc(maps.Keys(r.Moves), func(a, b ledger.ImportMove) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	for _, m := range moves {
		fmt.Fprintf(table, "%d\t%s\t%s\t\n", r.Moves[m], m.From, m.To)
	}
	if r.Known > 0 {
		fmt.Fprintf(table, "%d\t\timported before\t\n", r.Known)
	}
	if n := r.FaultCount(); n > 0 {
		fmt.Fprintf(table, "%d\t\tfaulty\t\n", n)
	}
	table.Flush() //nolint:errcheck // a terminal that went away has nobody to tell
	fmt.Fprintln(out)
	fmt.Fprintln(table, "numbering\tnumbers\tfrom\tto\tcursor\tbecomes\tholes\t")
	for _, p := range r.Periods {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t\n", numbering(r.BizType, p.Period), p.Numbers, p.Lo, p.Hi, p.Cursor, p.CursorAfter, p.Holes)
	}
	table.Flush() //nolint:errcheck // a terminal that went away has nobody to tell
	writeHoles(out, r)
	writeFaults(out, r)
	fmt.Fprintln(out)
}

func writeHoles(out io.Writer, r ledger.ImportReport) {
	if len(r.Holes) == 0 {
		return
	}
	fmt.Fprintf(out, "\nnot named: %s\n", counted(r.HoleCount(), "value"))
	for _, h := range r.Holes {
		fmt.Fprintf(out, "  %s %s\n", numbering(r.BizType, h.Period), valueRange(h.Lo, h.Hi))
	}
	if r.HolesLeft > 0 {
		fmt.Fprintf(out, "  and %d ranges more\n", r.HolesLeft)
	}
}

func writeFaults(out io.Writer, r ledger.ImportReport) {
	if len(r.Faults) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s:\n", counted(r.FaultCount(), "fault"))
	for _, f := range r.Faults {
		line := "  "
		if f.Line > 0 {
			line = fmt.Sprintf("  line %d: ", f.Line)
		}
		if f.SeqNo != "" {
			line += fmt.Sprintf("%q: ", f.SeqNo)
		}
		fmt.Fprintf(out, "%s%s\n", line, f.Words)
	}
	if r.FaultsLeft > 0 {
		fmt.Fprintf(out, "  and %d more\n", r.FaultsLeft)
	}
}

// writeImported says what this run did.
func writeImported(out io.Writer, r ledger.ImportReport, holes ledger.Holes) {
	if r.Imported+r.Closed == 0 {
		fmt.Fprintln(out, "nothing was left to import")
		return
	}
	fmt.Fprintf(out, "imported: %s", counted(r.Imported, "number"))
	switch {
	case r.Closed > 0 && holes == ledger.HolesPool:
		fmt.Fprintf(out, ", %s pooled", counted(r.Closed, "value"))
	case r.Closed > 0:
		fmt.Fprintf(out, ", %s declared as skipped", counted(r.Closed, "value"))
	}
	fmt.Fprintf(out, "; they are of batch %s\n", r.BatchID)
}

// writeClosure is the sums of an audit, a line a numbering, and what it found.
func writeClosure(out io.Writer, a ledger.Audit) {
	fmt.Fprintf(out, "\naudit as of %s\n", a.Time.Format(time.RFC3339Nano))
	for _, r := range a.Reports {
		var classes []string
		class := func(n int64, name string) {
			if n > 0 {
				classes = append(classes, fmt.Sprintf("%d %s", n, name))
			}
		}
		for _, s := range sequence.States {
			class(r.States[s], s.String())
		}
		class(r.Skipped, "skipped")
		class(r.Unaccounted, "unaccounted")
		class(r.UnknownStatus, "in an unknown state")
		fmt.Fprintf(out, "  %s: %s up to %d: %s\n", numbering(r.BizType, r.Period), counted(r.Values(), "value"), r.Cursor, strings.Join(classes, ", "))
	}
	if a.Clean() {
		fmt.Fprintln(out, "every value is accounted for")
		return
	}
	fmt.Fprintf(out, "%d findings:\n", int64(len(a.Findings))+a.FindingsLeft)
	for _, f := range a.Findings {
		fmt.Fprintf(out, "  %s %s: %s: %s\n", numbering(f.BizType, f.Period), valueRange(f.Lo, f.Hi), f.Kind, f.Words)
	}
	if a.FindingsLeft > 0 {
		fmt.Fprintf(out, "  and %d more\n", a.FindingsLeft)
	}
}

func valueRange(lo, hi int64) string {
	if lo == hi {
		return fmt.Sprint(lo)
	}
	return fmt.Sprintf("%d to %d", lo, hi)
}
