package pool_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMark(t *testing.T) {
	p := setup(t)
	swap := func(was, is string) bool {
		swapped, err := p.SwapMark(t.Context(), was, is)
		require.NoError(t, err)
		return swapped
	}
	mark, err := p.Mark(t.Context())
	require.NoError(t, err)
	require.Empty(t, mark)
	require.False(t, swap("half", "whole"), "somebody lost it in between")
	require.True(t, swap("", "half"))
	require.False(t, swap("", "half"), "somebody else began")
	require.True(t, swap("half", "whole"))
	mark, err = p.Mark(t.Context())
	require.NoError(t, err)
	require.Equal(t, "whole", mark)
}
