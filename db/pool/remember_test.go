package pool_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/sequence"
)

func TestWhatIsRememberedOfTheLedgerOnlyGrows(t *testing.T) {
	p := setup(t)
	ctx := t.Context()
	tide, marks, err := p.Recall(ctx, "ORDER")
	require.NoError(t, err)
	require.Zero(t, tide)
	require.Empty(t, marks)

	for _, step := range []struct{ tell, kept int64 }{{0, 0}, {99, 99}, {100, 100}, {20, 100}, {math.MaxInt64 - 1, math.MaxInt64 - 1}, {math.MaxInt64 - 2, math.MaxInt64 - 1}} {
		tide, marks, err = p.Remember(ctx, step.tell, []sequence.Mark{{BizType: "ORDER", Value: step.tell}, {BizType: "BILL", Period: "202612", Value: 7}})
		require.NoError(t, err)
		require.Equal(t, step.kept, tide)
		require.Equal(t, []sequence.Mark{{BizType: "ORDER", Value: step.kept}, {BizType: "BILL", Period: "202612", Value: 7}}, marks)
	}
	tide, marks, err = p.Recall(ctx, "BILL")
	require.NoError(t, err)
	require.Equal(t, int64(math.MaxInt64-1), tide)
	require.Equal(t, []sequence.Mark{{BizType: "BILL", Period: "202612", Value: 7}}, marks)
}
