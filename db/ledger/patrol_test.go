package ledger_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPatrolAge(t *testing.T) {
	b := setup(t)
	_, ok, err := b.PatrolAge(t.Context())
	require.NoError(t, err)
	require.False(t, ok, "there was no round yet")
	require.NoError(t, b.PatrolFinished(t.Context()))
	b.exec(t, "UPDATE t_seq_patrol SET finished_time = finished_time - INTERVAL 1 HOUR")
	age, ok, err := b.PatrolAge(t.Context())
	require.NoError(t, err)
	require.True(t, ok)
	require.GreaterOrEqual(t, age, time.Hour)
	require.NoError(t, b.PatrolFinished(t.Context()))
	age, _, err = b.PatrolAge(t.Context())
	require.NoError(t, err)
	require.Less(t, age, time.Hour)
}
