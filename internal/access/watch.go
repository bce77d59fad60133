package access

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/lacuna-seq/lacuna/internal/wait"
)

// Times of a watch.
const (
	// lookEvery is how often the ledger is asked whether tokens were made or revoked: with the time of the
	// call itself, a revoked token is refused everywhere within 5 s.
	lookEvery = time.Second
	// lookFor ends one look at a ledger that does not answer.
	lookFor = 2 * time.Second
	// readEvery is how often all is read whether or not something seems to have changed: somebody may have
	// written to the table by hand.
	readEvery = time.Minute
	// maxExcess bounds what is kept for a ledger that is away.
	maxExcess = 1_000
)

// Version tells whether the table of tokens has changed: tokens are only added and revoked.
type Version struct{ Count, Last, Revoked int64 }

// Ledger is what a keyring needs of the ledger; db/ledger says what each call means.
type Ledger interface {
	TokensVersion(ctx context.Context) (Version, error)
	Tokens(ctx context.Context) ([]Token, error)
	TouchTokens(ctx context.Context, ids []int64) error
	AddExcess(ctx context.Context, excess []Excess) error
}

// Watch follows the ledger until ctx ends. While the ledger is away the last known tokens stay what they were:
// nobody is locked out, and who was revoked stays out.
func (k *Keyring) Watch(ctx context.Context, log *slog.Logger) {
	log = log.With("component", "access")
	var failing bool
	var touched time.Time
	for wait.For(ctx, lookEvery) == nil {
		err := k.Refresh(ctx)
		if err == nil && time.Since(touched) >= readEvery {
			touched = time.Now()
			err = k.touch(ctx)
		}
		if err == nil {
			err = k.tell(ctx)
		}
		if err != nil && !failing && ctx.Err() == nil {
			log.WarnContext(ctx, "the tokens cannot be read; those that are known go on as they were", "error", err)
		}
		if err == nil && failing {
			log.InfoContext(ctx, "the tokens can be read again")
		}
		failing = err != nil
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookFor)
	defer cancel()
	if err := k.tell(last); err != nil {
		log.WarnContext(ctx, "an excess of abandonments was not written down", "error", err)
	}
}

// Refresh reads the tokens where they may have changed. Only one may run at a time.
func (k *Keyring) Refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	begun := k.now() // before the ledger looks at its clock, so that nothing lives longer than it should
	version, err := k.ledger.TokensVersion(ctx)
	if err != nil {
		return err
	}
	if version == k.version && !k.read.IsZero() && begun.Sub(k.read) < readEvery {
		return nil
	}
	tokens, err := k.ledger.Tokens(ctx)
	if err != nil {
		return err
	}
	k.replace(tokens, begun)
	k.version, k.read = version, begun
	return nil
}

// replace puts what was read in the place of what was known. Who was revoked stays so, also where the ledger is
// a replica or a backup of before.
func (k *Keyring) replace(tokens []Token, read time.Time) {
	var before map[string]*Holder
	if p := k.known.Load(); p != nil {
		before = *p
	}
	known := make(map[string]*Holder, len(tokens))
	for i := range tokens {
		t := &tokens[i]
		h := &Holder{Token: t, used: new(atomic.Bool), meter: newMeter(t)}
		if !t.ExpireTime.IsZero() {
			h.expires = read.Add(t.Left)
		}
		if was := before[t.Name]; was != nil && was.Hash == t.Hash {
			h.used = was.used
			if was.Rate == t.Rate && was.AbandonBudget == t.AbandonBudget {
				h.meter = was.meter
			}
			if t.RevokedTime.IsZero() {
				t.RevokedTime, t.RevokedBy = was.RevokedTime, was.RevokedBy
			}
		}
		known[t.Name] = h
	}
	k.known.Store(&known)
}

// touch writes which tokens were used since the last time.
func (k *Keyring) touch(ctx context.Context) error {
	known := k.known.Load()
	if known == nil {
		return nil
	}
	var ids []int64
	for _, h := range *known {
		if h.used.CompareAndSwap(true, false) {
			ids = append(ids, h.ID)
		}
	}
	return k.ledger.TouchTokens(ctx, ids)
}

// tell writes down who abandoned more than its budget; the worker tells people.
func (k *Keyring) tell(ctx context.Context) error {
	known := k.known.Load()
	if known == nil {
		return nil
	}
	for name, h := range *known {
		if over := h.meter.takeExcess(name, k.now()); len(k.excess) < maxExcess {
			k.excess = append(k.excess, over...)
		}
	}
	if len(k.excess) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookFor)
	defer cancel()
	if err := k.ledger.AddExcess(ctx, k.excess); err != nil {
		return err
	}
	k.excess = nil
	return nil
}
