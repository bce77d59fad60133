package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

type poolCheck struct {
	api
	BizType string `arg:"" optional:"" name:"biztype" help:"Only this biz type."`
	Runs    bool   `help:"Compare Temporal's open runs with the ledger, too; csv leaves them out, and --output json has them."`
	Output  string `enum:"table,text,json,csv" default:"table" placeholder:"table|json|csv" help:"How it is written; text is another word for table."`
}

// Run prints how the pool differs from the ledger. Numbers on their way between the two are no difference.
func (c poolCheck) Run(ctx context.Context, out io.Writer) error {
	answer, err := c.operator().CheckPool(ctx, connect.NewRequest(&lacunav1.CheckPoolRequest{BizType: c.BizType, Runs: c.Runs}))
	if err != nil {
		return fmt.Errorf("check the pool: %w", err)
	}
	if err := c.print(out, answer.Msg); err != nil {
		return err
	}
	missing := int64(0)
	for _, d := range answer.Msg.GetRuns() {
		missing += d.GetMissing().GetCount()
	}
	if driftTotal(answer.Msg.GetPools())+missing > 0 {
		return errFindings
	}
	return nil
}

func (c poolCheck) print(out io.Writer, m *lacunav1.CheckPoolResponse) error {
	switch c.Output {
	case "json":
		fmt.Fprintln(out, protojson.Format(m))
		return nil
	case "csv":
		return writeAll(out, output{c.Output}, driftColumns, m.GetPools())
	}
	if err := printDrift(out, m.GetPools()); err != nil {
		return err
	}
	if err := printRuns(out, m.GetRuns()); err != nil {
		return err
	}
	if m.GetWarning() != "" {
		fmt.Fprintln(out, "warning:", m.GetWarning())
	}
	return nil
}

// printRuns prints a line for each biz type, then the numbers that differ by name, as far as they are known.
func printRuns(out io.Writer, runs []*lacunav1.RunDrift) error {
	if len(runs) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nBIZ TYPE\tWAIT WITH A RUN\tOPEN RUNS\tRUN MISSING\tNUMBER SETTLED")
	for _, d := range runs {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\n", d.GetBizType(), d.GetTracked(), d.GetOpen(), d.GetMissing().GetCount(), d.GetSettled().GetCount())
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, d := range runs {
		printSample(out, "run missing", d.GetBizType(), d.GetMissing())
		printSample(out, "number settled", d.GetBizType(), d.GetSettled())
	}
	return nil
}
