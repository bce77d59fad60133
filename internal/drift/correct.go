package drift

import (
	"context"
	"slices"

	"github.com/lacuna-seq/lacuna/sequence"
)

// correction brings the pool back, up to its limit. A nil one corrects nothing.
type correction struct {
	ledger Ledger
	pool   Pool
	limit  int // how many more
}

// full says that the limit is reached.
func (c *correction) full() bool { return c != nil && c.limit == 0 }

// enough says that so many suspects would reach the limit.
func (c *correction) enough(suspects int) bool {
	return c != nil && suspects > 0 && suspects >= c.limit
}

// cut takes off what is over the limit, and counts it.
func (c *correction) cut(found *[]finding) int64 {
	n := min(len(*found), c.limit)
	over := len(*found) - n
	*found, c.limit = (*found)[:n], c.limit-n
	return int64(over)
}

// correct pushes and removes what was found of one biz type, and counts what is done.
func (c *correction) correct(ctx context.Context, rules sequence.BizType, found []finding, count func(bizType string, done []finding)) error {
	var pushed, removed []finding
	for _, f := range found {
		switch f.kind {
		case Missing, WrongScore:
			pushed = append(pushed, f)
		case Stale, WrongPeriod:
			removed = append(removed, f)
		}
	}
	push, remove := make([]sequence.PoolEntry, len(pushed)), make([]sequence.PoolEntry, len(removed))
	for i, f := range pushed {
		push[i] = f.want
	}
	if err := c.pool.Push(ctx, push); err != nil {
		return err
	}
	count(rules.Name, pushed)
	if len(removed) == 0 {
		return nil
	}
	for i, f := range removed {
		remove[i] = f.at
	}
	if err := c.pool.Remove(ctx, remove); err != nil {
		return err
	}
	count(rules.Name, removed)
	return c.putBack(ctx, rules, remove)
}

// putBack pushes what has become free between the look at its row and its removal: whoever freed it may have
// pushed it in between, and will not do so again. One that becomes free later is pushed later.
func (c *correction) putBack(ctx context.Context, rules sequence.BizType, removed []sequence.PoolEntry) error {
	numbers, err := c.ledger.Numbers(ctx, rules.Name, seqNos(removed))
	if err != nil {
		return err
	}
	var back []sequence.PoolEntry
	for _, n := range numbers {
		if n.State == sequence.Replayable && slices.ContainsFunc(removed, func(e sequence.PoolEntry) bool {
			return e.SeqNo == n.SeqNo && e.Period == rules.PoolEntry(n).Period
		}) {
			back = append(back, rules.PoolEntry(n))
		}
	}
	return c.pool.Push(ctx, back)
}
