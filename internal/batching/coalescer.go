package batching

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrClosed answers a call that comes after Close. Nothing of it was carried out.
var ErrClosed = errors.New("batching: closed")

// Options bound a Coalescer. Zero values take the defaults.
type Options struct {
	// MaxSize is the most requests in one batch; 500 by default, where a multi-row statement
	// of the ledger is near its best rate.
	MaxSize int
	// MaxWait is how long a batch that is not full waits for more requests. By default it does
	// not wait: a batch then holds what arrived while the workers were busy.
	MaxWait time.Duration
	// Workers is how many batches are carried out at once; 2 by default.
	Workers int
	// Join makes the context of a batch, e.g. to trace it, out of its callers' contexts, of which it must keep none.
	// What it returns with it is told how the batch ended. By default a batch knows nothing of its callers.
	Join Join
}

// Join makes the context of a batch; see Options.
type Join func(batch context.Context, callers []context.Context) (context.Context, func(error))

func (o Options) withDefaults() Options {
	if o.MaxSize <= 0 {
		o.MaxSize = 500
	}
	if o.Workers <= 0 {
		o.Workers = 2
	}
	if o.Join == nil {
		o.Join = func(ctx context.Context, _ []context.Context) (context.Context, func(error)) {
			return ctx, func(error) {}
		}
	}
	return o
}

// Flush carries out 1 to MaxSize requests and answers each in its place. An error answers them
// all. The context ends only when the Coalescer is torn down, never with a single caller.
type Flush[Req, Res any] func(ctx context.Context, reqs []Req) ([]Res, error)

// Coalescer joins the requests of many goroutines into batches. Use New.
type Coalescer[Req, Res any] struct {
	flush   Flush[Req, Res]
	options Options
	queue   chan *call[Req, Res]
	closing sync.RWMutex // held for reading while a call is being queued
	closed  bool
	workers sync.WaitGroup
}

// call is one caller's share of a batch: at most MaxSize requests.
type call[Req, Res any] struct {
	ctx  context.Context //nolint:containedctx // its caller's, for Join
	reqs []Req
	res  []Res
	err  error
	done chan struct{}
}

// New starts a Coalescer; Close ends it.
func New[Req, Res any](flush Flush[Req, Res], options Options) *Coalescer[Req, Res] {
	c := &Coalescer[Req, Res]{flush: flush, options: options.withDefaults()}
	c.queue = make(chan *call[Req, Res], c.options.MaxSize)
	for range c.options.Workers {
		c.workers.Go(c.work)
	}
	return c
}

// Do puts the requests into the next batches and waits for their answers, in the order of the
// requests. When ctx ends first Do returns its error, and what was queued is carried out all
// the same. After Close it returns ErrClosed.
func (c *Coalescer[Req, Res]) Do(ctx context.Context, reqs ...Req) ([]Res, error) {
	calls, err := c.enqueue(ctx, reqs)
	if err != nil {
		return nil, err
	}
	res := make([]Res, 0, len(reqs))
	for _, call := range calls {
		select {
		case <-call.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if call.err != nil {
			return nil, call.err
		}
		res = append(res, call.res...)
	}
	return res, nil
}

func (c *Coalescer[Req, Res]) enqueue(ctx context.Context, reqs []Req) ([]*call[Req, Res], error) {
	c.closing.RLock()
	defer c.closing.RUnlock()
	if c.closed {
		return nil, ErrClosed
	}
	var calls []*call[Req, Res]
	for len(reqs) > 0 {
		n := min(len(reqs), c.options.MaxSize)
		call := &call[Req, Res]{ctx: ctx, reqs: reqs[:n:n], done: make(chan struct{})}
		select {
		case c.queue <- call:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		calls, reqs = append(calls, call), reqs[n:]
	}
	return calls, nil
}

// Close carries out what is queued and stops the workers.
func (c *Coalescer[Req, Res]) Close() {
	c.closing.Lock()
	if !c.closed {
		c.closed = true
		close(c.queue)
	}
	c.closing.Unlock()
	c.workers.Wait()
}

func (c *Coalescer[Req, Res]) work() {
	var held *call[Req, Res] // a call that did not fit into the batch before
	for {
		first := held
		if first == nil {
			var open bool
			if first, open = <-c.queue; !open {
				return
			}
		}
		var batch []*call[Req, Res]
		batch, held = c.gather(first)
		c.carryOut(batch)
	}
}

// gather joins to first what waits in the queue, and what comes within MaxWait.
func (c *Coalescer[Req, Res]) gather(first *call[Req, Res]) (batch []*call[Req, Res], held *call[Req, Res]) {
	batch, size := []*call[Req, Res]{first}, len(first.reqs)
	timeout := closedTimer
	if c.options.MaxWait > 0 {
		timeout = time.After(c.options.MaxWait)
	}
	for size < c.options.MaxSize {
		var next *call[Req, Res]
		select { // what waits already comes before the clock
		case next = <-c.queue:
		default:
			select {
			case next = <-c.queue:
			case <-timeout:
				return batch, nil
			}
		}
		if next == nil { // closed
			return batch, nil
		}
		if size+len(next.reqs) > c.options.MaxSize {
			return batch, next
		}
		batch, size = append(batch, next), size+len(next.reqs)
	}
	return batch, nil
}

// closedTimer is a timer that has always run out.
var closedTimer = func() <-chan time.Time {
	c := make(chan time.Time)
	close(c)
	return c
}()

func (c *Coalescer[Req, Res]) carryOut(batch []*call[Req, Res]) {
	reqs := batch[0].reqs
	if len(batch) > 1 {
		reqs = nil
		for _, call := range batch {
			reqs = append(reqs, call.reqs...)
		}
	}
	callers := make([]context.Context, len(batch))
	for i, call := range batch {
		callers[i] = call.ctx
	}
	ctx, ended := c.options.Join(context.Background(), callers)
	res, err := c.flush(ctx, reqs)
	if err == nil && len(res) != len(reqs) {
		err = fmt.Errorf("batching: %d answers to %d requests", len(res), len(reqs))
	}
	ended(err)
	for _, call := range batch {
		if call.err = err; err == nil {
			call.res, res = res[:len(call.reqs)], res[len(call.reqs):]
		}
		close(call.done)
	}
}
