package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

type poolRebuild struct {
	api
	BizType string `arg:"" optional:"" name:"biztype" help:"Only this biz type."`
	Actor   string `required:"" env:"LACUNA_ACTOR" help:"Who does it, for the log."`
	DryRun  bool   `help:"Only say what it would correct; exit 2 where that is something."`
	Limit   int32  `default:"100000" help:"How many numbers one call corrects; calls are repeated until nothing is left."`
	Output  string `enum:"table,text,json,csv" default:"table" placeholder:"table|json|csv" help:"How it is written; text is another word for table."`
}

// Run corrects until nothing is left, and prints how far it is after each call. A call that is interrupted after
// it has corrected some is an error; what it did is printed all the same.
func (c poolRebuild) Run(ctx context.Context, out io.Writer) error {
	total := &lacunav1.RebuildPoolResponse{}
	for {
		answer, err := c.operator().RebuildPool(ctx, connect.NewRequest(&lacunav1.RebuildPoolRequest{
			BizType: c.BizType, Limit: c.Limit, DryRun: c.DryRun, Actor: c.Actor,
		}))
		if err != nil {
			return errors.Join(fmt.Errorf("rebuild the pool, with %d numbers corrected: %w", total.GetCorrected(), err), c.printDone(out, total))
		}
		m := answer.Msg
		addRebuild(total, m)
		if c.DryRun || m.GetInterrupted() != "" || m.GetLeft() == 0 || m.GetCorrected() == 0 {
			break
		}
		if (output{c.Output}).people() {
			fmt.Fprintf(out, "corrected %d, %d left\n", total.GetCorrected(), m.GetLeft())
		}
	}
	if err := c.print(out, total); err != nil {
		return err
	}
	switch {
	case total.GetInterrupted() != "":
		return fmt.Errorf("rebuild the pool: interrupted with %d numbers corrected: %s", total.GetCorrected(), total.GetInterrupted())
	case total.GetLeft() > 0, c.DryRun && total.GetCorrected() > 0:
		return errFindings
	}
	return nil
}

func (c poolRebuild) printDone(out io.Writer, total *lacunav1.RebuildPoolResponse) error {
	if total.GetCorrected() == 0 {
		return nil
	}
	return c.print(out, total)
}

func (c poolRebuild) print(out io.Writer, total *lacunav1.RebuildPoolResponse) error {
	switch c.Output {
	case "json":
		fmt.Fprintln(out, protojson.Format(total))
		return nil
	case "csv":
		return writeAll(out, output{c.Output}, driftColumns, total.GetPools())
	}
	if err := printDrift(out, total.GetPools()); err != nil {
		return err
	}
	verb := "corrected"
	if c.DryRun {
		verb = "would correct"
	}
	left := fmt.Sprintf("%d left", total.GetLeft())
	if total.GetInterrupted() != "" {
		left = "then interrupted"
	}
	fmt.Fprintf(out, "%s %d, %s\n", verb, total.GetCorrected(), left)
	return nil
}

// addRebuild adds what one more call did. Sizes and what is left are those of the last one.
func addRebuild(total, m *lacunav1.RebuildPoolResponse) {
	total.Corrected, total.Left, total.Interrupted = total.Corrected+m.GetCorrected(), m.GetLeft(), m.GetInterrupted()
	for _, d := range m.GetPools() {
		i := slices.IndexFunc(total.Pools, func(p *lacunav1.PoolDrift) bool { return p.GetBizType() == d.GetBizType() })
		if i < 0 {
			total.Pools = append(total.Pools, d)
			continue
		}
		before := poolDifferences(total.Pools[i])
		for j, now := range poolDifferences(d) {
			now.Count += before[j].GetCount()
			if len(before[j].GetSeqNos()) > 0 {
				now.SeqNos = before[j].GetSeqNos()
			}
		}
		total.Pools[i] = d
	}
}
