package drift

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/lacuna-seq/lacuna/db/pool"
	"github.com/lacuna-seq/lacuna/internal/wait"
	"github.com/lacuna-seq/lacuna/sequence"
)

const (
	// pageSize is how many numbers are read from either side at a time.
	pageSize = 500
	// secondLook is how long after the first look a number must still differ: a claim or a push that was under way
	// at the first one is over by then.
	secondLook = time.Second
	// maxSuspects bounds the memory of a walk, and with it how many pauses a pool takes that lost everything.
	maxSuspects = 20_000
)

// walk is one comparison.
type walk struct {
	ledger     Ledger
	pool       Pool
	bizType    string // "" for all
	correction *correction

	rules    map[string]sequence.BizType
	drifts   map[string]*Drift
	policy   string
	left     int64
	suspects []suspect
	looked   time.Time // when the last suspect was looked at first
}

// run walks both sides. It asks both servers before it begins.
func (w *walk) run(ctx context.Context) error {
	now, err := w.begin(ctx)
	if err != nil {
		return err
	}
	if err := w.free(ctx, now.Add(sequence.PoolCheckAfter)); err != nil {
		return err
	}
	for _, name := range w.names() {
		periods, err := w.ledger.Periods(ctx, name)
		if err != nil {
			return err
		}
		if !slices.Contains(periods, "") { // the pool of numbers that are issued again in any period
			periods = append(periods, "")
		}
		for _, period := range periods {
			if err := w.members(ctx, name, period); err != nil {
				return err
			}
		}
	}
	return w.lookAgain(ctx)
}

func (w *walk) begin(ctx context.Context) (now time.Time, err error) {
	w.rules, w.drifts = map[string]sequence.BizType{}, map[string]*Drift{}
	if now, err = w.ledger.Now(ctx); err != nil {
		return now, err
	}
	var types []sequence.BizType
	if w.bizType == "" {
		types, err = w.ledger.BizTypes(ctx)
	} else {
		types = make([]sequence.BizType, 1)
		types[0], err = w.ledger.BizType(ctx, w.bizType)
	}
	if err != nil {
		return now, err
	}
	for _, b := range types {
		w.rules[b.Name], w.drifts[b.Name] = b, &Drift{BizType: b.Name}
	}
	if err := w.pool.Ping(ctx); err != nil {
		return now, err
	}
	w.policy, err = w.pool.EvictionPolicy(ctx)
	return now, err
}

// free looks in the pool for every number that is free.
func (w *walk) free(ctx context.Context, until time.Time) error {
	var after sequence.Number
	for {
		page, err := w.ledger.Free(ctx, w.bizType, after, until, pageSize)
		if err != nil {
			return err
		}
		entries := make([]sequence.PoolEntry, 0, len(page))
		rows := make([]*sequence.Number, 0, len(page))
		for i := range page {
			n := &page[i]
			if rules, ok := w.rules[n.BizType]; ok { // one that was made since is the next comparison's
				w.drifts[n.BizType].InLedger++
				entries, rows = append(entries, rules.PoolEntry(*n)), append(rows, n)
			}
		}
		scores, err := w.pool.Scores(ctx, entries)
		if err != nil {
			return err
		}
		if err := w.look(ctx, entries, rows, scores); err != nil {
			return err
		}
		if len(page) < pageSize {
			return nil
		}
		after = page[len(page)-1]
	}
}

// members looks in the ledger for everything that a pool holds. That a free number is in its own pool with another
// score was seen from the other side.
func (w *walk) members(ctx context.Context, bizType, period string) error {
	size, err := w.pool.Size(ctx, bizType, period)
	if err != nil || size == 0 {
		return err
	}
	w.drifts[bizType].InRedis += size
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		var entries []sequence.PoolEntry
		if entries, cursor, err = w.pool.Scan(ctx, bizType, period, cursor, pageSize); err != nil {
			return err
		}
		for page := range slices.Chunk(entries, pageSize) {
			rows, err := w.rows(ctx, bizType, page)
			if err != nil {
				return err
			}
			scores := make([]pool.Score, len(page))
			for i, e := range page {
				scores[i] = pool.Score{Present: true, Value: e.Score}
				if rows[i] != nil {
					scores[i].Value = w.rules[bizType].PoolEntry(*rows[i]).Score
				}
			}
			if err := w.look(ctx, page, rows, scores); err != nil {
				return err
			}
		}
	}
	return nil
}

