package drift

import (
	"context"
	"time"

	"github.com/lacuna-seq/lacuna/db/pool"
	"github.com/lacuna-seq/lacuna/sequence"
)

// Ledger is what a comparison needs of the ledger; db/ledger says what each call means.
type Ledger interface {
	Now(ctx context.Context) (time.Time, error)
	BizType(ctx context.Context, name string) (sequence.BizType, error)
	BizTypes(ctx context.Context) ([]sequence.BizType, error)
	Free(ctx context.Context, bizType string, after sequence.Number, until time.Time, limit int) ([]sequence.Number, error)
	Numbers(ctx context.Context, bizType string, seqNos []string) ([]sequence.Number, error)
	Periods(ctx context.Context, bizType string) ([]string, error)
}

// Pool is what a comparison needs of the pool; db/pool says what each call means.
type Pool interface {
	Ping(ctx context.Context) error
	EvictionPolicy(ctx context.Context) (string, error)
	Size(ctx context.Context, bizType, period string) (int64, error)
	Scan(ctx context.Context, bizType, period string, cursor uint64, count int) ([]sequence.PoolEntry, uint64, error)
	Scores(ctx context.Context, entries []sequence.PoolEntry) ([]pool.Score, error)
	Push(ctx context.Context, entries []sequence.PoolEntry) error
	Remove(ctx context.Context, entries []sequence.PoolEntry) error
}

// MaxSamples bounds the numbers that a report names of each kind and biz type.
const MaxSamples = 20

// Differences counts numbers that differ in one way, and names the first of them.
type Differences struct {
	Count  int64
	SeqNos []string // at most MaxSamples
}

// Drift is how the pool of one biz type differs from the ledger.
type Drift struct {
	BizType string
	// InLedger counts the free numbers, and InRedis what the pool holds, at about the moment of the look.
	InLedger, InRedis int64
	// Kinds are the differences, by what they are.
	Kinds [kinds]Differences
}

// Total counts all differences.
func (d Drift) Total() (n int64) {
	for _, k := range d.Kinds {
		n += k.Count
	}
	return n
}

// Report is what a comparison found, or a correction corrected.
type Report struct {
	// Pools are the biz types that were asked for, by their names.
	Pools []Drift
	// EvictionPolicy is Redis's maxmemory-policy; empty where it does not say.
	EvictionPolicy string
	// Left is how many seem to differ still, by one look, and were over the limit of a correction.
	Left int64
}

// Total counts all differences of all biz types.
func (r Report) Total() (n int64) {
	for _, d := range r.Pools {
		n += d.Total()
	}
	return n
}

// Check compares the pool of a biz type, or of all where it is empty, with the ledger, and changes nothing.
//
// Traffic moves numbers between the two all the time: what is claimed or pushed while it looks is no drift. So a
// number counts only if it differs again a second later and its row has not changed in between.
//
// It reads both sides page by page. A biz type that is not there is sequence.ErrNotFound; a server that is away is
// a sequence.UnavailableError that names it. Pools of periods in which no number was allocated, which only
// a foreign hand can make, are not seen.
func Check(ctx context.Context, ledger Ledger, pool Pool, bizType string) (Report, error) {
	return run(ctx, ledger, pool, bizType, nil)
}

// Rebuild compares like Check, and corrects at most limit numbers of what differs: it pushes what the pool lacks,
// or has with another score, and removes what it should not have. The report counts what it has corrected, also
// where it fails in the middle, and what is left.
//
// A push of a number that is claimed in the meantime leaves a hint that the next claim drops. What was removed
// is looked at once more, and pushed if it has become free since.
func Rebuild(ctx context.Context, ledger Ledger, pool Pool, bizType string, limit int) (Report, error) {
	return run(ctx, ledger, pool, bizType, &correction{ledger: ledger, pool: pool, limit: limit})
}

func run(ctx context.Context, ledger Ledger, pool Pool, bizType string, c *correction) (Report, error) {
	w := &walk{ledger: ledger, pool: pool, bizType: bizType, correction: c}
	err := w.run(ctx)
	return w.report(), err
}
