package devenv_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/devenv"
)

func TestSupervisor(t *testing.T) {
	runs := func(t *testing.T, line string) (func(context.Context) (*devenv.Child, error), string) {
		spec := devenv.Spec{Name: "sh", Path: "/bin/sh", Args: []string{"-c", line}, Log: filepath.Join(t.TempDir(), "log")}
		return func(context.Context) (*devenv.Child, error) { return devenv.Start(spec) }, spec.Log
	}
	t.Run("starts a child again that was killed, and says so", func(t *testing.T) {
		said := make(chan string, 10)
		s := devenv.NewSupervisor(func(format string, args ...any) { said <- fmt.Sprintf(format, args...) })
		start, log := runs(t, `echo "up $$"; exec sleep 60`)
		child, err := s.Add(t.Context(), start)
		require.NoError(t, err)
		awaitText(t, log, "up")
		child.Kill()
		require.Contains(t, <-said, "starting it again")
		require.Eventually(t, func() bool {
			content, err := os.ReadFile(log)
			return err == nil && strings.Count(string(content), "up") == 2
		}, time.Minute, 5*time.Millisecond)
		require.NoError(t, s.Stop(t.Context()))
	})
	t.Run("gives a child up that ends too often", func(t *testing.T) {
		s := devenv.NewSupervisor(func(string, ...any) {})
		start, log := runs(t, `echo up; exit 1`)
		_, err := s.Add(t.Context(), start)
		require.NoError(t, err)
		require.ErrorContains(t, <-s.Failed(), "within a minute")
		content, err := os.ReadFile(log)
		require.NoError(t, err)
		require.Equal(t, 6, strings.Count(string(content), "up"))
		require.NoError(t, s.Stop(t.Context()))
	})
	t.Run("stops the last one first", func(t *testing.T) {
		s := devenv.NewSupervisor(func(string, ...any) {})
		order := filepath.Join(t.TempDir(), "order")
		for _, name := range []string{"first", "second"} {
			start, log := runs(t, `trap 'echo `+name+` >> `+order+`; exit 0' TERM; echo up; while :; do sleep 0.02; done`)
			_, err := s.Add(t.Context(), start)
			require.NoError(t, err)
			awaitText(t, log, "up")
		}
		require.NoError(t, s.Stop(t.Context()))
		content, err := os.ReadFile(order)
		require.NoError(t, err)
		require.Equal(t, "second\nfirst\n", string(content))
	})
	t.Run("counts a start that fails like an end, and tries again", func(t *testing.T) {
		said := make(chan string, 10)
		s := devenv.NewSupervisor(func(format string, args ...any) { said <- fmt.Sprintf(format, args...) })
		start, _ := runs(t, `exec sleep 60`)
		var starts atomic.Int32
		child, err := s.Add(t.Context(), func(ctx context.Context) (*devenv.Child, error) {
			if starts.Add(1) == 2 {
				return nil, errors.New("no paper")
			}
			return start(ctx)
		})
		require.NoError(t, err)
		child.Kill()
		require.Contains(t, <-said, "killed")
		require.Contains(t, <-said, "no paper")
		require.Eventually(t, func() bool { return starts.Load() == 3 }, time.Minute, 5*time.Millisecond)
		require.NoError(t, s.Stop(t.Context()))
	})
	t.Run("does not start a child again while it stops", func(t *testing.T) {
		s := devenv.NewSupervisor(func(string, ...any) {})
		entered := make(chan struct{})
		start, _ := runs(t, `exec sleep 60`)
		var starts atomic.Int32
		child, err := s.Add(t.Context(), func(ctx context.Context) (*devenv.Child, error) {
			if starts.Add(1) == 1 {
				return start(ctx)
			}
			close(entered)
			<-ctx.Done()
			return nil, ctx.Err()
		})
		require.NoError(t, err)
		child.Kill()
		<-entered
		require.NoError(t, s.Stop(t.Context()))
		require.EqualValues(t, 2, starts.Load())
		require.Empty(t, s.Failed())
	})
	t.Run("kills what does not end within the budget", func(t *testing.T) {
		s := devenv.NewSupervisor(func(string, ...any) {})
		start, log := runs(t, `trap '' TERM; echo up; while :; do sleep 0.02; done`)
		child, err := s.Add(t.Context(), start)
		require.NoError(t, err)
		awaitText(t, log, "up")
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		require.ErrorContains(t, s.Stop(ctx), "killed")
		<-child.Done()
	})
}
