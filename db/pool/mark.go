package pool

import (
	"context"
	_ "embed"
	"errors"

	"github.com/redis/go-redis/v9"
)

//go:embed scripts/swap.lua
var swapSource string

var swapScript = redis.NewScript(swapSource)

// Mark reads what SwapMark last set, "" where Redis has lost it, and most likely the pools with it. The
// error is a sequence.UnavailableError.
func (p *Pool) Mark(ctx context.Context) (string, error) {
	mark, err := p.client.Get(ctx, markKey).Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return mark, classify("read the mark of the pools", err)
}

// SwapMark sets the mark if it is still what the caller read, so that one who was overtaken by a loss, or by
// somebody else, learns of it. The error is a sequence.UnavailableError; it may have been set all the same.
func (p *Pool) SwapMark(ctx context.Context, was, is string) (bool, error) {
	swapped, err := swapScript.Run(ctx, p.client, []string{markKey}, was, is).Bool()
	return swapped, classify("set the mark of the pools", err)
}
