package issuer

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSizingFollowsTheUse(t *testing.T) {
	now := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	s := sizing{target: 5 * time.Second}
	after := func(lasted time.Duration) int {
		now = now.Add(lasted)
		return s.next(now, 100, 2000)
	}
	require.Equal(t, 100, after(0), "it begins at the least")
	for _, want := range []int{200, 400, 800, 1600, 2000, 2000} {
		require.Equal(t, want, after(4*time.Second), "doubled when a refill lasted less than the target")
	}
	require.Equal(t, 2000, after(7*time.Second), "kept in between")
	require.Equal(t, 1000, after(11*time.Second), "halved when it lasted more than twice")
	require.Equal(t, 250, after(25*time.Second), "and again")
	require.Equal(t, 100, after(time.Hour), "never below the least")
}

func TestBatchesThatAreNotKnownTwiceInARow(t *testing.T) {
	b := newBatches()
	b.opened("call", 1) // its answer is on its way
	b.opened("memory", 3)
	b.settled("memory", 2)
	held := map[string]int{"call": 10, "memory": 1, "stray": 5}
	require.Empty(t, b.unknown(held))
	require.Equal(t, []string{"stray"}, b.unknown(held))
	b.settled("memory", 1)
	require.Empty(t, b.unknown(map[string]int{"memory": 1}), "its last number may just have been settled")
	require.Empty(t, b.unknown(map[string]int{}))
	require.Empty(t, b.unknown(map[string]int{"memory": 1}), "in a row")
	b.settled("never heard of", 1)
	b.forget()
	require.Empty(t, b.unknown(held))
	require.ElementsMatch(t, []string{"call", "memory", "stray"}, b.unknown(held), "nothing of an earlier lease is known")
}
