package main

import (
	"context"
	"fmt"
	"io"

	"connectrpc.com/connect"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

type tokenRevoke struct {
	api
	asks
	Name string `arg:"" help:"Whose."`
}

// Run ends the token. Twice is the same as once.
func (c tokenRevoke) Run(ctx context.Context, out io.Writer, t *terminal) error {
	if err := c.agreed(t, fmt.Sprintf("Revoke token %s: whoever has it is refused, and its name is never given again", c.Name)); err != nil {
		return err
	}
	response, err := c.operator().RevokeToken(ctx, connect.NewRequest(&lacunav1.RevokeTokenRequest{Name: c.Name}))
	if err != nil {
		return fmt.Errorf("revoke token %s: %w", c.Name, err)
	}
	fmt.Fprintf(out, "%s: %s\n", c.Name, stateOf(response.Msg.GetToken()))
	return nil
}
