package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"connectrpc.com/connect"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

type deadWriteOff struct {
	api
	acts
	Tickets []string `arg:"" name:"ticket" help:"The tickets."`
	Reason  string   `required:"" help:"Why; it stays with the numbers."`
}

// Run retires the numbers. Those that are no dead letters are named, and end it with errFindings.
func (c deadWriteOff) Run(ctx context.Context, out io.Writer, t *terminal) error {
	actor, err := c.actor()
	if err != nil {
		return err
	}
	tickets := slices.Compact(slices.Sorted(slices.Values(c.Tickets)))
	if err := c.agreed(t, fmt.Sprintf("Write off %s as %s: a gap each, never issued again", counted(len(tickets), "number"), actor)); err != nil {
		return err
	}
	var done int
	var skipped []string
	for part := range slices.Chunk(tickets, ticketsAtOnce) {
		response, err := c.operator().WriteOffDeadLetters(ctx, connect.NewRequest(&lacunav1.WriteOffDeadLettersRequest{
			Filter: &lacunav1.DeadLetterFilter{Tickets: part}, Actor: actor, Reason: c.Reason,
		}))
		if err != nil {
			return fmt.Errorf("write off %s from %s on, with %d done: %w", counted(len(part), "ticket"), part[0], done, err)
		}
		done, skipped = done+int(response.Msg.GetWrittenOff()), append(skipped, response.Msg.GetSkipped()...)
	}
	fmt.Fprintf(out, "%s written off\n", counted(done, "number"))
	if done == len(tickets) {
		return nil
	}
	fmt.Fprintf(out, "%d were no dead letters", len(tickets)-done)
	if len(skipped) > 0 {
		fmt.Fprintf(out, ", among them %s", strings.Join(skipped, " "))
	}
	fmt.Fprintln(out, ": lacuna get TICKET says what they are")
	return errFindings
}
