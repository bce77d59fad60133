package main

import (
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/db/ledger"
)

func TestALedgerThatIsAwayIsAStatusAndNoError(t *testing.T) {
	l, err := ledger.Open("user:password@tcp(127.0.0.1:1)/lacuna")
	require.NoError(t, err)
	defer l.Close() //nolint:errcheck // nothing was connected
	response, err := (&operatorService{ledger: l}).GetStatus(t.Context(), connect.NewRequest(&lacunav1.GetStatusRequest{}))
	require.NoError(t, err)
	require.Equal(t, "the ledger is away", response.Msg.GetAway())
	require.Nil(t, response.Msg.GetLedgerTime())
	require.Nil(t, response.Msg.GetPatrolAge())
	require.NotNil(t, response.Msg.GetTime())
}