// rows reads the rows of entries of one biz type, each in its place; nil where there is none.
func (w *walk) rows(ctx context.Context, bizType string, entries []sequence.PoolEntry) ([]*sequence.Number, error) {
	numbers, err := w.ledger.Numbers(ctx, bizType, seqNos(entries))
	if err != nil {
		return nil, err
	}
	bySeqNo := make(map[string]*sequence.Number, len(numbers))
	for i := range numbers {
		bySeqNo[numbers[i].SeqNo] = &numbers[i]
	}
	rows := make([]*sequence.Number, len(entries))
	for i, e := range entries {
		rows[i] = bySeqNo[e.SeqNo]
	}
	return rows, nil
}

// look keeps what differs for a second look.
func (w *walk) look(ctx context.Context, entries []sequence.PoolEntry, rows []*sequence.Number, scores []pool.Score) error {
	for i, at := range entries {
		f, differs := judge(w.rules[at.BizType], rows[i], at, scores[i])
		switch {
		case !differs:
		case w.correction.full():
			w.left++
		default:
			w.suspects, w.looked = append(w.suspects, f.suspect), time.Now()
		}
	}
	if len(w.suspects) < maxSuspects && !w.correction.enough(len(w.suspects)) {
		return nil
	}
	return w.lookAgain(ctx)
}

// lookAgain takes the second look at what differed at the first. The pool is asked before the ledger: a
// number that leaves the pool in between is claimed, and shows it by its version.
func (w *walk) lookAgain(ctx context.Context) error {
	if len(w.suspects) == 0 {
		return nil
	}
	if err := wait.For(ctx, secondLook-time.Since(w.looked)); err != nil {
		return err
	}
	byName, known := map[string][]suspect{}, map[suspect]bool{}
	for _, s := range w.suspects {
		if !known[s] { // a scan of a pool that shrinks may give a member twice
			known[s], byName[s.at.BizType] = true, append(byName[s.at.BizType], s)
		}
	}
	w.suspects = w.suspects[:0]
	for _, name := range w.names() {
		for chunk := range slices.Chunk(byName[name], pageSize) {
			found, err := w.confirm(ctx, name, chunk)
			if err != nil {
				return err
			}
			if w.correction == nil {
				w.count(name, found)
				continue
			}
			w.left += w.correction.cut(&found)
			if err := w.correction.correct(ctx, w.rules[name], found, w.count); err != nil {
				return err
			}
		}
	}
	return nil
}

// confirm gives those suspects of a biz type that differ in the same way again, and whose rows are as they were.
func (w *walk) confirm(ctx context.Context, bizType string, suspects []suspect) ([]finding, error) {
	entries := make([]sequence.PoolEntry, len(suspects))
	for i, s := range suspects {
		entries[i] = s.at
	}
	scores, err := w.pool.Scores(ctx, entries)
	if err != nil {
		return nil, err
	}
	rows, err := w.rows(ctx, bizType, entries)
	if err != nil {
		return nil, err
	}
	var found []finding
	for i, s := range suspects {
		f, differs := judge(w.rules[bizType], rows[i], s.at, scores[i])
		if differs && f.kind == s.kind && f.version == s.version {
			found = append(found, f)
		}
	}
	return found, nil
}

func (w *walk) count(bizType string, found []finding) {
	for _, f := range found {
		w.drifts[bizType].Kinds[f.kind].add(f.at.SeqNo)
	}
}

func (w *walk) names() []string {
	names := make([]string, 0, len(w.rules))
	for name := range w.rules {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (w *walk) report() Report {
	r := Report{EvictionPolicy: w.policy, Left: w.left}
	for _, d := range w.drifts {
		r.Pools = append(r.Pools, *d)
	}
	slices.SortFunc(r.Pools, func(a, b Drift) int { return cmp.Compare(a.BizType, b.BizType) })
	return r
}

func seqNos(entries []sequence.PoolEntry) []string {
	all := make([]string, len(entries))
	for i, e := range entries {
		all[i] = e.SeqNo
	}
	return all
}
