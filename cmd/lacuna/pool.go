package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

// poolCommands compare the pool in Redis with the ledger.
type poolCommands struct {
	Check   poolCheck   `cmd:"" help:"Compare the pool with the ledger; exit 2 where they differ."`
	Rebuild poolRebuild `cmd:"" help:"Bring the pool back to what the ledger says, also while numbers are issued."`
}

// poolDifferences are the ways in which a number may differ, in the order of the table.
func poolDifferences(d *lacunav1.PoolDrift) []struct {
	name string
	*lacunav1.PoolDifference
} {
	return []struct {
		name string
		*lacunav1.PoolDifference
	}{
		{"missing", d.GetMissing()}, {"stale", d.GetStale()}, {"wrong score", d.GetWrongScore()}, {"wrong period", d.GetWrongPeriod()},
	}
}

// driftColumns are those of CSV.
var driftColumns = []column[*lacunav1.PoolDrift]{
	{"biz type", (*lacunav1.PoolDrift).GetBizType},
	{"in ledger", func(d *lacunav1.PoolDrift) string { return strconv.FormatInt(d.GetInLedger(), 10) }},
	{"in redis", func(d *lacunav1.PoolDrift) string { return strconv.FormatInt(d.GetInRedis(), 10) }},
	{"missing", func(d *lacunav1.PoolDrift) string { return strconv.FormatInt(d.GetMissing().GetCount(), 10) }},
	{"stale", func(d *lacunav1.PoolDrift) string { return strconv.FormatInt(d.GetStale().GetCount(), 10) }},
	{"wrong score", func(d *lacunav1.PoolDrift) string { return strconv.FormatInt(d.GetWrongScore().GetCount(), 10) }},
	{"wrong period", func(d *lacunav1.PoolDrift) string { return strconv.FormatInt(d.GetWrongPeriod().GetCount(), 10) }},
}

func driftTotal(pools []*lacunav1.PoolDrift) (n int64) {
	for _, d := range pools {
		for _, difference := range poolDifferences(d) {
			n += difference.GetCount()
		}
	}
	return n
}

// printDrift prints a line for each biz type, then the numbers that differ by name, as far as they are known.
func printDrift(out io.Writer, pools []*lacunav1.PoolDrift) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "BIZ TYPE\tIN THE LEDGER\tIN REDIS\tMISSING\tSTALE\tWRONG SCORE\tWRONG PERIOD")
	for _, d := range pools {
		fmt.Fprintf(table, "%s\t%d\t%d", d.GetBizType(), d.GetInLedger(), d.GetInRedis())
		for _, difference := range poolDifferences(d) {
			fmt.Fprintf(table, "\t%d", difference.GetCount())
		}
		fmt.Fprintln(table)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, d := range pools {
		for _, difference := range poolDifferences(d) {
			printSample(out, difference.name, d.GetBizType(), difference.PoolDifference)
		}
	}
	return nil
}

func printSample(out io.Writer, name, bizType string, d *lacunav1.PoolDifference) {
	if d.GetCount() == 0 {
		return
	}
	more := ""
	if n := d.GetCount() - int64(len(d.GetSeqNos())); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	fmt.Fprintf(out, "%s of %s: %s%s\n", name, bizType, strings.Join(d.GetSeqNos(), " "), more)
}
