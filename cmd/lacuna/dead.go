package main

import (
	"context"
	"fmt"
	"io"
	"strconv"

	"connectrpc.com/connect"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

// deadCommands are for the numbers that wait for a person.
type deadCommands struct {
	List     deadList     `cmd:"" help:"List the dead letters, oldest first."`
	Requeue  deadRequeue  `cmd:"" help:"Send numbers back on their way to the pool, once what was wrong is repaired."`
	WriteOff deadWriteOff `cmd:"" help:"Declare gaps: the numbers are never issued again."`
}

// deadFilter says which dead letters are meant.
type deadFilter struct {
	BizType     string    `placeholder:"ORDER" help:"Those of this biz type."`
	Cause       causeFlag `placeholder:"CAUSE" help:"Those of this cause: POOL_AWAY, PROBE_AWAY, CANCELLED, NOT_CONFIRMED, STEPPED_BACK."`
	FailedAgain bool      `help:"Those that were requeued before, in this life, and failed again."`
}

func (f deadFilter) message(tickets ...string) *lacunav1.DeadLetterFilter {
	return &lacunav1.DeadLetterFilter{Tickets: tickets, BizType: f.BizType, Cause: f.Cause.cause, FailedAgain: f.FailedAgain}
}

type deadList struct {
	api
	output
	deadFilter
	Limit int `default:"100" help:"How many at most; 0 for all."`
}

var deadColumns = []column[*lacunav1.DeadLetter]{
	{"ticket", (*lacunav1.DeadLetter).GetTicket},
	{"cause", func(d *lacunav1.DeadLetter) string { return causeName(d.GetCause()) }},
	{"since", func(d *lacunav1.DeadLetter) string { return stamp(d.GetDeadTime()) }},
	{"biz key", (*lacunav1.DeadLetter).GetBizKey},
	{"was", func(d *lacunav1.DeadLetter) string { return stateName(d.GetStateBefore()) }},
	{"requeues", func(d *lacunav1.DeadLetter) string { return strconv.Itoa(int(d.GetRequeues())) }},
	{"reason", (*lacunav1.DeadLetter).GetReason},
	{"run", (*lacunav1.DeadLetter).GetRunUrl},
}

// Run prints the letters and, for people, how many there are by cause.
func (c deadList) Run(ctx context.Context, out io.Writer) error {
	list := newListing(out, c.output, deadColumns)
	counts, err := eachDeadLetter(ctx, c.api, c.message(), c.Limit, func(d *lacunav1.DeadLetter) error { return list.add(d) })
	if ended := list.end(); err == nil {
		err = ended
	}
	if err != nil {
		return fmt.Errorf("list the dead letters: %w", err)
	}
	if c.people() {
		writeDeadCounts(out, counts)
	}
	return nil
}

func writeDeadCounts(out io.Writer, counts []*lacunav1.DeadLetterCount) {
	if len(counts) == 0 {
		fmt.Fprintln(out, "no dead letters")
	}
	for _, n := range counts {
		fmt.Fprintf(out, "%s of %s: %s\n", causeName(n.GetCause()), n.GetBizType(), counted(n.GetCount(), "dead letter"))
	}
}

// eachDeadLetter reads the letters page by page, at most limit, 0 for all, and gives how many there are.
func eachDeadLetter(ctx context.Context, a api, filter *lacunav1.DeadLetterFilter, limit int, do func(*lacunav1.DeadLetter) error) ([]*lacunav1.DeadLetterCount, error) {
	operator := a.operator()
	request := &lacunav1.ListDeadLettersRequest{Filter: filter}
	var counts []*lacunav1.DeadLetterCount
	for listed := 0; ; {
		request.PageSize = listPage
		if limit > 0 {
			request.PageSize = int32(min(listPage, limit-listed)) //nolint:gosec // at most listPage
		}
		page, err := operator.ListDeadLetters(ctx, connect.NewRequest(request))
		if err != nil {
			return counts, err
		}
		if request.PageToken == "" {
			counts = page.Msg.GetCounts()
		}
		for _, d := range page.Msg.GetDeadLetters() {
			if err := do(d); err != nil {
				return counts, err
			}
			listed++
		}
		request.PageToken = page.Msg.GetNextPageToken()
		if request.PageToken == "" || limit > 0 && listed >= limit {
			return counts, nil
		}
	}
}
