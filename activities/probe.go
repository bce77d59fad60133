package activities

import (
	"context"

	"github.com/lacuna-seq/lacuna/sequence"
)

// ProbeInput asks whether the business holds one life of a number.
type ProbeInput struct {
	Ticket string `json:"ticket"`
}

// ProbeResult says what the business answered.
type ProbeResult struct {
	// InUse: it holds the number, which is therefore confirmed, unless it had moved on by then.
	InUse bool `json:"inUse"`
}

// Probe asks the business whether it holds the number, and confirms the number where it does. No answer
// is an error, repeated after the pauses of its biz type; a ledger that is away is waited for.
func (a *Activities) Probe(ctx context.Context, in ProbeInput) (ProbeResult, error) {
	ticket, err := sequence.ParseTicket(in.Ticket)
	if err != nil {
		return ProbeResult{}, invalidInput(err)
	}
	defer beat(ctx)()
	d, err := a.applyWhenBack(ctx, sequence.Command{Kind: sequence.Check, Ticket: ticket})
	if err != nil || !d.Probe.Asks() {
		return ProbeResult{}, err
	}
	inUse, err := a.prober.Ask(ctx, d.Probe, ticket)
	if err != nil {
		return ProbeResult{}, onLadder(ctx, d.RetryDelays, ErrorProbeAway, err)
	}
	if inUse {
		_, err = a.applyWhenBack(ctx, sequence.Command{Kind: sequence.Found, Ticket: ticket})
	}
	return ProbeResult{InUse: inUse}, err
}
