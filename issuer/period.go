package issuer

import (
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// period is the one that runs, by the ledger's clock. Biz types without a date have none.
type period struct {
	name string
	ends time.Time
}

// runs reports whether the period still runs.
func (p *period) runs(c *clock) bool { return p == nil || p.ends.IsZero() || c.now().Before(p.ends) }

// turn sees to memory when a period is over: what belongs to it goes back. Callers wait for it, so
// that no number is handed out under a date that is past.
func (b *buffer) turn() {
	b.turning.Lock()
	defer b.turning.Unlock()
	rules, now := b.rules.Load(), b.issuer.clock.Load().now()
	present := period{name: rules.Period(now), ends: rules.PeriodEnd(now)}
	if p := b.period.Load(); p != nil && p.name == present.name && p.ends.Equal(present.ends) {
		return // another caller has seen to it
	}
	b.period.Store(&present)
	b.used.Store(0)
	past := func(block *block) bool { return len(block.numbers) > 0 && b.isPast(block.numbers[0].number) }
	old := append(b.takeClaimed(past), b.takeFresh(past)...)
	b.giveBackLater(old)
}

// isPast reports whether a number may not be handed out any more because its period is over: a fresh
// one, or any where numbers are issued again in their own period only. The caller holds turning.
func (b *buffer) isPast(n sequence.Number) bool {
	p := b.period.Load()
	return p != nil && n.Period != p.name && (n.State == sequence.Reserved || b.rules.Load().Reuse == sequence.ReuseSamePeriod)
}
