package batching_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/batching"
)

// gate is a flush that waits until it is let through, and remembers its batches.
type gate struct {
	mu      sync.Mutex
	batches [][]int
	entered chan struct{}
	open    chan struct{}
	err     error
}

func newGate() *gate {
	return &gate{entered: make(chan struct{}, 100), open: make(chan struct{})}
}

func (g *gate) flush(_ context.Context, reqs []int) ([]int, error) {
	g.mu.Lock()
	g.batches = append(g.batches, append([]int(nil), reqs...))
	g.mu.Unlock()
	g.entered <- struct{}{}
	<-g.open
	res := make([]int, len(reqs))
	for i, r := range reqs {
		res[i] = r * 10
	}
	return res, g.err
}

func TestCoalescer(t *testing.T) {
	t.Run("answers each request in its place", func(t *testing.T) {
		g := newGate()
		close(g.open)
		c := batching.New(g.flush, batching.Options{MaxSize: 3})
		defer c.Close()
		res, err := c.Do(t.Context(), 1, 2, 3, 4, 5, 6, 7)
		require.NoError(t, err)
		require.Equal(t, []int{10, 20, 30, 40, 50, 60, 70}, res)
		for _, batch := range g.batches {
			require.LessOrEqual(t, len(batch), 3)
		}
	})

	t.Run("joins what arrives while a batch is carried out", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := newGate()
			c := batching.New(g.flush, batching.Options{MaxSize: 10, Workers: 1})
			var callers sync.WaitGroup
			for i := range 6 {
				callers.Go(func() {
					res, err := c.Do(t.Context(), i)
					require.NoError(t, err)
					require.Equal(t, []int{i * 10}, res)
				})
				synctest.Wait() // the first is being carried out, the others are queued
			}
			close(g.open)
			callers.Wait()
			c.Close()
			require.Equal(t, [][]int{{0}, {1, 2, 3, 4, 5}}, g.batches)
		})
	})

	t.Run("waits for more where it is told to", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := newGate()
			close(g.open)
			c := batching.New(g.flush, batching.Options{Workers: 1, MaxWait: time.Second})
			var callers sync.WaitGroup
			callers.Go(func() { _, err := c.Do(t.Context(), 1); require.NoError(t, err) })
			synctest.Wait()
			callers.Go(func() { _, err := c.Do(t.Context(), 2); require.NoError(t, err) })
			callers.Wait()
			c.Close()
			require.Equal(t, [][]int{{1, 2}}, g.batches)
		})
	})

	t.Run("an error answers the whole batch", func(t *testing.T) {
		g := newGate()
		close(g.open)
		g.err = errors.New("away")
		c := batching.New(g.flush, batching.Options{})
		defer c.Close()
		_, err := c.Do(t.Context(), 1, 2)
		require.ErrorIs(t, err, g.err)
	})

	t.Run("a flush that answers too few fails its callers", func(t *testing.T) {
		c := batching.New(func(context.Context, []int) ([]int, error) { return nil, nil }, batching.Options{})
		defer c.Close()
		_, err := c.Do(t.Context(), 1)
		require.ErrorContains(t, err, "0 answers to 1 requests")
	})

	t.Run("a caller that leaves does not stop its batch", func(t *testing.T) {
		g := newGate()
		c := batching.New(g.flush, batching.Options{})
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error)
		go func() {
			_, err := c.Do(ctx, 1)
			left <- err
		}()
		<-g.entered
		cancel()
		require.ErrorIs(t, <-left, context.Canceled)
		close(g.open)
		c.Close()
		require.Equal(t, [][]int{{1}}, g.batches)
	})

	t.Run("close carries out what is queued and refuses what comes later", func(t *testing.T) {
		g := newGate()
		c := batching.New(g.flush, batching.Options{Workers: 1, MaxSize: 1})
		var callers sync.WaitGroup
		callers.Go(func() { _, err := c.Do(t.Context(), 1); require.NoError(t, err) })
		<-g.entered
		close(g.open)
		callers.Wait()
		c.Close()
		_, err := c.Do(t.Context(), 2)
		require.ErrorIs(t, err, batching.ErrClosed)
	})
}
