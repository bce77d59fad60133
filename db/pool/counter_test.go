package pool_test

import (
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/pool"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

func TestCounter(t *testing.T) {
	t.Run("gives each value once, to any number of callers", func(t *testing.T) {
		p := setup(t)
		var mu sync.Mutex
		seen := map[int64]bool{}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for range 50 {
					lo, err := p.Take(t.Context(), "ORDER", 0, 3)
					require.NoError(t, err)
					mu.Lock()
					for value := lo; value < lo+3; value++ {
						require.False(t, seen[value], "%d was given twice", value)
						seen[value] = true
					}
					mu.Unlock()
				}
			})
		}
		all.Wait()
		require.Len(t, seen, 600)
		require.True(t, seen[1] && seen[600])
	})
	t.Run("is raised to the floor and never lowered", func(t *testing.T) {
		p := setup(t)
		for _, tt := range []struct {
			floor int64
			count int
			lo    int64
		}{
			{-1, 1, 0}, // the first value of a biz type that starts at 0
			{0, 10, 1},
			{99, 5, 100},
			{9, 1, 105},                             // 9 is below 104, although "9" sorts behind "104"
			{9007199254740993, 1, 9007199254740994}, // not every integer above 2^53 is a number of Lua
			{9007199254740993, 2, 9007199254740995},
			{999_999_999_999_999_998, 1, 999_999_999_999_999_999},
		} {
			lo, err := p.Take(t.Context(), "ORDER", tt.floor, tt.count)
			require.NoError(t, err)
			require.Equal(t, tt.lo, lo, "%+v", tt)
		}
	})
	t.Run("that cannot count is away, and nothing is given", func(t *testing.T) {
		url := testkit.Redis(t)
		options, err := redis.ParseURL(url)
		require.NoError(t, err)
		direct := redis.NewClient(options)
		defer direct.Close() //nolint:errcheck // the server goes with the test
		p, err := pool.Open(url)
		require.NoError(t, err)
		defer p.Close() //nolint:errcheck // the server goes with the test
		for _, wrong := range []string{"abc", "1.5"} {
			require.NoError(t, direct.Set(t.Context(), "lacuna:{ORDER}:counter", wrong, 0).Err())
			_, err = p.Take(t.Context(), "ORDER", 0, 1)
			require.ErrorIs(t, err, sequence.ErrUnavailable, wrong)
		}
		require.NoError(t, direct.Set(t.Context(), "lacuna:{ORDER}:counter", int64(math.MaxInt64), 0).Err())
		_, err = p.Take(t.Context(), "ORDER", 0, 1)
		require.ErrorIs(t, err, sequence.ErrUnavailable, "an overflow")

		require.NoError(t, direct.Del(t.Context(), "lacuna:{ORDER}:counter").Err())
		require.NoError(t, direct.ScriptFlush(t.Context()).Err())
		lo, err := p.Take(t.Context(), "ORDER", 41, 1)
		require.NoError(t, err, "a flushed script is sent again (C38)")
		require.Equal(t, int64(42), lo)
	})
}

// C69: all keys of a biz type live in one slot of a cluster, and no biz type can change its slot.
func TestKeysOfABizTypeShareASlot(t *testing.T) {
	url := testkit.Redis(t)
	options, err := redis.ParseURL(url)
	require.NoError(t, err)
	direct := redis.NewClient(options)
	defer direct.Close() //nolint:errcheck // the server goes with the test
	p, err := pool.Open(url)
	require.NoError(t, err)
	defer p.Close() //nolint:errcheck // the server goes with the test

	for _, bizType := range []string{"ORDER", "PU"} {
		require.NoError(t, direct.FlushAll(t.Context()).Err())
		_, err := p.Take(t.Context(), bizType, 0, 1)
		require.NoError(t, err)
		require.NoError(t, p.Push(t.Context(), []sequence.PoolEntry{
			{BizType: bizType, SeqNo: "A-1"}, {BizType: bizType, Period: "202612", SeqNo: "A-2"},
		}))
		keys, err := direct.Keys(t.Context(), "*").Result()
		require.NoError(t, err)
		require.Len(t, keys, 3)
		for _, key := range keys { // a cluster hashes what stands in the first braces, if anything does
			_, rest, _ := strings.Cut(key, "{")
			tag, _, _ := strings.Cut(rest, "}")
			require.Equal(t, bizType, tag, key)
		}
	}
	for _, braces := range []string{"{x}", "a}b{c"} {
		require.ErrorIs(t, sequence.ValidateBizTypeName(braces), sequence.ErrInvalid)
	}
}
