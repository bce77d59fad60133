package pool_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/pool"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func setup(t *testing.T) *pool.Pool {
	t.Helper()
	p, err := pool.Open(testkit.Redis(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

func entry(bizType, seqNo string, score float64) sequence.PoolEntry {
	return sequence.PoolEntry{BizType: bizType, SeqNo: seqNo, Score: score}
}

func seqNos(entries []sequence.PoolEntry) (all []string) {
	for _, e := range entries {
		all = append(all, e.SeqNo)
	}
	return all
}

func TestPool(t *testing.T) {
	one, two, three := entry("ORDER", "A-000001", 1), entry("ORDER", "A-000002", 2), entry("ORDER", "A-000003", 3)

	t.Run("gives the lowest value first, of its own biz type", func(t *testing.T) {
		p := setup(t)
		require.NoError(t, p.Push(t.Context(), []sequence.PoolEntry{three, one, entry("PU", "P-1", 0), two}))
		got, err := p.Pop(t.Context(), "ORDER", "", 2)
		require.NoError(t, err)
		require.Equal(t, []string{"A-000001", "A-000002"}, seqNos(got))
		got, err = p.Pop(t.Context(), "ORDER", "", 10)
		require.NoError(t, err)
		require.Equal(t, []string{"A-000003"}, seqNos(got))
	})
	t.Run("holds a number that is pushed twice once", func(t *testing.T) {
		p := setup(t)
		require.NoError(t, p.Push(t.Context(), []sequence.PoolEntry{one, one}))
		require.NoError(t, p.Push(t.Context(), []sequence.PoolEntry{one}))
		n, err := p.Size(t.Context(), "ORDER", "")
		require.NoError(t, err)
		require.Equal(t, int64(1), n)
	})
	t.Run("is empty without an error", func(t *testing.T) {
		p := setup(t)
		got, err := p.Pop(t.Context(), "ORDER", "", 10)
		require.NoError(t, err)
		require.Empty(t, got)
		require.NoError(t, p.Push(t.Context(), nil))
		require.NoError(t, p.Remove(t.Context(), nil))
	})
	t.Run("lets a rescued number be taken out", func(t *testing.T) {
		p := setup(t)
		require.NoError(t, p.Push(t.Context(), []sequence.PoolEntry{one, two}))
		require.NoError(t, p.Remove(t.Context(), []sequence.PoolEntry{one, three}))
		got, err := p.Pop(t.Context(), "ORDER", "", 10)
		require.NoError(t, err)
		require.Equal(t, []string{"A-000002"}, seqNos(got))
	})
}

func TestAPoolThatIsAwayIsUnavailable(t *testing.T) {
	p, err := pool.Open("redis://:secret@127.0.0.1:1/0")
	require.NoError(t, err)
	defer p.Close() //nolint:errcheck // nothing was opened
	require.ErrorIs(t, p.Ping(t.Context()), sequence.ErrUnavailable)
	_, err = p.Pop(t.Context(), "ORDER", "", 1)
	require.ErrorIs(t, err, sequence.ErrUnavailable)
	require.NotContains(t, err.Error(), "secret")
	require.ErrorIs(t, p.Push(t.Context(), []sequence.PoolEntry{entry("ORDER", "A-1", 1)}), sequence.ErrUnavailable)
}

func TestABadURLIsRefusedWithoutItsPassword(t *testing.T) {
	for _, url := range []string{"", "localhost:6379", "http://:secret@localhost", "redis://:secret@[::1"} {
		_, err := pool.Open(url)
		require.Error(t, err, url)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestTheClientReadsWhatIsThere(t *testing.T) {
	p := setup(t)
	zero, big, dated := entry("ORDER", "A-000000", 0), entry("ORDER", "A-2", float64(1<<53)), entry("INV", "I-1", 7)
	dated.Period = "202612"
	require.NoError(t, p.Push(t.Context(), []sequence.PoolEntry{zero, big, dated}))
	elsewhere := dated
	elsewhere.Period = ""

	scores, err := p.Scores(t.Context(), []sequence.PoolEntry{dated, entry("ORDER", "A-9", 9), big, zero, elsewhere})
	require.NoError(t, err)
	require.Equal(t, []pool.Score{{Present: true, Value: 7}, {}, {Present: true, Value: 1 << 53}, {Present: true}, {}}, scores)
	present, err := p.Present(t.Context(), []sequence.PoolEntry{zero, elsewhere})
	require.NoError(t, err)
	require.Equal(t, []bool{true, false}, present)
	present, err = p.Present(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, present)

	entries, next, err := p.Scan(t.Context(), "INV", "202612", 0, 10)
	require.NoError(t, err)
	require.Zero(t, next)
	require.Equal(t, []sequence.PoolEntry{dated}, entries)

	many := make([]sequence.PoolEntry, 1234)
	for i := range many {
		many[i] = entry("MANY", fmt.Sprintf("M-%d", i), float64(i))
	}
	require.NoError(t, p.Push(t.Context(), many))
	found, pages := map[string]float64{}, 0
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		entries, cursor, err = p.Scan(t.Context(), "MANY", "", cursor, 100)
		require.NoError(t, err)
		pages++
		for _, e := range entries {
			found[e.SeqNo] = e.Score
		}
	}
	require.Len(t, found, len(many))
	require.Equal(t, 77.0, found["M-77"])
	require.Greater(t, pages, 5)
}

func TestEvictionPolicy(t *testing.T) {
	policy, err := setup(t).EvictionPolicy(t.Context())
	require.NoError(t, err)
	require.Equal(t, "noeviction", policy)
	require.False(t, pool.MayEvict(policy))
	require.False(t, pool.MayEvict("volatile-lru"))
	require.False(t, pool.MayEvict(""))
	require.True(t, pool.MayEvict("allkeys-lru"))
}
