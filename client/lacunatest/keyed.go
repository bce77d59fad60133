package lacunatest

import (
	"fmt"
	"time"

	"github.com/lacuna-seq/lacuna/internal/wire"
	"github.com/lacuna-seq/lacuna/sequence"
)

// keyed is what an idempotency key stands for.
type keyed struct {
	asked   wire.Asked
	tickets []sequence.Ticket
	until   time.Time
}

// repeatOf answers what the call's key stands for; found says whether it stands for something. The caller holds mu.
func (m *memory) repeatOf(of *numbering, asked wire.Asked) (issued []wire.Issued, found bool, err error) {
	k, ok := of.keys[asked.IdempotencyKey]
	if !ok || !m.now.Before(k.until) {
		return nil, false, nil
	}
	if k.asked != asked {
		return nil, true, fmt.Errorf("next of %s: %w: %q", asked.BizType, sequence.ErrKeyReused, asked.IdempotencyKey)
	}
	for _, ticket := range k.tickets {
		n := of.numbers[ticket.SeqNo].number
		left := of.rules.ConfirmTimeout
		switch {
		case n.Life == ticket.Life && n.State == sequence.Allocated:
			left = n.Deadline.Sub(m.now)
		case n.Life == ticket.Life && n.State == sequence.Confirmed:
		default:
			return nil, true, &sequence.KeySpentError{Key: asked.IdempotencyKey, Ticket: ticket, Current: n.Ticket(), State: n.State}
		}
		issued = append(issued, issuedOf(n, ticket, left))
	}
	return issued, true, nil
}
