// Package courier delivers things in the background, each until it is delivered, and lets nobody wait.
//
// The issuer sends starts and wakes of lifecycles by one, the client what a transaction has left
// to say.
package courier

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lacuna-seq/lacuna/internal/wait"
)

// Options bound a Courier.
type Options struct {
	// Capacity is how many things wait at most; what comes then is dropped.
	Capacity int
	// Workers is how many are delivered at once.
	Workers int
}

// The pause between two tries to deliver one thing doubles from the first to the longest.
const (
	firstPause = 250 * time.Millisecond
	mostPause  = 10 * time.Second
)

// Courier delivers things of one kind. Use New; Close ends it.
type Courier[T any] struct {
	log     *slog.Logger
	deliver func(context.Context, T) error
	queue   chan queued[T]
	ctx     context.Context //nolint:containedctx // the courier's own life
	cancel  context.CancelFunc
	workers sync.WaitGroup
	waiting atomic.Int64
	dropped atomic.Int64
	oldest  atomic.Int64 // when the thing was sent that was last taken out of the queue, Unix nanoseconds
	takes   atomic.Int64 // how long a delivery takes of late, in nanoseconds
	at      int          // how many are under way at once

	sending sync.RWMutex // against a close while something is being sent
	closed  bool
}

// queued is a thing and when it was sent.
type queued[T any] struct {
	thing T
	sent  time.Time
}

// New starts a courier. deliver is called again until it returns nil; its context ends when Close
// runs out of time.
func New[T any](o Options, log *slog.Logger, deliver func(context.Context, T) error) *Courier[T] {
	c := &Courier[T]{at: o.Workers, log: log, deliver: deliver, queue: make(chan queued[T], o.Capacity)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	for range o.Workers {
		c.workers.Go(c.work)
	}
	return c
}

// Send queues a thing and never waits. It returns false where the queue is full or closed; the
// thing is dropped and counted, and the first of them logged.
func (c *Courier[T]) Send(thing T) bool {
	c.sending.RLock()
	defer c.sending.RUnlock()
	if !c.closed {
		now := time.Now()
		if c.waiting.Add(1) == 1 {
			c.oldest.Store(now.UnixNano())
		}
		select {
		case c.queue <- queued[T]{thing, now}:
			return true
		default:
			c.waiting.Add(-1)
		}
	}
	if c.dropped.Add(1) == 1 {
		c.log.Warn("a queue is full; what does not fit is dropped", "capacity", cap(c.queue))
	}
	return false
}

// Waiting counts what is not delivered yet.
func (c *Courier[T]) Waiting() int64 { return c.waiting.Load() }

// Lag is, about, how long the oldest thing has waited that is not delivered yet, or how long one will have
// waited that is sent now, whichever is more.
func (c *Courier[T]) Lag() time.Duration {
	waiting := c.waiting.Load()
	if waiting == 0 {
		return 0
	}
	age := time.Now().UnixNano() - c.oldest.Load()
	return time.Duration(max(age, waiting*c.takes.Load()/int64(c.at)))
}

// Drain takes back what is queued and not being delivered.
func (c *Courier[T]) Drain() (things []T) {
	for {
		select {
		case next, open := <-c.queue:
			if !open {
				return things
			}
			c.waiting.Add(-1)
			things = append(things, next.thing)
		default:
			return things
		}
	}
}

// measure keeps how long deliveries take: each counts for a sixteenth.
func (c *Courier[T]) measure(took time.Duration) {
	mean := c.takes.Load()
	c.takes.Store(mean + (int64(took)-mean)/16)
}

// Dropped counts what was not taken.
func (c *Courier[T]) Dropped() int64 { return c.dropped.Load() }

// Close takes no more, delivers what is queued until ctx ends, and says how much is left.
func (c *Courier[T]) Close(ctx context.Context) error {
	c.sending.Lock()
	if !c.closed {
		c.closed = true
		close(c.queue)
	}
	c.sending.Unlock()
	stop := context.AfterFunc(ctx, c.cancel)
	defer stop()
	c.workers.Wait()
	c.cancel()
	if left := c.waiting.Load(); left > 0 {
		return fmt.Errorf("%d things were not delivered: %w", left, context.Cause(ctx))
	}
	return nil
}

func (c *Courier[T]) work() {
	for next := range c.queue {
		c.oldest.Store(next.sent.UnixNano())
		begun := time.Now()
		if !c.bring(next.thing) {
			return
		}
		c.measure(time.Since(begun))
		c.waiting.Add(-1)
	}
}

// about is what a thing tells the log of itself, if it is a slog.LogValuer.
func about(thing any) slog.Attr {
	if v, ok := thing.(slog.LogValuer); ok {
		return slog.Any("", v) // a group without a name stands in the line itself
	}
	return slog.Attr{}
}

// bring delivers one thing, however often that takes; false when the courier is stopped first.
func (c *Courier[T]) bring(thing T) bool {
	for pause, failed := firstPause, false; ; pause = min(2*pause, mostPause) {
		err := c.deliver(c.ctx, thing)
		if err == nil {
			return true
		}
		if !failed {
			c.log.Warn("a delivery failed; trying until it is done", "error", err, "waiting", c.waiting.Load(), about(thing))
			failed = true
		}
		if wait.For(c.ctx, pause) != nil {
			return false
		}
	}
}
