package ledger_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPatrolAge(t *testing.T) {
	b := setup(t)
	_, err := b.PatrolAge(t.Context())
	require.NoError(t, err, "there was no round yet")
	b.exec(t, "UPDATE t_seq_patrol SET finished_time = finished_time - INTERVAL 1 HOUR")
	age, err := b.PatrolAge(t.Context())
	require.NoError(t, err)
	require.GreaterOrEqual(t, age, time.Hour)
	require.NoError(t, b.PatrolFinished(t.Context()))
	age, err = b.PatrolAge(t.Context())
	require.NoError(t, err)
	require.Less(t, age, time.Hour)
}
