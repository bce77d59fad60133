package pool

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/lacuna-seq/lacuna/sequence"
)

// Score is what a pool has of a number.
type Score struct {
	Present bool
	Value   float64 // 0 where it is not present
}

// Scores looks for numbers, of any biz types, in their pools and answers each in its place: at most some
// hundreds at a time, in one round trip. It asks by ZMSCORE, of Redis 6.2.
func (p *Pool) Scores(ctx context.Context, entries []sequence.PoolEntry) ([]Score, error) {
	scores := make([]Score, len(entries))
	if len(entries) == 0 {
		return scores, nil
	}
	places := map[string][]int{}
	for i, e := range entries {
		key := poolKey(e.BizType, e.Period)
		places[key] = append(places[key], i)
	}
	// The client's own ZMScore answers 0 for a number that is not there.
	answers := map[string]*redis.SliceCmd{}
	tried := fmt.Sprintf("look for %d numbers", len(entries))
	_, err := p.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for key, at := range places {
			args := make([]any, 0, 2+len(at))
			args = append(args, "zmscore", key)
			for _, i := range at {
				args = append(args, entries[i].SeqNo)
			}
			answers[key] = redis.NewSliceCmd(ctx, args...)
			if err := pipe.Process(ctx, answers[key]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, classify(tried, err)
	}
	for key, answer := range answers {
		values := answer.Val()
		if len(values) != len(places[key]) {
			return nil, classify(tried, fmt.Errorf("%d answers for %d numbers", len(values), len(places[key])))
		}
		for j, i := range places[key] {
			if scores[i], err = scoreOf(values[j]); err != nil {
				return nil, classify(tried, err)
			}
		}
	}
	return scores, nil
}

// scoreOf reads a score as either version of the protocol gives it.
func scoreOf(value any) (Score, error) {
	switch v := value.(type) {
	case nil:
		return Score{}, nil
	case float64:
		return Score{Present: true, Value: v}, nil
	case string:
		f, err := strconv.ParseFloat(v, 64)
		return Score{Present: err == nil, Value: f}, err
	}
	return Score{}, fmt.Errorf("%v is not a score", value)
}

// Present says of each number, in its place, whether its pool has it.
func (p *Pool) Present(ctx context.Context, entries []sequence.PoolEntry) ([]bool, error) {
	scores, err := p.Scores(ctx, entries)
	if err != nil {
		return nil, err
	}
	present := make([]bool, len(scores))
	for i, s := range scores {
		present[i] = s.Present
	}
	return present, nil
}

// Scan reads some of the numbers in a biz type's pool, about count of them, from the cursor on, 0 at first; period as
// in Pop. next is the cursor after them, 0 at the end. What is there all the time is read at least once.
func (p *Pool) Scan(ctx context.Context, bizType, period string, cursor uint64, count int) (entries []sequence.PoolEntry, next uint64, err error) {
	flat, next, err := p.client.ZScan(ctx, poolKey(bizType, period), cursor, "", int64(count)).Result()
	if err != nil {
		return nil, 0, classify("read the pool of "+bizType, err)
	}
	for i := 0; i+1 < len(flat); i += 2 { // a member, then its score
		score, err := scoreOf(flat[i+1])
		if err != nil {
			return nil, 0, classify("read the pool of "+bizType, err)
		}
		entries = append(entries, sequence.PoolEntry{BizType: bizType, Period: period, SeqNo: flat[i], Score: score.Value})
	}
	return entries, next, nil
}
