package ledger_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/ledger"
)

// spans are those of the values from lo to hi that are not taken.
func spans(lo, hi int64, taken func(int64) bool) []ledger.Span {
	var all []ledger.Span
	for v := lo; v <= hi; v++ {
		if taken(v) {
			continue
		}
		first := v
		for v < hi && !taken(v+1) {
			v++
		}
		all = append(all, ledger.NewSpan(first, v))
	}
	return all
}

func TestAValueSetKnowsItsGaps(t *testing.T) {
	for range 200 {
		s, model := ledger.ValueSet{}, map[int64]bool{}
		density := 1 + rand.N(8)
		for range rand.N(5000) {
			v := rand.N[int64](5000 / int64(density) * 2)
			require.Equal(t, !model[v], s.Add(v))
			model[v] = true
		}
		lo := rand.N[int64](6000)
		hi := lo + rand.N[int64](6000)
		want := spans(lo, hi, func(v int64) bool { return model[v] })
		require.Equal(t, want, s.Gaps(lo, hi))
		require.Equal(t, model[lo], s.Has(lo))
		require.Equal(t, len(want) != 1 || want[0] != ledger.NewSpan(lo, hi), s.Any(lo, hi))
	}
}

func TestGapsOfFullAndFarPages(t *testing.T) {
	s := ledger.ValueSet{}
	for v := int64(64); v < 4096; v++ {
		s.Add(v)
	}
	const far = 999_999_999_999_999_999
	s.Add(far)
	require.Equal(t, []ledger.Span{ledger.NewSpan(0, 63), ledger.NewSpan(4096, far-1)}, s.Gaps(0, far))
	require.Empty(t, s.Gaps(64, 4095))
	require.False(t, s.Any(5, 4))
}

func TestSpansAreCutOut(t *testing.T) {
	for range 500 {
		taken := make([]bool, 200)
		var cut []ledger.Span
		for range rand.N(6) {
			lo := rand.N[int64](190)
			k := ledger.NewSpan(lo, lo+rand.N[int64](10))
			cut = append(cut, k)
		}
		holes := ledger.ValueSet{}
		for range rand.N(200) {
			holes.Add(rand.N[int64](200))
		}
		for _, k := range cut {
			for v := k.Bounds()[0]; v <= k.Bounds()[1] && v < 200; v++ {
				taken[v] = true
			}
		}
		got := map[int64]bool{}
		for _, s := range ledger.Without(holes.Gaps(0, 199), cut) {
			for v := s.Bounds()[0]; v <= s.Bounds()[1]; v++ {
				require.False(t, got[v])
				got[v] = true
			}
		}
		for v := range int64(200) {
			require.Equal(t, !holes.Has(v) && !taken[v], got[v], "value %d", v)
		}
	}
}
