package issuer

import (
	"context"
	"time"

	"github.com/lacuna-seq/lacuna/internal/wait"
	"github.com/lacuna-seq/lacuna/sequence"
)

// settingsEvery is how often the settings of all biz types are read again: a change reaches every
// process within 5 s.
const settingsEvery = 2 * time.Second

// clock is what the ledger's clock showed at a moment of this process's monotonic one.
type clock struct{ read, showed time.Time }

func (c *clock) now() time.Time { return c.showed.Add(time.Since(c.read)) }

// readClock asks the ledger for the time.
func (i *Issuer) readClock(ctx context.Context) error {
	asked := time.Now()
	showed, err := i.ledger.Now(ctx)
	if err != nil {
		return err
	}
	// The answer is of somewhere between the question and now. Taking the earlier moment lets a period
	// end here a little early rather than late.
	i.clock.Store(&clock{read: asked, showed: showed})
	return nil
}

// keepSettings reads the settings of the biz types that are in use until the issuer stops.
func (i *Issuer) keepSettings() {
	for wait.For(i.background, settingsEvery) == nil {
		if err := i.readSettings(i.background); err != nil {
			i.log.Debug("the settings could not be read again", "error", err)
		}
		i.lookForOverdue(i.background)
	}
}

func (i *Issuer) readSettings(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, ledgerTimeout)
	defer cancel()
	if err := i.readClock(ctx); err != nil {
		return err
	}
	types, err := i.ledger.BizTypes(ctx)
	if err != nil {
		return err
	}
	all := make(map[string]sequence.BizType, len(types))
	for _, rules := range types {
		all[rules.Name] = rules
		if b, ok := i.buffers.Load(rules.Name); ok {
			b.(*buffer).follow(rules) //nolint:forcetypeassert // the map holds buffers only
		}
	}
	i.rules.Store(&all)
	return nil
}

// follow takes new rules on. What is in memory keeps the mode in which it was taken.
func (b *buffer) follow(rules sequence.BizType) {
	b.rules.Store(&rules)
	if rules.SteppedBack > 0 {
		b.forgetAll()
	}
	b.turn()
}
