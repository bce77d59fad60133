package lacunatest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lacuna-seq/lacuna/internal/wire"
	"github.com/lacuna-seq/lacuna/sequence"
)

// maxCount is the most numbers of one call.
const maxCount = 10_000

// Next hands out free numbers before fresh ones, all that are asked for or none.
func (m *memory) Next(_ context.Context, asked wire.Asked) ([]wire.Issued, error) {
	if err := validate(asked); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	of, err := m.of(asked.BizType)
	if err != nil {
		return nil, err
	}
	if asked.IdempotencyKey != "" {
		if issued, found, err := m.repeatOf(of, asked); found {
			return issued, err
		}
	}
	taken, err := m.take(of, asked)
	if err != nil {
		return nil, err
	}
	issued := make([]wire.Issued, len(taken))
	for i, r := range taken {
		d := m.decide(of, r, sequence.Command{
			Kind: sequence.Record, Ticket: r.number.NextTicket(), Owner: owner, BatchID: r.number.BatchID, BizKey: asked.BizKey,
			Final: of.rules.FinalAtIssue(),
		})
		issued[i] = issuedOf(d.Number, d.Number.Ticket(), d.Wait)
	}
	if asked.IdempotencyKey != "" {
		of.keys[asked.IdempotencyKey] = keyed{asked: asked, tickets: ticketsOf(taken), until: m.now.Add(of.rules.ConfirmTimeout)}
	}
	return issued, nil
}

func validate(asked wire.Asked) error {
	if err := sequence.ValidateBizTypeName(asked.BizType); err != nil {
		return err
	}
	if err := sequence.ValidateBizKey(asked.BizKey); err != nil {
		return err
	}
	if asked.Count < 1 || asked.Count > maxCount {
		return sequence.Invalidf("count", "%d is not from 1 to %d", asked.Count, maxCount)
	}
	if asked.IdempotencyKey != "" {
		return sequence.ValidateIdempotencyKey(asked.IdempotencyKey)
	}
	return nil
}

// issuedOf tells by the machine's clock until when to confirm, since that is what a client holds it against.
func issuedOf(n sequence.Number, ticket sequence.Ticket, left time.Duration) wire.Issued {
	issued := wire.Issued{Ticket: ticket.String(), SeqNo: n.SeqNo, Life: ticket.Life, BatchID: n.BatchID}
	if n.Reason != sequence.ReasonFinalAtIssue {
		issued.ConfirmBy = time.Now().Add(left)
	}
	return issued
}

// take claims free numbers and allocates fresh ones. The caller holds mu.
func (m *memory) take(of *numbering, asked wire.Asked) ([]*record, error) {
	period := of.rules.Period(m.now)
	fresh := of.rules.Start
	if last, ok := of.cursor[period]; ok {
		fresh = last + 1
	}
	free := m.free(of, period)
	there := int64(len(free)) + of.rules.Format.Max() - fresh + 1
	if there == 0 || there < int64(asked.Count) && !asked.AllowPartial {
		return nil, fmt.Errorf("next of %s: %w", of.rules.Name, sequence.ErrFull)
	}
	m.batches++
	taken := free[:min(len(free), asked.Count)]
	for _, r := range taken {
		m.decide(of, r, sequence.Command{Kind: sequence.Claim, Ticket: r.number.Ticket(), Owner: owner, BatchID: fmt.Sprintf("claim-%d", m.batches)})
	}
	for ; len(taken) < asked.Count && fresh <= of.rules.Format.Max(); fresh++ {
		n := sequence.Number{
			BizType: of.rules.Name, Period: period, SeqNo: of.rules.Format.Print(period, fresh), Value: fresh,
			State: sequence.Reserved, Owner: owner, BatchID: fmt.Sprintf("seg-%d", m.batches), Durable: of.rules.DurableIssue,
		}
		r := &record{number: n}
		of.numbers[n.SeqNo], of.cursor[period] = r, fresh
		taken = append(taken, r)
	}
	return taken, nil
}

// free lists the numbers that a claim would get, in the order of the pool; what may not be issued any more is
// retired. The caller holds mu.
func (m *memory) free(of *numbering, period string) (free []*record) {
	for _, r := range of.inOrder() {
		if r.number.State != sequence.Replayable {
			continue
		}
		claim := sequence.Command{Kind: sequence.Claim, Ticket: r.number.Ticket(), Owner: owner}
		switch sequence.Decide(of.rules, r.number, claim, m.now).Outcome {
		case sequence.OutcomeClaimed:
			if of.rules.Reuse != sequence.ReuseSamePeriod || r.number.Period == period {
				free = append(free, r)
			}
		case sequence.OutcomeRetired:
			m.decide(of, r, claim)
		default: // its window is not over
		}
	}
	slices.SortStableFunc(free, func(a, b *record) int {
		return cmp.Compare(of.rules.PoolEntry(a.number).Score, of.rules.PoolEntry(b.number).Score)
	})
	return free
}

func ticketsOf(taken []*record) []sequence.Ticket {
	tickets := make([]sequence.Ticket, len(taken))
	for i, r := range taken {
		tickets[i] = r.number.Ticket()
	}
	return tickets
}
