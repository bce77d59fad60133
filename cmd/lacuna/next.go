package main

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"connectrpc.com/connect"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

// nextCommand takes numbers, as a service would.
type nextCommand struct {
	api
	output
	BizType        string `arg:"" name:"biztype" help:"The biz type."`
	Count          int32  `default:"1" help:"How many, 1 to 10000: all of them, or none."`
	Key            string `placeholder:"BIZKEY" help:"What they are for, e.g. an order's key; it stays with them."`
	IdempotencyKey string `placeholder:"KEY" help:"Makes the call repeatable: the same key is answered the same tickets until the confirm timeout is over."`
}

var issuedColumns = []column[*lacunav1.IssuedNumber]{
	{"ticket", (*lacunav1.IssuedNumber).GetTicket},
	{"seq no", (*lacunav1.IssuedNumber).GetSeqNo},
	{"life", func(n *lacunav1.IssuedNumber) string { return strconv.Itoa(int(n.GetLife())) }},
	{"confirm by", func(n *lacunav1.IssuedNumber) string { return stamp(n.GetConfirmBy()) }},
}

// Run prints the tickets. What is neither confirmed nor abandoned by the time that stands there counts as abandoned.
func (c nextCommand) Run(ctx context.Context, out io.Writer) error {
	response, err := c.sequence().Next(ctx, connect.NewRequest(&lacunav1.NextRequest{
		BizType: c.BizType, BizKey: c.Key, Count: &c.Count, IdempotencyKey: c.IdempotencyKey,
	}))
	if err != nil {
		return fmt.Errorf("take %s of %s: %w", counted(c.Count, "number"), c.BizType, err)
	}
	return writeAll(out, c.output, issuedColumns, response.Msg.GetNumbers())
}
