package activities

import (
	"context"
	"sync"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// Bounds of one call of Gather: its answer crosses Temporal, which takes 2 MiB.
const (
	maxGathered      = 10 * compensationSize
	maxGatheredBytes = 512 << 10
	// gatherTime is when it begins no further page.
	gatherTime = 15 * time.Second
)

// GatherInput says where to go on.
type GatherInput struct {
	After Place `json:"after"`
}

// Place is how far a scan has come; the zero Place is its beginning.
type Place struct {
	State    sequence.State `json:"state,omitempty"`
	Deadline time.Time      `json:"deadline"`
	ID       int64          `json:"id,omitempty"`
}

// GatherResult is numbers that no run of their own sees to.
type GatherResult struct {
	// Batches are Compensation's, of one biz type each.
	Batches []Numbers `json:"batches,omitempty"`
	// Tracked turned out to have an open run, which was woken.
	Tracked int `json:"tracked,omitempty"`
	// Next is where to go on; nil at the end.
	Next *Place `json:"next,omitempty"`
}

// Gather finds the numbers whose deadline has passed and that have no run of their own. Where somebody may
// have told a run something all the same, Temporal is asked: an open run has the number.
func (p *Patrol) Gather(ctx context.Context, in GatherInput) (GatherResult, error) {
	defer beat(ctx)()
	var result GatherResult
	if held, err := p.ledger.OnHold(ctx); err != nil || held {
		return result, wrapAway(err)
	}
	rules, err := p.rules(ctx)
	if err != nil {
		return result, err
	}
	var gathered []sequence.Number
	size, end := 0, time.Now().Add(gatherTime)
	for _, state := range []sequence.State{sequence.Abandoned, sequence.Allocated} { // the windows that are over first
		var after sequence.Number
		if in.After.State == state {
			after.Deadline, after.ID = in.After.Deadline, in.After.ID
		} else if in.After.State == sequence.Allocated {
			continue
		}
		for {
			page, err := p.ledger.OverdueTracked(ctx, state, false, after, p.batch)
			if err != nil {
				return result, ledgerAway(err)
			}
			runless, err := p.runless(ctx, page, rules, &result)
			if err != nil {
				return result, err
			}
			for _, n := range runless {
				size += len(n.Ticket().String()) + 3
			}
			gathered = append(gathered, runless...)
			if len(page) < p.batch {
				break
			}
			after = page[len(page)-1]
			if len(gathered) >= maxGathered || size >= maxGatheredBytes || time.Now().After(end) {
				result.Next = &Place{State: state, Deadline: after.Deadline, ID: after.ID}
				result.Batches = batched(gathered)
				return result, nil
			}
		}
	}
	result.Batches = batched(gathered)
	return result, nil
}

// rules gives the rules of a biz type, and for how long after an outage Temporal is asked about every number
// of it: a command may have been accepted by a run while the ledger was away.
type rules struct {
	types      map[string]sequence.BizType
	now        time.Time
	lastOutage time.Time
}

func (p *Patrol) rules(ctx context.Context) (r rules, err error) {
	types, err := p.ledger.BizTypes(ctx)
	if err != nil {
		return r, ledgerAway(err)
	}
	r.types = make(map[string]sequence.BizType, len(types))
	for _, b := range types {
		r.types[b.Name] = b
	}
	if r.now, err = p.ledger.Now(ctx); err != nil {
		return r, ledgerAway(err)
	}
	if r.lastOutage, err = p.ledger.LastOutageEnd(ctx); err != nil {
		return r, ledgerAway(err)
	}
	return r, nil
}

// entries are the places of free numbers in their pools.
func (r rules) entries(free []sequence.Number) []sequence.PoolEntry {
	entries := make([]sequence.PoolEntry, len(free))
	for i, n := range free {
		entries[i] = r.types[n.BizType].PoolEntry(n)
	}
	return entries
}

// mayHaveRun says whether Temporal is to be asked about a number that has no run of its own.
func (r rules) mayHaveRun(n sequence.Number) bool {
	b := r.types[n.BizType]
	afterOutage := !r.lastOutage.IsZero() && r.now.Before(r.lastOutage.Add(b.ConfirmTimeout+b.SafetyWindow))
	return b.MayHaveRun(n) || afterOutage && b.Track != sequence.TrackNone
}

// runless leaves out the numbers that turn out to have an open run; these have it from now on, and it is woken.
func (p *Patrol) runless(ctx context.Context, page []sequence.Number, r rules, result *GatherResult) ([]sequence.Number, error) {
	var mu sync.Mutex
	var none, asked []sequence.Number
	var tracked []sequence.Command
	for _, n := range page {
		if r.mayHaveRun(n) {
			asked = append(asked, n)
		} else {
			none = append(none, n)
		}
	}
	err := atOnce(nudgesAtOnce, asked, func(n sequence.Number) error {
		open, err := p.runs.Open(ctx, n)
		if err == nil && open {
			open, err = p.runs.Check(ctx, n)
		}
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err != nil:
			return err
		case open:
			tracked = append(tracked, sequence.Command{Kind: sequence.TrackIt, Ticket: n.Ticket()})
		default:
			none = append(none, n)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if _, err := p.ledger.Apply(ctx, tracked); err != nil {
		return nil, ledgerAway(err)
	}
	result.Tracked += len(tracked)
	return none, nil
}
