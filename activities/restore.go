package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// restoreTime is when a round pushes no further page; the next one goes on there.
const restoreTime = 20 * time.Second

// RestoreResult counts what a round pushed to a Redis that had lost its data.
type RestoreResult struct {
	Numbers int `json:"numbers"`
	// Whole: Redis was told of every number that is free.
	Whole bool `json:"whole"`
}

// restoreMark says, in Redis itself, how far its pools are known to be complete. A Redis that lost its data has
// lost the mark as well.
type restoreMark struct {
	Whole bool `json:"whole,omitempty"`
	// Until is the deadline up to which free numbers are read: those that are freed later are pushed by
	// whoever frees them.
	Until time.Time `json:"until,omitzero"`
	After Place     `json:"after,omitzero"`
}

func (m restoreMark) String() string {
	text, _ := json.Marshal(m) //nolint:errchkjson // times and numbers
	return string(text)
}

// Restore pushes every free number to a Redis that has lost its data, page by page and round by round. What Redis
// loses in part, without its mark, is found by Repool.
func (p *Patrol) Restore(ctx context.Context) (RestoreResult, error) {
	defer beat(ctx)()
	var result RestoreResult
	was, mark, err := p.restoreMark(ctx)
	if err != nil || mark.Whole {
		result.Whole = mark.Whole
		return result, err
	}
	r, err := p.rules(ctx)
	if err != nil {
		return result, err
	}
	if was == "" { // marked before the first push, so that a loss from here on is seen
		mark.Until = r.now.Add(sequence.PoolCheckAfter)
		if swapped, err := p.pool.SwapMark(ctx, "", mark.String()); err != nil || !swapped {
			return result, poolAway(err)
		}
		was = mark.String()
	}
	for end := time.Now().Add(restoreTime); !mark.Whole && time.Now().Before(end); {
		page, err := p.ledger.Free(ctx, "", sequence.Number{Deadline: mark.After.Deadline, ID: mark.After.ID}, mark.Until, p.batch)
		if err != nil {
			return result, ledgerAway(err)
		}
		if err := p.pool.Push(ctx, r.entries(page)); err != nil {
			return result, poolAway(err)
		}
		if len(page) < p.batch {
			mark = restoreMark{Whole: true}
		} else {
			last := page[len(page)-1]
			mark.After = Place{State: sequence.Replayable, Deadline: last.Deadline, ID: last.ID}
		}
		swapped, err := p.pool.SwapMark(ctx, was, mark.String())
		if err != nil || !swapped { // Redis lost its data again, or somebody else does the same; the next round sees to it
			return result, poolAway(err)
		}
		was = mark.String()
		result.Numbers += len(page)
	}
	if result.Whole = mark.Whole; result.Numbers > 0 {
		p.log.WarnContext(ctx, "Redis had lost its data; the free numbers are pushed again", "numbers", result.Numbers, "whole", result.Whole)
	}
	return result, nil
}

// restoreMark reads the mark, as Redis has it and as it is meant.
func (p *Patrol) restoreMark(ctx context.Context) (text string, mark restoreMark, err error) {
	text, err = p.pool.Mark(ctx)
	if err != nil {
		return text, mark, poolAway(err)
	}
	if text == "" {
		return text, mark, nil
	}
	if err := json.Unmarshal([]byte(text), &mark); err != nil {
		return text, mark, fmt.Errorf("the mark of the pools in Redis is %q: delete it, and all free numbers are pushed again: %w", text, err)
	}
	return text, mark, nil
}
