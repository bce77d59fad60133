package testkit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Patience is how long Eventually waits: ten times what the slowest bound of the design allows.
const Patience = 60 * time.Second

// Eventually asks until the answer is yes, and fails with the message when that takes too long. It
// asks on the test's own goroutine, so yes may fail the test at once.
func Eventually(t testing.TB, yes func() bool, format string, args ...any) {
	t.Helper()
	Within(t, Patience, yes, format, args...)
}

// Within is Eventually with a patience of its own.
func Within(t testing.TB, patience time.Duration, yes func() bool, format string, args ...any) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !yes(); <-tick.C {
		require.True(t, time.Now().Before(end), append([]any{format}, args...)...)
	}
}

// Pass lets time pass where the passing of time is what the test is about.
func Pass(t testing.TB, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}
