package courier_test

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/courier"
)

var quiet = slog.New(slog.DiscardHandler)

func TestCourier(t *testing.T) {
	t.Run("delivers each thing until it is delivered", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			c := courier.New(courier.Options{Capacity: 1, Workers: 1}, quiet, func(context.Context, int) error {
				if tries++; tries < 5 {
					return errors.New("away")
				}
				return nil
			})
			require.True(t, c.Send(7))
			synctest.Wait()
			require.Equal(t, int64(1), c.Waiting())
			require.NoError(t, c.Close(t.Context()))
			require.Equal(t, 5, tries)
			require.Zero(t, c.Waiting())
		})
	})
	t.Run("drops and counts what does not fit", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			open := make(chan struct{})
			c := courier.New(courier.Options{Capacity: 2, Workers: 1}, quiet, func(context.Context, int) error { <-open; return nil })
			require.True(t, c.Send(1))
			synctest.Wait() // the worker has it
			require.True(t, c.Send(2))
			require.True(t, c.Send(3))
			require.False(t, c.Send(4))
			require.Equal(t, int64(1), c.Dropped())
			close(open)
			require.NoError(t, c.Close(t.Context()))
			require.False(t, c.Send(5))
		})
	})
	t.Run("says what is left when its time is over", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var stopped atomic.Bool
			c := courier.New(courier.Options{Capacity: 10, Workers: 1}, quiet, func(ctx context.Context, _ int) error {
				stopped.Store(ctx.Err() != nil)
				return errors.New("away")
			})
			c.Send(1)
			c.Send(2)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			require.ErrorContains(t, c.Close(ctx), "2 things")
		})
	})
}
