package console

import (
	"errors"
	"net/http"
	"strings"

	"connectrpc.com/connect"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

// settlePage asks before a number is settled by hand.
type settlePage struct {
	*numberPage

	Abandon bool
	// Life is the one that the person has seen: what is done is done to it, or refused.
	Life   string
	BizKey string
	Reason string
	Fault  *fault            // of the act as a whole
	Faults map[string]string // of single fields
}

// askConfirm and askAbandon ask for a reason; both work without JavaScript.
func (c *Console) askConfirm(r *http.Request) (view, error) { return c.askSettle(r, false) }
func (c *Console) askAbandon(r *http.Request) (view, error) { return c.askSettle(r, true) }

func (c *Console) askSettle(r *http.Request, abandon bool) (view, error) {
	n, err := c.readNumber(r)
	if err != nil {
		return view{}, err
	}
	if offered := n.Confirms && !abandon || n.Abandons && abandon; !offered {
		return view{to: n.Path}, nil // it has moved on since the page was made
	}
	return settleView(http.StatusOK, &settlePage{numberPage: n, Abandon: abandon, Life: n.Lives[0].Number, BizKey: n.GetBizKey()}), nil
}

func (c *Console) confirm(r *http.Request) (view, error) {
	return c.settle(r, false, func(ticket, reason string) (lacunav1.Outcome, error) {
		answer, err := c.Sequence.Confirm(r.Context(), connect.NewRequest(&lacunav1.ConfirmRequest{Ticket: ticket, BizKey: r.PostFormValue("bizKey"), Reason: reason}))
		if err != nil {
			return 0, err
		}
		return answer.Msg.GetOutcome(), nil
	})
}

func (c *Console) abandon(r *http.Request) (view, error) {
	return c.settle(r, true, func(ticket, reason string) (lacunav1.Outcome, error) {
		answer, err := c.Sequence.Abandon(r.Context(), connect.NewRequest(&lacunav1.AbandonRequest{Ticket: ticket, Reason: reason}))
		if err != nil {
			return 0, err
		}
		return answer.Msg.GetOutcome(), nil
	})
}

// settle settles the number, or asks again with what was wrong. A reason is required here, where a person acts: it is
// how the act is kept with its name.
func (c *Console) settle(r *http.Request, abandon bool, do func(ticket, reason string) (lacunav1.Outcome, error)) (view, error) {
	p := &settlePage{
		Abandon: abandon, Life: r.PostFormValue("life"), BizKey: r.PostFormValue("bizKey"), Reason: strings.TrimSpace(r.PostFormValue("reason")), Faults: map[string]string{},
	}
	status := http.StatusBadRequest
	if p.Reason == "" {
		p.Faults["reason"] = "Say why: it is kept with the number, and with your token's name."
	} else {
		ticket := r.PathValue("bizType") + "~" + r.PathValue("seqNo") + "~" + p.Life
		outcome, err := do(ticket, p.Reason)
		if err == nil {
			name := strings.TrimPrefix(outcome.String(), outcomePrefix)
			c.Log.InfoContext(r.Context(), "a number was settled by hand", "actor", visitorOf(r.Context()).Name, "ticket", ticket, "outcome", name)
			return view{to: r.URL.Path[:strings.LastIndex(r.URL.Path, "/")] + "?did=" + name}, nil
		}
		var called *connect.Error
		if !errors.As(err, &called) || called.Code() == connect.CodeUnavailable {
			return view{}, err
		}
		var f fault
		status, f = c.faultOf(r.Context(), err)
		for _, field := range f.Fields {
			p.Faults[field.Field] = sentence(field.Words)
		}
		if p.Faults["reason"] == "" && p.Faults["bizKey"] == "" {
			p.Fault = &f
		}
	}
	n, err := c.readNumber(r)
	if err != nil {
		return view{}, err
	}
	p.numberPage = n
	return settleView(status, p), nil
}

func settleView(status int, p *settlePage) view {
	title := "Confirm " + p.GetSeqNo()
	if p.Abandon {
		title = "Abandon " + p.GetSeqNo()
	}
	return view{template: "settle", title: title, status: status, content: p}
}
