package main

import (
	"context"
	"fmt"
	"io"

	"connectrpc.com/connect"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

// conflictsCommand lists where two holders met.
type conflictsCommand struct {
	api
	output
	BizType string `placeholder:"ORDER" help:"Only of this biz type."`
	Since   moment `placeholder:"TIME" help:"Detected then or later: 2026-12-01T10:00:00Z, 2026-12-01, or 2h ago."`
}

var conflictColumns = []column[*lacunav1.Conflict]{
	{"detected", func(c *lacunav1.Conflict) string { return stamp(c.GetDetectedTime()) }},
	{"refused ticket", (*lacunav1.Conflict).GetTicket},
	{"refused biz key", (*lacunav1.Conflict).GetBizKey},
	{"current ticket", (*lacunav1.Conflict).GetCurrentTicket},
	{"current biz key", (*lacunav1.Conflict).GetCurrentBizKey},
	{"current state", func(c *lacunav1.Conflict) string { return stateName(c.GetCurrentState()) }},
	{"current issued", func(c *lacunav1.Conflict) string { return stamp(c.GetCurrentIssuedTime()) }},
}

// Run prints them, oldest first. Each needs a person: the refused one must take another number.
func (c conflictsCommand) Run(ctx context.Context, out io.Writer) error {
	request := &lacunav1.ListConflictsRequest{BizType: c.BizType, Since: c.Since.message(), PageSize: listPage}
	list := newListing(out, c.output, conflictColumns)
	found := 0
	for {
		page, err := c.operator().ListConflicts(ctx, connect.NewRequest(request))
		if err != nil {
			_ = list.end() // what was read until then
			return fmt.Errorf("list the conflicts, after %d: %w", found, err)
		}
		found += len(page.Msg.GetConflicts())
		if err := list.add(page.Msg.GetConflicts()...); err != nil {
			return err
		}
		if request.PageToken = page.Msg.GetNextPageToken(); request.PageToken == "" {
			break
		}
	}
	return list.end()
}
