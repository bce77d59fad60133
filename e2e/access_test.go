package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// as calls the API with a token; "" is none.
func (s *stack) as(t *testing.T, token, path, body string) (int, map[string]any) {
	t.Helper()
	header := http.Header{"Authorization": {"Bearer " + token}}
	if token == "" {
		header = http.Header{"Authorization": {"none"}}
	}
	return s.postWith(t, header, path, body)
}

// A service, an auditor and an operator, each with a token of its own, on a system whose ledger goes away; and
// none of their secrets is written anywhere.
func TestAccess(t *testing.T) {
	mariadb := testkit.OwnMariaDB(t)
	url, alerts := hook(t)
	s := newStackOnBoth(t, mariadb.DSN("lacuna"), testkit.Redis(t), "LACUNA_ALERT_URL="+url, "LACUNA_LOG_LEVEL=debug")
	s.bizType(t, "CLAIM", "C-{seq:6}", confirmTimeout, safetyWindow)
	secrets := []string{s.token}
	create := func(args ...string) string {
		out, code := s.lacuna(t, append([]string{"token", "create"}, args...)...)
		require.Zero(t, code, "%s", out)
		token := strings.TrimSpace(out)
		secrets = append(secrets, token)
		testkit.Eventually(t, func() bool {
			code, _ := s.as(t, token, "SequenceService/Get", `{"ticket":"x"}`)
			return code != http.StatusUnauthorized
		}, "it is not known")
		return token
	}
	shop := create("shop", "--role", "caller", "--biz-type", "DEMO", "--abandon-budget", "2")
	auditor := create("eve", "--role", "auditor")
	operator := create("mia", "--role", "operator")
	foreign := strings.Replace(shop, "_shop_", "_till_", 1)
	secrets = append(secrets, foreign)

	t.Run("is refused without a token", func(t *testing.T) {
		for _, token := range []string{"", "hunter2hunter2", foreign} {
			status, answer := s.as(t, token, "SequenceService/Next", `{"bizType":"DEMO"}`)
			require.Equal(t, http.StatusUnauthorized, status)
			require.Equal(t, "unauthenticated", answer["code"])
			require.Contains(t, answer["message"], "Authorization: Bearer")
		}
		command := exec.CommandContext(t.Context(), filepath.Join(s.dir, "lacuna"), "audit", "--api", s.starter.url)
		out, err := command.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), "the call has no token")
	})

	take := func(token, bizType string) string {
		status, answer := s.as(t, token, "SequenceService/Next", `{"bizType":"`+bizType+`"}`)
		require.Equal(t, http.StatusOK, status, "%v", answer)
		return answer["numbers"].([]any)[0].(map[string]any)["ticket"].(string)
	}
	t.Run("ends at another's biz type", func(t *testing.T) {
		own, others := take(shop, "DEMO"), take(s.token, "CLAIM")
		settle := fmt.Sprintf(`{"commands":[{"ticket":%q,"action":"ACTION_CONFIRM"},{"ticket":%q,"action":"ACTION_CONFIRM"}]}`, own, others)
		status, answer := s.as(t, shop, "SequenceService/Settle", settle)
		require.Equal(t, http.StatusForbidden, status)
		require.Equal(t, "permission_denied", answer["code"])
		require.Contains(t, answer["message"], "the token shop (caller)")
		for _, ticket := range []string{own, others} {
			n := mustTicket(t, ticket)
			require.NotEqual(t, sequence.Confirmed, s.row(t, n.BizType, n.SeqNo).State, "nothing of the batch happens")
		}
		status, _ = s.as(t, operator, "SequenceService/Settle", settle)
		require.Equal(t, http.StatusOK, status, "by hand")
	})
	t.Run("lets an auditor read", func(t *testing.T) {
		status, _ := s.as(t, auditor, "OperatorService/Audit", `{}`)
		require.Equal(t, http.StatusOK, status)
		for _, path := range []string{"SequenceService/Next", "OperatorService/RebuildPool", "OperatorService/PutBizType", "OperatorService/ListTokens"} {
			status, _ := s.as(t, auditor, path, `{}`)
			require.Equal(t, http.StatusForbidden, status, path)
		}
	})
	t.Run("is named where acts are kept", func(t *testing.T) {
		ticket := take(shop, "DEMO")
		_, answer := s.as(t, shop, "SequenceService/Abandon", `{"ticket":"`+ticket+`"}`)
		require.Equal(t, "OUTCOME_ABANDONED", answer["outcome"])
		_, answer = s.as(t, operator, "SequenceService/Confirm", `{"ticket":"`+ticket+`"}`)
		require.Equal(t, "OUTCOME_RESCUED", answer["outcome"])
		var actor string
		require.NoError(t, s.ledger.DB().QueryRowContext(t.Context(), "SELECT actor FROM t_seq_event WHERE outcome = 'RESCUED'").Scan(&actor))
		require.Equal(t, "mia", actor)
	})
	t.Run("tells of a caller that abandons too much, and abandons", func(t *testing.T) {
		for range 5 {
			ticket := take(shop, "DEMO")
			_, answer := s.as(t, shop, "SequenceService/Abandon", `{"ticket":"`+ticket+`"}`)
			require.Equal(t, "OUTCOME_ABANDONED", answer["outcome"])
		}
		alert := <-alerts
		require.Equal(t, "ABANDON_BUDGET", alert["kind"])
		require.Equal(t, "shop", alert["token"])
		require.GreaterOrEqual(t, alert["count"], 3.0)
		require.Equal(t, "its budget is 2 a minute", alert["reason"])
	})
	t.Run("is over when it is revoked, and goes on when the ledger is away", func(t *testing.T) {
		out, code := s.lacuna(t, "token", "revoke", "eve", "--yes")
		require.Zero(t, code, "%s", out)
		get := func(token string) int {
			status, _ := s.as(t, token, "OperatorService/GetBizType", `{"name":"DEMO"}`)
			return status
		}
		testkit.Eventually(t, func() bool { return get(auditor) == http.StatusUnauthorized }, "it is not revoked")
		mariadb.Kill()
		require.Equal(t, http.StatusServiceUnavailable, get(shop))
		require.Equal(t, http.StatusUnauthorized, get(auditor))
		require.Equal(t, http.StatusUnauthorized, get(foreign))
		testkit.Eventually(t, func() bool { return says(t, s.starter, "the tokens cannot be read") }, "it is not said")
		require.Equal(t, http.StatusServiceUnavailable, get(shop), "known still")
		require.NoError(t, mariadb.Restart(t.Context()))
		testkit.Eventually(t, func() bool { return get(shop) == http.StatusOK }, "it does not go on")
	})
	t.Run("may be open, which is said", func(t *testing.T) {
		open := *s
		open.env = append(open.env, "LACUNA_ACCESS=open")
		open.starter = open.program(t, "starter")
		open.ready(t, open.starter)
		require.True(t, says(t, open.starter, "ACCESS IS OPEN"))
		status, _ := open.as(t, "", "OperatorService/RebuildPool", `{"bizType":"DEMO"}`)
		require.Equal(t, http.StatusOK, status)
		require.True(t, says(t, open.starter, "actor=anonymous"))
		secrets = append(secrets, "Bearer ")
		s.holdsNone(t, open.starter, secrets)
	})

	out, code := s.lacuna(t, "token", "list", "--output", "json")
	require.Zero(t, code)
	var list struct{ Tokens []map[string]any }
	require.NoError(t, json.Unmarshal([]byte(out), &list))
	require.Len(t, list.Tokens, 4)
	for _, p := range []*process{s.starter, s.worker} {
		s.holdsNone(t, p, secrets)
	}
	require.True(t, says(t, s.starter, "token=shop"))
}

// holdsNone checks that a process has written no secret to its log, and shows none in the list of processes.
func (s *stack) holdsNone(t *testing.T, p *process, secrets []string) {
	t.Helper()
	log, err := os.ReadFile(p.spec.Log)
	require.NoError(t, err)
	require.NotEmpty(t, log)
	for _, secret := range secrets {
		require.NotContains(t, string(log), secret)
		if i := strings.LastIndex(secret, "_"); i > 0 {
			require.NotContains(t, string(log), secret[i+1:])
		}
	}
	require.NotContains(t, string(log), "test@tcp", "the database's password")
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.Pid()))
	require.NoError(t, err)
	require.NotContains(t, string(line), "test@")
	require.NotContains(t, string(line), "lacuna_")
}
