package lacunatest

import (
	"context"
	"fmt"
	"time"

	"github.com/lacuna-seq/lacuna/internal/wire"
	"github.com/lacuna-seq/lacuna/sequence"
)

// maxExtension is the most time that a call asks for.
const maxExtension = sequence.MaxConfirmTimeout

// Settle decides each command in its turn.
func (m *memory) Settle(_ context.Context, commands []sequence.Command) ([]wire.Settled, error) {
	for _, c := range commands {
		if err := sequence.ValidateBizKey(c.BizKey); err != nil {
			return nil, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	settled := make([]wire.Settled, len(commands))
	for i, c := range commands {
		d := m.settle(c)
		settled[i] = wire.Settled{Outcome: d.Outcome, Err: sequence.Answer(c, d)}
	}
	return settled, nil
}

// Extend gives more time from now on.
func (m *memory) Extend(_ context.Context, ticket sequence.Ticket, holdFor time.Duration) (time.Time, error) {
	if holdFor < time.Millisecond || holdFor > maxExtension {
		return time.Time{}, sequence.Invalidf("holdFor", "%s is not from %s to %s", holdFor, time.Millisecond, maxExtension)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c := sequence.Command{Kind: sequence.Extend, Ticket: ticket, For: holdFor}
	d := m.settle(c)
	return time.Now().Add(d.Wait), sequence.Answer(c, d)
}

// settle decides a command; a number that there is not is OutcomeNotFound. The caller holds mu.
func (m *memory) settle(c sequence.Command) sequence.Decision {
	if of, ok := m.numbering[c.Ticket.BizType]; ok {
		if r, ok := of.numbers[c.Ticket.SeqNo]; ok {
			return m.decide(of, r, c)
		}
	}
	return sequence.Decision{Outcome: sequence.OutcomeNotFound}
}

// History tells what is known of a number.
func (m *memory) History(_ context.Context, bizType, seqNo string) (wire.History, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if of, ok := m.numbering[bizType]; ok {
		if r, ok := of.numbers[seqNo]; ok {
			h := r.history
			h.Number = r.number
			return h, nil
		}
	}
	return wire.History{}, fmt.Errorf("number %s of %s: %w", seqNo, bizType, sequence.ErrNotFound)
}
