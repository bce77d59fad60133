package e2e

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// C58: after a switch of the database the connections that are open lead to a server that only reads. Numbers
// and commands are refused or held, nothing becomes a dead letter, and all goes on without a restart.
func TestADatabaseThatOnlyReadsForAWhile(t *testing.T) {
	mariadb := testkit.OwnMariaDB(t)
	admin := newStackOnBoth(t, mariadb.DSN("lacuna"), testkit.Redis(t)) // may write to a server that only reads
	admin.starter.Kill()
	admin.worker.Kill()
	for _, statement := range []string{"CREATE USER app IDENTIFIED BY 'app'", "GRANT ALL ON lacuna.* TO app"} {
		_, err := admin.ledger.DB().ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	s := *admin
	s.dsn = "app:app@" + s.dsn[strings.Index(s.dsn, "tcp("):]
	s.worker, s.starter = s.program(t, "worker"), s.program(t, "starter")
	s.ready(t, s.worker)
	s.ready(t, s.starter)

	confirmed, confirmedNo := s.next(t, "DEMO")
	abandoned, abandonedNo := s.next(t, "DEMO")
	_, silentNo := s.next(t, "DEMO")
	s.awaitState(t, "DEMO", silentNo, sequence.Allocated)
	only := func(reads string) {
		_, err := s.ledger.DB().ExecContext(t.Context(), "SET GLOBAL read_only = "+reads)
		require.NoError(t, err)
	}
	only("1")
	refused, begun := 0, time.Now()
	for time.Since(begun) < time.Duration(rounds(4, 20))*time.Second { // the switch lasts that long
		code, answer := s.call(t, "Next", `{"bizType":"DEMO"}`)
		if code != http.StatusOK {
			require.Equal(t, http.StatusServiceUnavailable, code, "%v", answer)
			refused++
		}
		require.Contains(t, []string{"OUTCOME_ACCEPTED", "unavailable"}, s.settle(t, "Confirm", confirmed))
		require.Contains(t, []string{"OUTCOME_ACCEPTED", "unavailable"}, s.settle(t, "Abandon", abandoned))
	}
	require.Positive(t, refused, "numbers were issued that could not be written down")
	only("0")
	testkit.Eventually(t, func() bool { code, _ := s.call(t, "Next", `{"bizType":"DEMO"}`); return code == http.StatusOK }, "it does not go on")
	s.awaitState(t, "DEMO", confirmedNo, sequence.Confirmed)
	for _, seqNo := range []string{abandonedNo, silentNo} {
		testkit.Within(t, 3*time.Minute, func() bool { return s.row(t, "DEMO", seqNo).State == sequence.Replayable }, "%s does not come back", seqNo)
	}
	require.Zero(t, s.count(t, "status = 6"))
	s.closure(t)
}
