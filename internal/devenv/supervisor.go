package devenv

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// maxRestarts is how often a minute a child that ends is started again.
const maxRestarts = 5

// Supervisor keeps children running, in the order in which they were added.
type Supervisor struct {
	report Report
	failed chan error
	ctx    context.Context //nolint:containedctx // the supervisor's own life
	cancel context.CancelFunc
	watch  sync.WaitGroup

	mu       sync.Mutex
	children []*supervised
}

type supervised struct {
	child *Child
	start func(context.Context) (*Child, error)
	ended []time.Time
}

// NewSupervisor tells report about children that end.
func NewSupervisor(report Report) *Supervisor {
	s := &Supervisor{report: report, failed: make(chan error, 1)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Add starts a child and keeps it running: when it ends it is started again, at most 5 times a
// minute. start must be fit to be called again.
func (s *Supervisor) Add(ctx context.Context, start func(context.Context) (*Child, error)) (*Child, error) {
	child, err := start(ctx)
	if err != nil {
		return nil, err
	}
	c := &supervised{child: child, start: start}
	s.mu.Lock()
	s.children = append(s.children, c)
	s.mu.Unlock()
	s.watch.Go(func() { s.keep(c) })
	return child, nil
}

// Failed gives the error of a child that could not be kept running.
func (s *Supervisor) Failed() <-chan error { return s.failed }

// Stop ends the children, the last one first, each in good order while ctx lasts.
func (s *Supervisor) Stop(ctx context.Context) error {
	s.cancel()
	s.watch.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, c := range slices.Backward(s.children) {
		errs = append(errs, c.child.Stop(ctx))
	}
	return errors.Join(errs...)
}

// keep starts a child again whenever it ends, until the supervisor stops.
func (s *Supervisor) keep(c *supervised) {
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-c.child.Done():
		}
		if s.ctx.Err() != nil {
			return
		}
		if err := s.again(c); err != nil {
			select {
			case s.failed <- err:
			default:
			}
			return
		}
	}
}

// again starts a child that ended. A start that fails counts as one more end.
func (s *Supervisor) again(c *supervised) error {
	name, end := c.child.Name(), c.child.Err()
	for why := c.child.ending(); ; why = end.Error() {
		now := time.Now()
		c.ended = slices.DeleteFunc(c.ended, func(t time.Time) bool { return now.Sub(t) > time.Minute })
		if c.ended = append(c.ended, now); len(c.ended) > maxRestarts {
			return fmt.Errorf("%s ended %d times within a minute: %w", name, len(c.ended), end)
		}
		s.report("%s; starting it again", why)
		child, err := c.start(s.ctx)
		if err == nil {
			c.child = child
			return nil
		}
		if s.ctx.Err() != nil {
			return nil // it is being stopped
		}
		end = fmt.Errorf("start %s again: %w", name, err)
	}
}
