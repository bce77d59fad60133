package drift

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/lacuna-seq/lacuna/internal/wait"
	"github.com/lacuna-seq/lacuna/sequence"
)

// RunsLedger is what a comparison of runs needs of the ledger; db/ledger says what each call means.
type RunsLedger interface {
	BizType(ctx context.Context, name string) (sequence.BizType, error)
	BizTypes(ctx context.Context) ([]sequence.BizType, error)
	Numbers(ctx context.Context, bizType string, seqNos []string) ([]sequence.Number, error)
	Waiting(ctx context.Context, bizType string, state sequence.State, after sequence.Number, limit int) ([]sequence.Number, error)
}

// Runs is what it needs of Temporal.
type Runs interface {
	// EachOpen gives the tickets of the open lifecycles of a biz type, page by page. They are those of some
	// seconds ago: Temporal's list runs behind.
	EachOpen(ctx context.Context, bizType string, page func([]sequence.Ticket) error) error
	// Open reports whether the life has an open run now.
	Open(ctx context.Context, ticket sequence.Ticket) (bool, error)
}

// describesAtOnce keeps a comparison from taking the server away from those who wait for it.
const describesAtOnce = 8

// RunDrift is how the open runs of one biz type differ from the ledger.
type RunDrift struct {
	BizType string
	// Tracked counts the numbers that wait and have a run of their own, and Open the runs, at about the
	// moment of the look.
	Tracked, Open int64
	// Missing are numbers whose run has closed or is not there. The patrol sees to them once they are overdue.
	Missing Differences
	// Settled are open runs whose number has been settled or has gone on to another life. They end by themselves
	// when they are woken or their delay is over.
	Settled Differences
}

// CheckRuns compares the open runs of a biz type, or of all where it is empty, with the ledger, and changes
// nothing. What begins or ends while it looks is no difference: a number without a run counts if it has none a
// second later either, and its row has not changed. It holds 8 bytes for every open run in memory.
func CheckRuns(ctx context.Context, ledger RunsLedger, runs Runs, bizType string) ([]RunDrift, error) {
	var types []sequence.BizType
	var err error
	if bizType == "" {
		types, err = ledger.BizTypes(ctx)
	} else {
		types = make([]sequence.BizType, 1)
		types[0], err = ledger.BizType(ctx, bizType)
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(types, func(a, b sequence.BizType) int { return cmp.Compare(a.Name, b.Name) })
	drifts := make([]RunDrift, len(types))
	for i, b := range types {
		w := runWalk{ledger: ledger, runs: runs, drift: &drifts[i], seen: map[int64]struct{}{}}
		w.drift.BizType = b.Name
		if err := runs.EachOpen(ctx, b.Name, func(page []sequence.Ticket) error { return w.open(ctx, page) }); err != nil {
			return nil, err
		}
		for _, state := range []sequence.State{sequence.Allocated, sequence.Abandoned} {
			if err := w.waiting(ctx, state); err != nil {
				return nil, err
			}
		}
		if err := w.lookAgain(ctx); err != nil {
			return nil, err
		}
	}
	return drifts, nil
}

// runWalk compares one biz type.
type runWalk struct {
	ledger   RunsLedger
	runs     Runs
	drift    *RunDrift
	seen     map[int64]struct{} // the IDs of the rows whose run is in the list
	suspects []sequence.Number  // that had no run at the first look
}

// open looks for the rows of a page of open runs.
func (w *runWalk) open(ctx context.Context, page []sequence.Ticket) error {
	for chunk := range slices.Chunk(page, pageSize) {
		seqNos := make([]string, len(chunk))
		for i, t := range chunk {
			seqNos[i] = t.SeqNo
		}
		numbers, err := w.ledger.Numbers(ctx, w.drift.BizType, seqNos)
		if err != nil {
			return err
		}
		waits := make(map[sequence.Ticket]int64, len(numbers))
		for _, n := range numbers {
			if n.State == sequence.Allocated || n.State == sequence.Abandoned {
				waits[n.Ticket()] = n.ID
			}
		}
		w.drift.Open += int64(len(chunk))
		for _, t := range chunk {
			if id, ok := waits[t]; ok {
				w.seen[id] = struct{}{}
			} else {
				w.drift.Settled.add(t.SeqNo)
			}
		}
	}
	return nil
}

// waiting looks for the runs of the rows in the state.
func (w *runWalk) waiting(ctx context.Context, state sequence.State) error {
	var after sequence.Number
	for {
		page, err := w.ledger.Waiting(ctx, w.drift.BizType, state, after, pageSize)
		if err != nil {
			return err
		}
		var unseen []sequence.Number
		for _, n := range page {
			if !n.Tracked {
				continue
			}
			w.drift.Tracked++
			if _, ok := w.seen[n.ID]; !ok {
				unseen = append(unseen, n)
			}
		}
		without, err := w.without(ctx, unseen)
		if err != nil {
			return err
		}
		if w.suspects = append(w.suspects, without...); len(w.suspects) >= maxSuspects {
			if err := w.lookAgain(ctx); err != nil {
				return err
			}
		}
		if len(page) < pageSize {
			return nil
		}
		after = page[len(page)-1]
	}
}

// lookAgain counts the suspects whose rows are as they were a second later and that have no run then either: one
// that is being started has its time.
func (w *runWalk) lookAgain(ctx context.Context) error {
	if len(w.suspects) == 0 {
		return nil
	}
	if err := wait.For(ctx, secondLook); err != nil {
		return err
	}
	for chunk := range slices.Chunk(w.suspects, pageSize) {
		seqNos := make([]string, len(chunk))
		for i, n := range chunk {
			seqNos[i] = n.SeqNo
		}
		numbers, err := w.ledger.Numbers(ctx, w.drift.BizType, seqNos)
		if err != nil {
			return err
		}
		version := make(map[int64]int64, len(numbers))
		for _, n := range numbers {
			version[n.ID] = n.Version
		}
		same := slices.DeleteFunc(chunk, func(n sequence.Number) bool { return version[n.ID] != n.Version })
		missing, err := w.without(ctx, same)
		if err != nil {
			return err
		}
		for _, n := range missing {
			w.drift.Missing.add(n.SeqNo)
		}
	}
	w.suspects = w.suspects[:0]
	return nil
}

// without gives those numbers that have no open run, by their SeqNo.
func (w *runWalk) without(ctx context.Context, numbers []sequence.Number) ([]sequence.Number, error) {
	var mu sync.Mutex
	var without []sequence.Number
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(describesAtOnce)
	for _, n := range numbers {
		group.Go(func() error {
			open, err := w.runs.Open(groupCtx, n.Ticket())
			if err != nil || open {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			without = append(without, n)
			return nil
		})
	}
	err := group.Wait()
	slices.SortFunc(without, func(a, b sequence.Number) int { return cmp.Compare(a.SeqNo, b.SeqNo) })
	return without, err
}

// add counts one number in.
func (d *Differences) add(seqNo string) {
	if d.Count++; len(d.SeqNos) < MaxSamples {
		d.SeqNos = append(d.SeqNos, seqNo)
	}
}
