package main

import (
	"context"
	"fmt"
	"io"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

type tokenList struct {
	api
	Output string `enum:"table,text,json,csv" default:"table" placeholder:"table|json|csv" help:"How it is written; text is another word for table."`
}

// Run prints all tokens, also those that are over: their names stand in the ledger.
func (c tokenList) Run(ctx context.Context, out io.Writer) error {
	response, err := c.operator().ListTokens(ctx, connect.NewRequest(&lacunav1.ListTokensRequest{}))
	if err != nil {
		return fmt.Errorf("list the tokens: %w", err)
	}
	switch c.Output {
	case "json":
		fmt.Fprintln(out, protojson.Format(response.Msg))
		return nil
	case "csv":
		return writeAll(out, output{c.Output}, tokenColumns, response.Msg.GetTokens())
	}
	return writeTokens(out, response.Msg.GetTokens())
}
