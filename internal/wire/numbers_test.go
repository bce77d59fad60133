package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/internal/wire"
	"github.com/lacuna-seq/lacuna/sequence"
)

func TestTheAPISpeaksTheLedgersStates(t *testing.T) {
	require.Len(t, lacunav1.State_name, len(sequence.States))
	for _, s := range sequence.States {
		require.Equal(t, "STATE_"+s.String(), wire.State(s).String())
	}
}

func TestTheAPISpeaksEveryOutcomeOfACommand(t *testing.T) {
	for _, o := range []sequence.Outcome{
		sequence.OutcomeConfirmed, sequence.OutcomeAlreadyConfirmed, sequence.OutcomeRescued, sequence.OutcomeAbandoned,
		sequence.OutcomeAlreadyAbandoned, sequence.OutcomeAccepted, sequence.OutcomeConflict, sequence.OutcomeStale,
	} {
		require.Equal(t, "OUTCOME_"+o.String(), wire.Outcome(o).String())
	}
}
