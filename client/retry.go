package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/lacuna-seq/lacuna/internal/wait"
	"github.com/lacuna-seq/lacuna/sequence"
)

// Pauses between tries.
const (
	firstPause = 20 * time.Millisecond
	mostPause  = 2 * time.Second
)

// toldAfter is how long a call waits before it is told of: shorter pauses are an everyday matter.
const toldAfter = 2 * time.Second

// retryAloud is retry where somebody waits for what is called: the log says once that it does, and why. A caller whose
// context has no end would otherwise stand still without a word.
func (c *Client) retryAloud(ctx context.Context, what string, f func(context.Context) error) error {
	begun, told := time.Now(), false
	return retry(ctx, func(ctx context.Context) error {
		err := f(ctx)
		if err != nil && repeats(err) && !told && time.Since(begun) > toldAfter {
			c.log.WarnContext(ctx, "the service does not answer as it should; trying until the caller's context ends", "call", what, "error", err)
			told = true
		}
		return err
	})
}

// retry calls f until it succeeds, fails for good, or ctx ends; then it returns f's last error.
func retry(ctx context.Context, f func(context.Context) error) error {
	var last error // what the service said, not that time was up
	for d := firstPause; ; d = min(2*d, mostPause) {
		try, cancel := context.WithTimeout(ctx, callTimeout)
		err := f(try)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return errors.Join(last, err)
		}
		last = err
		if !repeats(err) {
			return err
		}
		pause := d
		var busy *sequence.BusyError
		if errors.As(err, &busy) {
			pause = max(pause, busy.RetryAfter)
		}
		if err := wait.For(ctx, pause/2+rand.N(pause/2+1)); err != nil {
			return errors.Join(last, err)
		}
	}
}
