package issuer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/issuer"
	"github.com/lacuna-seq/lacuna/sequence"
)

// The ledger forgets what a process holds in memory. What is in memory nobody else is given; nothing is allocated.
func TestALedgerThatStepsBackUnderAnIssuer(t *testing.T) {
	b := setup(t, issuer.MinLease)
	next := func() (issuer.Issued, error) {
		issued, err := b.Next(t.Context(), issuer.Request{BizType: "ORDER", Count: 1})
		if err != nil {
			return issuer.Issued{}, err
		}
		return issued[0], nil
	}
	first, err := next()
	require.NoError(t, err)
	testkit.Eventually(t, func() bool {
		_, _, err := b.ledger.Get(t.Context(), "ORDER", first.SeqNo)
		return err == nil
	}, "the number has no row")
	for _, query := range []string{"DELETE FROM t_seq_issue_log", "UPDATE t_seq_cursor SET value = 0"} {
		_, err = b.ledger.DB().ExecContext(t.Context(), query)
		require.NoError(t, err)
	}
	seen := map[string]bool{first.Ticket: true}
	testkit.Eventually(t, func() bool {
		issued, err := next()
		if err == nil {
			require.False(t, seen[issued.Ticket], "%s is given twice", issued.Ticket)
			seen[issued.Ticket] = true
			return false
		}
		require.ErrorIs(t, err, sequence.ErrUnavailable)
		var behind *sequence.SteppedBackError
		require.ErrorAs(t, err, &behind)
		require.Equal(t, "ORDER", behind.BizType)
		return true
	}, "the issuer goes on")

	stopped, err := b.ledger.BizType(t.Context(), "ORDER")
	require.NoError(t, err)
	require.Positive(t, stopped.SteppedBack, "other processes see it too")
}
