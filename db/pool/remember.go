package pool

import (
	"context"
	_ "embed"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/lacuna-seq/lacuna/sequence"
)

//go:embed scripts/remember.lua
var rememberSource string

var rememberScript = redis.NewScript(rememberSource)

// Remember keeps the ledger's tide and the marks of its cursors where they are higher than what is kept, and gives
// what is kept of the same then. What Redis loses is told again by every process within a second or two. The error
// is a sequence.UnavailableError; a part may have been kept.
func (p *Pool) Remember(ctx context.Context, tide int64, marks []sequence.Mark) (int64, []sequence.Mark, error) {
	scripts := make([]*redis.Cmd, 0, len(marks)+1)
	run := func(pipe redis.Pipeliner, key, field string, value int64) {
		scripts = append(scripts, rememberScript.Eval(ctx, pipe, []string{key}, field, value))
	}
	_, err := p.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		run(pipe, tideKey, tideField, tide)
		for _, m := range marks {
			run(pipe, marksKey(m.BizType), m.Period, m.Value)
		}
		return nil
	})
	if err != nil {
		return 0, nil, classify(fmt.Sprintf("remember %d cursors", len(marks)), err)
	}
	kept := make([]int64, len(scripts))
	for i, s := range scripts {
		text, err := s.Text()
		if err == nil {
			kept[i], err = strconv.ParseInt(text, 10, 64)
		}
		if err != nil {
			return 0, nil, classify("read what is remembered of the ledger", err)
		}
	}
	all := make([]sequence.Mark, len(marks))
	for i, m := range marks {
		m.Value = kept[i+1]
		all[i] = m
	}
	return kept[0], all, nil
}

// Recall gives the tide, and the marks of a biz type; 0 and none where Redis knows nothing. The error is a
// sequence.UnavailableError.
func (p *Pool) Recall(ctx context.Context, bizType string) (tide int64, marks []sequence.Mark, err error) {
	var tides, cursors *redis.MapStringStringCmd
	_, err = p.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		tides, cursors = pipe.HGetAll(ctx, tideKey), pipe.HGetAll(ctx, marksKey(bizType))
		return nil
	})
	if err != nil {
		return 0, nil, classify("recall the cursors of "+bizType, err)
	}
	if text, ok := tides.Val()[tideField]; ok {
		if tide, err = strconv.ParseInt(text, 10, 64); err != nil {
			return 0, nil, classify("recall the tide of the ledger", err)
		}
	}
	for period, text := range cursors.Val() {
		m := sequence.Mark{BizType: bizType, Period: period}
		if m.Value, err = strconv.ParseInt(text, 10, 64); err != nil {
			return 0, nil, classify("recall the cursors of "+bizType, err)
		}
		marks = append(marks, m)
	}
	return tide, marks, nil
}
