package issuer

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// courierOptions bound a courier.
type courierOptions struct {
	capacity int
	workers  int
}

// retryFirst and retryMost bound the pause between two tries to deliver one thing.
const (
	retryFirst = 250 * time.Millisecond
	retryMost  = 10 * time.Second
)

// courier delivers things in the background, each until it is delivered. When its queue is full,
// what comes is dropped and counted: nobody waits for it.
type courier[T any] struct {
	log     *slog.Logger
	deliver func(context.Context, T) error
	queue   chan T
	ctx     context.Context //nolint:containedctx // the courier's own life
	cancel  context.CancelFunc
	workers sync.WaitGroup
	waiting atomic.Int64
	dropped atomic.Int64

	sending sync.RWMutex // against a close while something is being sent
	closed  bool
}

func newCourier[T any](o courierOptions, log *slog.Logger, deliver func(context.Context, T) error) *courier[T] {
	c := &courier[T]{log: log, deliver: deliver, queue: make(chan T, o.capacity)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	for range o.workers {
		c.workers.Go(c.work)
	}
	return c
}

// send queues a thing, or drops it.
func (c *courier[T]) send(thing T) {
	c.sending.RLock()
	defer c.sending.RUnlock()
	if !c.closed {
		c.waiting.Add(1)
		select {
		case c.queue <- thing:
			return
		default:
			c.waiting.Add(-1)
		}
	}
	if c.dropped.Add(1) == 1 {
		c.log.Warn("the queue is full; what does not fit is dropped", "capacity", cap(c.queue))
	}
}

// close delivers what is queued until ctx ends, and says what is left.
func (c *courier[T]) close(ctx context.Context) error {
	c.sending.Lock()
	c.closed = true
	close(c.queue)
	c.sending.Unlock()
	stop := context.AfterFunc(ctx, c.cancel)
	defer stop()
	c.workers.Wait()
	c.cancel()
	if left := c.waiting.Load(); left > 0 {
		return fmt.Errorf("%d things were not delivered to Temporal: %w", left, context.Cause(ctx))
	}
	return nil
}

func (c *courier[T]) work() {
	for thing := range c.queue {
		if !c.bring(thing) {
			return
		}
		c.waiting.Add(-1)
	}
}

// bring delivers one thing, however often that takes; false when the courier is stopped first.
func (c *courier[T]) bring(thing T) bool {
	for wait, failed := retryFirst, false; ; wait = min(2*wait, retryMost) {
		err := c.deliver(c.ctx, thing)
		if err == nil {
			return true
		}
		if !failed {
			c.log.Warn("a delivery to Temporal failed; trying until it is done", "error", err, "waiting", c.waiting.Load())
			failed = true
		}
		if pause(c.ctx, wait); c.ctx.Err() != nil {
			return false
		}
	}
}
