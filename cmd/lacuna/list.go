package main

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"connectrpc.com/connect"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

// listPage is how many items of a list one call asks for.
const listPage = 1000

// listCommand lists numbers of a biz type.
type listCommand struct {
	api
	output
	BizType string    `arg:"" name:"biztype" help:"The biz type."`
	State   stateFlag `placeholder:"STATE" help:"Only those in the state, e.g. ABANDONED."`
	Key     string    `placeholder:"BIZKEY" help:"Only those whose present life is for it."`
	From    string    `placeholder:"SEQNO" help:"The first."`
	To      string    `placeholder:"SEQNO" help:"The last."`
	Since   moment    `placeholder:"TIME" help:"Handed out then or later: 2026-12-01T10:00:00Z, 2026-12-01, or 2h ago. Needs a state, a key or a range."`
	Until   moment    `placeholder:"TIME" help:"Handed out before then."`
	Limit   int       `default:"100" help:"How many at most; 0 for all."`
}

var numberColumns = []column[*lacunav1.Number]{
	{"seq no", (*lacunav1.Number).GetSeqNo},
	{"state", func(n *lacunav1.Number) string { return stateName(n.GetState()) }},
	{"life", func(n *lacunav1.Number) string { return strconv.Itoa(int(n.GetLife())) }},
	{"biz key", (*lacunav1.Number).GetBizKey},
	{"issued", func(n *lacunav1.Number) string { return stamp(n.GetIssuedTime()) }},
	{"confirmed", func(n *lacunav1.Number) string { return stamp(n.GetConfirmedTime()) }},
	{"abandoned", func(n *lacunav1.Number) string { return stamp(n.GetAbandonedTime()) }},
	{"deadline", func(n *lacunav1.Number) string { return stamp(n.GetDeadline()) }},
	{"reason", (*lacunav1.Number).GetReason},
}

// Run prints the numbers as the pages come, and says whether there are more.
func (c listCommand) Run(ctx context.Context, out io.Writer) error {
	request := &lacunav1.ListNumbersRequest{
		BizType: c.BizType, State: c.State.state, BizKey: c.Key, FromSeqNo: c.From, ToSeqNo: c.To, Since: c.Since.message(), Until: c.Until.message(),
	}
	list := newListing(out, c.output, numberColumns)
	listed, more, err := eachNumber(ctx, c.api, request, c.Limit, func(n *lacunav1.Number) error { return list.add(n) })
	if ended := list.end(); err == nil {
		err = ended
	}
	if err != nil {
		return fmt.Errorf("list numbers of %s, after %d: %w", c.BizType, listed, err)
	}
	if more && c.people() {
		fmt.Fprintf(out, "there may be more: --limit %d, or 0 for all\n", 10*c.Limit)
	}
	return nil
}

// eachNumber reads the pages of a list until it ends or the limit is reached, 0 for none, and says how many there
// were and whether there may be more.
func eachNumber(ctx context.Context, a api, request *lacunav1.ListNumbersRequest, limit int, do func(*lacunav1.Number) error) (listed int, more bool, err error) {
	operator := a.operator()
	for {
		request.PageSize = listPage
		if limit > 0 {
			request.PageSize = int32(min(listPage, limit-listed)) //nolint:gosec // at most listPage
		}
		page, err := operator.ListNumbers(ctx, connect.NewRequest(request))
		if err != nil {
			return listed, true, err
		}
		for _, n := range page.Msg.GetNumbers() {
			if err := do(n); err != nil {
				return listed, true, err
			}
			listed++
		}
		request.PageToken = page.Msg.GetNextPageToken()
		if request.PageToken == "" || limit > 0 && listed >= limit {
			return listed, request.PageToken != "", nil
		}
	}
}
