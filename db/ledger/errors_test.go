package ledger

import (
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/sequence"
)

// A server that says what is wrong with it is not merely away.
func TestAServerThatCannotServeSaysWhy(t *testing.T) {
	for _, tt := range []struct {
		number uint16
		says   string
	}{
		{errTableFull, "the ledger's disk is full"},
		{errAccessDenied, "the ledger refuses the user or the password"},
		{errOptionPrevents, "the ledger's server is read-only"},
		{errTooManyConnections, "the ledger has no connection left"},
		{errServerShutdown, "the ledger is away"},
	} {
		err := classify("read a number", &mysql.MySQLError{Number: tt.number, Message: "because"})
		require.ErrorIs(t, err, sequence.ErrUnavailable)
		require.ErrorContains(t, err, tt.says)
	}
	err := classify("create token mia", &mysql.MySQLError{Number: errNoSuchTable})
	require.NotErrorIs(t, err, sequence.ErrUnavailable)
	require.ErrorContains(t, err, "lacuna migrate up")
}
