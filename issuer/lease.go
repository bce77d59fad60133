package issuer

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/lacuna-seq/lacuna/internal/wait"
	"github.com/lacuna-seq/lacuna/sequence"
)

// DefaultLease is how long an issuer may hand out numbers after the ledger last heard of it. A
// number that a killed process held comes back that much later.
const DefaultLease = 15 * time.Second

// MinLease is the shortest lease that leaves room for four renewals a lease on a busy machine.
const MinLease = 2 * time.Second

// lease is a term in which this process may hand out numbers under one issuer id. It is counted
// from before it was asked for, less a margin, so that it ends here before it does in the ledger.
type lease struct {
	id    string
	until time.Time
}

func newLease(id string, asked time.Time, lasts time.Duration) *lease {
	return &lease{id: id, until: asked.Add(lasts - lasts/10)}
}

// lasts asks the monotonic clock and the wall clock, and believes the one that is ahead: a machine
// that slept has a monotonic clock that stood still.
func (l *lease) lasts(now time.Time) bool { return l.left(now) > 0 }

// left is how long it still lasts; not above 0 once it is over.
func (l *lease) left(now time.Time) time.Duration {
	return min(l.until.Sub(now), l.until.Round(0).Sub(now.Round(0)))
}

// beginLease registers this process under a new id.
func (i *Issuer) beginLease(ctx context.Context) error {
	id, asked := "issuer-"+uuid.NewString(), time.Now()
	if err := i.ledger.RegisterIssuer(ctx, id, i.host, i.leaseLasts); err != nil {
		return err
	}
	i.lease.Store(newLease(id, asked, i.leaseLasts))
	return nil
}

// keepLease renews the lease until the issuer stops.
func (i *Issuer) keepLease() {
	missed := false
	for wait.For(i.background, i.leaseLasts/4) == nil {
		err := i.renewLease()
		if err == nil {
			err = i.compareWithin(i.leaseLasts / 4)
		}
		if err != nil && !missed {
			i.log.Warn("the lease could not be looked after; nothing is handed out once it is over", "issuer", i.ID(), "error", err)
		}
		missed = err != nil
	}
}

func (i *Issuer) compareWithin(limit time.Duration) error {
	ctx, cancel := context.WithTimeout(i.background, limit)
	defer cancel()
	return i.compareBatches(ctx)
}

// renewLease asks for a new term. When the old one is over in the ledger, this process forgets what
// it holds, which is being recovered, and goes on under a new id. Its records are still written.
func (i *Issuer) renewLease() error {
	ctx, cancel := context.WithTimeout(i.background, i.leaseLasts/4)
	defer cancel()
	id, asked := i.ID(), time.Now()
	err := i.ledger.RenewLease(ctx, id, i.leaseLasts)
	if err == nil {
		i.lease.Store(newLease(id, asked, i.leaseLasts))
		return nil
	}
	if !errors.Is(err, sequence.ErrLeaseOver) {
		return err
	}
	if err := i.beginLease(ctx); err != nil {
		return err
	}
	i.leasesLost.Add(1)
	i.log.Warn("the lease was over; going on under a new id", "was", id, "issuer", i.ID())
	i.batches.forget()
	i.buffers.Range(func(_, value any) bool {
		value.(*buffer).dropOthers(i.ID()) //nolint:forcetypeassert // the map holds buffers only
		return true
	})
	return nil
}

// Ready says whether this process may hand out numbers now: it has a lease, its hand-outs are written down, and it is
// not stopping.
func (i *Issuer) Ready(context.Context) error {
	if i.stopped.Load() {
		return &sequence.UnavailableError{What: "this process is stopping"}
	}
	return i.leaseFault()
}

// leaseFault answers Next when this process may hand nothing out; nil when it may.
func (i *Issuer) leaseFault() error {
	if !i.lease.Load().lasts(time.Now()) {
		return &sequence.UnavailableError{What: "this process has lost touch with the ledger for longer than its lease"}
	}
	if i.records.stalled(i.leaseLasts / 2) {
		return &sequence.UnavailableError{What: "hand-outs could not be written to the ledger for too long"}
	}
	return nil
}

// mayAnswer is asked after numbers were taken and before the caller is told: a process that was
// frozen in between must not hand out what is being recovered.
func (i *Issuer) mayAnswer(h *haul) bool {
	l := i.lease.Load()
	for _, part := range h.parts() {
		if part[0].number.Owner != l.id {
			return false
		}
	}
	return l.lasts(time.Now())
}

// dropOthers takes what other issuer ids held out of memory for good.
func (b *buffer) dropOthers(owner string) {
	others := func(b *block) bool { return len(b.numbers) > 0 && b.numbers[0].number.Owner != owner }
	b.takeClaimed(others)
	b.takeFresh(others)
}
