package e2e

import (
	"database/sql"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// The business is asked before a number is issued again: what it holds is confirmed, and while it does not
// answer nothing is issued again.
func TestTheBusinessIsAsked(t *testing.T) {
	shop := testkit.MariaDB(t)
	db, err := sql.Open("mysql", shop)
	require.NoError(t, err)
	defer db.Close() //nolint:errcheck // the database goes with the test
	exec := func(statement string, args ...any) {
		_, err := db.ExecContext(t.Context(), statement, args...)
		require.NoError(t, err)
	}
	exec("CREATE TABLE orders (number VARCHAR(64) PRIMARY KEY)")
	s := newStack(t, "LACUNA_PROBE_DSNS=shop="+shop)
	s.put(t, `{"name":"ASK","format":"K-{seq:6}","confirmTimeout":"60s","safetyWindow":"1s","retryDelays":["0.2s","0.4s"],
		"probe":{"sql":{"dsn":"shop","query":"SELECT 1 FROM orders WHERE number = ?"}}}`)

	used, usedNo := s.next(t, "ASK")
	exec("INSERT INTO orders VALUES (?)", usedNo)
	free, freeNo := s.next(t, "ASK")
	for _, ticket := range []string{used, free} {
		require.Equal(t, "OUTCOME_ABANDONED", s.settle(t, "Abandon", ticket))
	}
	require.Equal(t, sequence.ReasonFound, s.awaitState(t, "ASK", usedNo, sequence.Confirmed).Reason)
	s.awaitState(t, "ASK", freeNo, sequence.Replayable)

	exec("RENAME TABLE orders TO orders_of_old")
	silent, silentNo := s.next(t, "ASK")
	terminated, terminatedNo := s.next(t, "ASK")
	s.awaitRun(t, terminated)
	require.NoError(t, s.client.TerminateWorkflow(t.Context(), terminated, "", "a test"))
	for _, ticket := range []string{silent, terminated} {
		require.Equal(t, "OUTCOME_ABANDONED", s.settle(t, "Abandon", ticket))
	}
	for _, seqNo := range []string{silentNo, terminatedNo} { // by its own run, and by a Compensation
		require.Contains(t, s.awaitState(t, "ASK", seqNo, sequence.Dead).Reason, "orders")
	}
	counts := s.operate(t, "ListDeadLetters", `{"filter":{"bizType":"ASK"}}`)["counts"]
	require.Equal(t, []any{map[string]any{"bizType": "ASK", "cause": "DEAD_CAUSE_PROBE_AWAY", "count": "2"}}, counts)
	exec("RENAME TABLE orders_of_old TO orders")
	exec("INSERT INTO orders VALUES (?)", silentNo)
	s.operate(t, "RequeueDeadLetters", `{"filter":{"cause":"DEAD_CAUSE_PROBE_AWAY"},"actor":"mia"}`)
	s.awaitState(t, "ASK", silentNo, sequence.Confirmed)
	s.awaitState(t, "ASK", terminatedNo, sequence.Replayable)
	s.closure(t)
}
