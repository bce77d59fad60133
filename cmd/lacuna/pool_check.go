package main

import (
	"context"
	"fmt"
	"io"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

type poolCheck struct {
	api
	BizType string `arg:"" optional:"" name:"biztype" help:"Only this biz type."`
	Output  string `enum:"table,text,json,csv" default:"table" placeholder:"table|json|csv" help:"How it is written; text is another word for table."`
}

// Run prints how the pool differs from the ledger. Numbers on their way between the two are no difference.
func (c poolCheck) Run(ctx context.Context, out io.Writer) error {
	answer, err := c.operator().CheckPool(ctx, connect.NewRequest(&lacunav1.CheckPoolRequest{BizType: c.BizType}))
	if err != nil {
		return fmt.Errorf("check the pool: %w", err)
	}
	if err := c.print(out, answer.Msg); err != nil {
		return err
	}
	if driftTotal(answer.Msg.GetPools()) > 0 {
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
	if m.GetWarning() != "" {
		fmt.Fprintln(out, "warning:", m.GetWarning())
	}
	return nil
}
