package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"connectrpc.com/connect"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/sequence"
)

// getCommand shows what is known of one number.
type getCommand struct {
	api
	Of     string `arg:"" name:"ticket-or-biztype" help:"A ticket, e.g. ORDER~A-000017~1, or a biz type."`
	Number string `arg:"" optional:"" name:"number" help:"With a biz type: the seq no, e.g. A-000017."`
	Output string `enum:"text,table,json" default:"text" placeholder:"text|json" help:"How it is written."`
}

// Run prints where the number stands, why it is not in use where it is not, and its lives.
func (c getCommand) Run(ctx context.Context, out io.Writer) error {
	request := &lacunav1.GetRequest{BizType: c.Of, SeqNo: c.Number}
	name := c.Of + " " + c.Number
	if strings.Contains(c.Of, "~") {
		request = &lacunav1.GetRequest{Ticket: c.Of}
		name = c.Of
		if c.Number != "" {
			return fmt.Errorf("get %s: a ticket names the number already: leave %s out", c.Of, c.Number)
		}
	} else if c.Number == "" {
		return fmt.Errorf("get %s: name the number too, as in `lacuna get %s A-000017`, or give its ticket", c.Of, c.Of)
	}
	response, err := c.sequence().Get(ctx, connect.NewRequest(request))
	if err != nil {
		return fmt.Errorf("get %s: %w", name, err)
	}
	if c.Output == "json" {
		text, err := marshal(response.Msg)
		if err == nil {
			_, err = fmt.Fprintf(out, "%s\n", text)
		}
		return err
	}
	writeNumber(out, response.Msg)
	return nil
}

func writeNumber(out io.Writer, m *lacunav1.GetResponse) {
	n := m.GetNumber()
	life := ", never handed out"
	if n.GetLife() > 0 {
		life = fmt.Sprintf(", life %d", n.GetLife())
	}
	fmt.Fprintf(out, "%s %s: %s%s\n", n.GetBizType(), n.GetSeqNo(), stateName(n.GetState()), life)
	fmt.Fprintln(out, standing(n))
	facts := []string{fmt.Sprintf("value %d", n.GetValue())}
	for _, f := range []struct{ name, value string }{{"period", n.GetPeriod()}, {"batch", n.GetBatchId()}} {
		if f.value != "" {
			facts = append(facts, f.name+" "+f.value)
		}
	}
	if n.GetReplays() > 0 {
		facts = append(facts, "issued again "+counted(n.GetReplays(), "time"))
	}
	fmt.Fprintf(out, "%s\n\n", strings.Join(facts, ", "))
	drawLives(out, m)
}

// standing says what the state means for this number, and what to do where somebody must.
func standing(n *lacunav1.Number) string {
	deadline, ticket := stamp(n.GetDeadline()), n.GetTicket()
	switch n.GetState() {
	case lacunav1.State_STATE_RESERVED:
		return "not in use: in the memory of a starter, which hands it out next, or hands it back when it stops"
	case lacunav1.State_STATE_ALLOCATED:
		if n.GetReason() == sequence.ReasonRecovered {
			return "not in use: nobody is known to hold it (" + n.GetReason() + "); whoever does has until " + deadline + " to confirm"
		}
		return "not in use yet: with its caller, who has until " + deadline + " to confirm"
	case lacunav1.State_STATE_CONFIRMED:
		return "in business use, for good"
	case lacunav1.State_STATE_ABANDONED:
		return "not in use: given up (" + orDash(n.GetReason()) + "); a late confirm saves it until its safety window ends at " + deadline + ", or it is issued again"
	case lacunav1.State_STATE_REPLAYABLE:
		return "not in use: free, in the pool, for whoever asks next"
	case lacunav1.State_STATE_REPLAYED:
		return "not in use: claimed from the pool, in the memory of a starter, which hands it out next"
	case lacunav1.State_STATE_DEAD:
		which := ticket
		if which == "" {
			which = "TICKET"
		}
		return "not in use: a dead letter (" + orDash(n.GetReason()) + "), which waits for a person: lacuna dead requeue " + which + ", or lacuna dead write-off " + which
	case lacunav1.State_STATE_RETIRED:
		return "not in use and never issued again, a declared gap: " + orDash(n.GetReason())
	}
	return "in a state that this command line does not know: upgrade it"
}
