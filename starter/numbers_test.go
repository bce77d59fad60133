package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/sequence"
)

func TestTheAPISpeaksTheLedgersStates(t *testing.T) {
	require.Len(t, lacunav1.State_name, len(sequence.States))
	for _, s := range sequence.States {
		require.Equal(t, "STATE_"+s.String(), stateMessage(s).String())
	}
}

func TestTheAPISpeaksEveryOutcomeOfACommand(t *testing.T) {
	for _, o := range []sequence.Outcome{
		sequence.OutcomeConfirmed, sequence.OutcomeAlreadyConfirmed, sequence.OutcomeRescued, sequence.OutcomeAbandoned,
		sequence.OutcomeAlreadyAbandoned, sequence.OutcomeAccepted, sequence.OutcomeConflict, sequence.OutcomeStale,
	} {
		require.Equal(t, "OUTCOME_"+o.String(), outcomeMessage(o).String())
	}
}

func TestRunLinks(t *testing.T) {
	n := sequence.Number{BizType: "ORDER", SeqNo: "A-000001", Life: 2}
	require.Equal(t, "http://ui/namespaces/default/workflows/ORDER~A-000001~2", runLinks{"http://ui", "default"}.of(n))
	require.Equal(t, "http://ui/x/namespaces/a%20b/workflows/ORDER~A-000001~2", runLinks{"http://ui/x/", "a b"}.of(n))
	require.Empty(t, runLinks{"", "default"}.of(n))
	n.Life = 0
	require.Empty(t, runLinks{"http://ui", "default"}.of(n))
}
