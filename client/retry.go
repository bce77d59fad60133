package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// Pauses between tries.
const (
	firstPause = 20 * time.Millisecond
	mostPause  = 2 * time.Second
)

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
		if !repeats(err) && !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
		wait := d
		var busy *sequence.BusyError
		if errors.As(err, &busy) {
			wait = max(wait, busy.RetryAfter)
		}
		if pause(ctx, wait/2+rand.N(wait/2+1)); ctx.Err() != nil {
			return errors.Join(last, context.Cause(ctx))
		}
	}
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
