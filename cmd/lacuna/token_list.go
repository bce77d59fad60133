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
	Output string `enum:"text,json" default:"text" help:"text or json."`
}

// Run prints all tokens, also those that are over: their names stand in the ledger.
func (c tokenList) Run(ctx context.Context, out io.Writer) error {
	response, err := c.operator().ListTokens(ctx, connect.NewRequest(&lacunav1.ListTokensRequest{}))
	if err != nil {
		return fmt.Errorf("list the tokens: %w", err)
	}
	if c.Output == "json" {
		fmt.Fprintln(out, protojson.Format(response.Msg))
		return nil
	}
	return writeTokens(out, response.Msg.GetTokens())
}
