package sequence_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/sequence"
)

func TestAnswer(t *testing.T) {
	n := sequence.Number{BizType: "ORDER", SeqNo: "A-000001", Life: 2, State: sequence.Allocated}
	confirm, abandon := command(sequence.Confirm, 1), command(sequence.Abandon, 1)
	for _, tt := range []struct {
		c       sequence.Command
		outcome sequence.Outcome
		want    error
	}{
		{confirm, sequence.OutcomeConfirmed, nil},
		{confirm, sequence.OutcomeAlreadyConfirmed, nil},
		{confirm, sequence.OutcomeRescued, nil},
		{confirm, sequence.OutcomeAccepted, nil},
		{confirm, sequence.OutcomeConflict, sequence.ErrConflict},
		{confirm, sequence.OutcomeNotFound, sequence.ErrNotFound},
		{confirm, sequence.OutcomePending, sequence.ErrUnavailable},
		{command(sequence.Confirm, 0), sequence.OutcomePending, sequence.ErrNotFound},
		{command(sequence.Confirm, 0), sequence.OutcomeTicketRequired, sequence.ErrTicketRequired},
		{abandon, sequence.OutcomeAbandoned, nil},
		{abandon, sequence.OutcomeAlreadyAbandoned, nil},
		{abandon, sequence.OutcomeAlreadyConfirmed, sequence.ErrAlreadyConfirmed},
		{abandon, sequence.OutcomeStale, sequence.ErrStale},
	} {
		err := sequence.Answer(tt.c, sequence.Decision{Number: n, Outcome: tt.outcome})
		require.ErrorIs(t, err, tt.want, "%s: %s", tt.c.Kind, tt.outcome)
	}
	var refused *sequence.RefusedError
	require.ErrorAs(t, sequence.Answer(confirm, sequence.Decision{Number: n, Outcome: sequence.OutcomeConflict}), &refused)
	require.Equal(t, "ORDER~A-000001~1", refused.Asked.String())
	require.Equal(t, "ORDER~A-000001~2", refused.Current.String())
}
