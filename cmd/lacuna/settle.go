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

// settleAtOnce is how many commands one call of the API carries.
const settleAtOnce = 1000

type confirmCommand struct {
	api
	output
	Tickets []string `arg:"" name:"ticket" help:"The tickets, e.g. ORDER~A-000017~1."`
	Key     string   `placeholder:"BIZKEY" help:"What the numbers are for; a second confirm that names something else is refused."`
	Reason  string   `help:"Why it is done by hand; kept in the numbers' timelines with the name of the token."`
}

// Run confirms, also what was given up and has not been issued again yet.
func (c confirmCommand) Run(ctx context.Context, out io.Writer) error {
	return settle(ctx, out, c.api, c.output, c.Tickets, &lacunav1.Command{Action: lacunav1.Action_ACTION_CONFIRM, BizKey: c.Key, Reason: c.Reason})
}

type abandonCommand struct {
	api
	output
	Tickets []string `arg:"" name:"ticket" help:"The tickets, e.g. ORDER~A-000017~1."`
	Reason  string   `help:"Why it is done by hand; kept in the numbers' timelines with the name of the token."`
}

// Run gives numbers up that no business object uses.
func (c abandonCommand) Run(ctx context.Context, out io.Writer) error {
	return settle(ctx, out, c.api, c.output, c.Tickets, &lacunav1.Command{Action: lacunav1.Action_ACTION_ABANDON, Reason: c.Reason})
}

// settled is what became of one ticket.
type settled struct {
	Ticket  string `json:"ticket"`
	Outcome string `json:"outcome"` // e.g. CONFIRMED; CONFLICT; an error's code
	Message string `json:"message,omitempty"`
	Current string `json:"currentTicket,omitempty"` // that of the number's present life, where it was refused
	done    bool
}

var settledColumns = []column[settled]{
	{"ticket", func(s settled) string { return s.Ticket }},
	{"outcome", func(s settled) string { return s.Outcome }},
	{"current ticket", func(s settled) string { return s.Current }},
	{"message", func(s settled) string { return s.Message }},
}

// settle does the same to every ticket, and prints the outcome of each. Where one was not carried out it ends with
// errFindings: the others were.
func settle(ctx context.Context, out io.Writer, a api, o output, tickets []string, like *lacunav1.Command) error {
	verb := strings.ToLower(strings.TrimPrefix(like.GetAction().String(), "ACTION_"))
	list := newListing(out, o, settledColumns)
	refused := 0
	for chunk := range slices.Chunk(tickets, settleAtOnce) {
		request := &lacunav1.SettleRequest{}
		for _, t := range chunk {
			request.Commands = append(request.Commands, &lacunav1.Command{Ticket: t, Action: like.GetAction(), BizKey: like.GetBizKey(), Reason: like.GetReason()})
		}
		response, err := a.sequence().Settle(ctx, connect.NewRequest(request))
		if err != nil {
			_ = list.end() // what was done until then
			return fmt.Errorf("%s %s from %s on: %w", verb, counted(len(chunk), "ticket"), chunk[0], err)
		}
		for i, r := range response.Msg.GetResults() {
			s := settledOf(chunk[i], r)
			if !s.done {
				refused++
			}
			if err := list.add(s); err != nil {
				return err
			}
		}
	}
	if err := list.end(); err != nil {
		return err
	}
	if refused > 0 {
		return errFindings
	}
	return nil
}

func settledOf(ticket string, r *lacunav1.SettleResult) settled {
	e := r.GetError()
	if e == nil {
		return settled{Ticket: ticket, Outcome: outcomeName(r.GetOutcome()), done: true}
	}
	s := settled{Ticket: ticket, Outcome: e.GetCode(), Message: e.GetMessage()}
	if refusal := e.GetRefusal(); refusal != nil {
		s.Outcome, s.Current = outcomeName(refusal.GetOutcome()), refusal.GetCurrentTicket()
	}
	return s
}

func outcomeName(o lacunav1.Outcome) string { return strings.TrimPrefix(o.String(), outcomePrefix) }
