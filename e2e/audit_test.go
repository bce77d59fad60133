package e2e

import (
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/sequence"
)

// lacuna runs the operators' command line and gives what it wrote and its exit code.
func (s *stack) lacuna(t *testing.T, args ...string) (string, int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(s.dir, "lacuna"), append(args, "--api", s.starter.url)...)
	command.Env = append(append(command.Environ(), s.env...), "LACUNA_TOKEN="+s.token)
	out, err := command.CombinedOutput()
	var exit *exec.ExitError
	if err != nil {
		require.ErrorAs(t, err, &exit)
	}
	return string(out), command.ProcessState.ExitCode()
}

// An operator audits a system in which numbers were used, given up, issued again and lost with a
// process that was killed: everything adds up at any moment. Then a row is lost.
func TestAnOperatorAudits(t *testing.T) {
	s := newStack(t)
	audit := func(args ...string) (string, int) { return s.lacuna(t, append([]string{"audit"}, args...)...) }
	out, code := audit()
	require.Zero(t, code, "%s", out)

	var given []string
	for i := range 30 {
		ticket, seqNo := s.next(t, "DEMO")
		switch i % 3 {
		case 0:
			require.Equal(t, "OUTCOME_CONFIRMED", s.settle(t, "Confirm", ticket))
		case 1:
			require.Equal(t, "OUTCOME_ABANDONED", s.settle(t, "Abandon", ticket))
			given = append(given, seqNo)
		}
		if i%10 == 0 {
			out, code = audit("DEMO", "--gaps")
			require.Zero(t, code, "%s", out)
		}
	}
	out, code = audit("DEMO", "--gaps", "--output", "csv")
	require.Zero(t, code, "%s", out)
	require.Contains(t, out, given[len(given)-1], "its window still runs, or nobody asked for a number since")
	for _, seqNo := range given {
		s.awaitState(t, "DEMO", seqNo, sequence.Replayable)
	}
	s.next(t, "DEMO")
	s.starter.Kill()
	s.restart(t, s.starter)
	out, code = audit("DEMO")
	require.Zero(t, code, "%s", out)
	require.Contains(t, out, "every value is accounted for")

	status, answer := s.post(t, "OperatorService/Audit", `{"bizType":"DEMO","lo":"5","hi":"9"}`)
	require.Equal(t, http.StatusOK, status, "%v", answer)
	require.Equal(t, true, answer["clean"])
	require.Equal(t, "5", answer["reports"].([]any)[0].(map[string]any)["values"])
	for _, body := range []string{`{"lo":"1"}`, `{"bizType":"DEMO","gapsPageSize":10001}`, `{"bizType":"DEMO","gapsPageToken":"x"}`} {
		status, answer = s.post(t, "OperatorService/Audit", body)
		require.Equal(t, http.StatusBadRequest, status, "%v", answer)
	}
	status, answer = s.post(t, "OperatorService/Audit", `{"bizType":"NONE"}`)
	require.Equal(t, http.StatusNotFound, status, "%v", answer)

	_, err := s.ledger.DB().ExecContext(t.Context(), `DELETE FROM t_seq_issue_log WHERE biz_type = 'DEMO' AND value = 1`)
	require.NoError(t, err)
	out, code = audit()
	require.Equal(t, 2, code, "%s", out)
	require.Contains(t, out, "DEMO 1: UNACCOUNTED: ")
	_, code = audit("NONE")
	require.Equal(t, 1, code)
	require.True(t, strings.HasPrefix(out, "as of "))
}
