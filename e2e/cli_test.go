package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// operator runs the command line as one who may look at the servers too.
func (s *stack) operator(t *testing.T, args ...string) (string, int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(s.dir, "lacuna"), args...)
	command.Env = append(command.Environ(), "LACUNA_API="+s.starter.url, "LACUNA_TOKEN="+s.token, "LACUNA_MYSQL_DSN="+s.dsn, "LACUNA_REDIS_URL="+s.redisURL,
		"TEMPORAL_ADDRESS="+s.temporal.Address(), "LACUNA_TEMPORAL_UI_URL=http://ui", "LACUNA_ACTOR=mia")
	out, err := command.CombinedOutput()
	if err != nil {
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
	}
	return string(out), command.ProcessState.ExitCode()
}

// An operator is asked why a number is not in use: Redis was away, and it is a dead letter. With Redis back the
// operator sends it home, finds nothing stuck and every server well; and sees at once when Redis dies again.
func TestAnOperatorFindsOutWhyANumberIsNotInUse(t *testing.T) {
	redis := testkit.OwnRedis(t)
	s := newStackOn(t, redis.URL(0))
	s.put(t, `{"name":"FRAGILE","format":"F-{seq:6}","confirmTimeout":"60s","safetyWindow":"1s","retryDelays":["0.1s"]}`)
	does := func(code int, args ...string) string {
		t.Helper()
		out, got := s.operator(t, args...)
		require.Equal(t, code, got, "%v: %s", args, out)
		return out
	}
	redis.Kill()
	const ticket = "FRAGILE~F-000001~1"
	require.Contains(t, does(0, "next", "FRAGILE", "--key", "cart-1"), ticket)
	require.Contains(t, does(0, "abandon", ticket), "ABANDONED")
	require.Contains(t, does(0, "list", "FRAGILE", "--key", "cart-1"), "F-000001")
	s.awaitState(t, "FRAGILE", "F-000001", sequence.Dead)

	out := does(0, "get", "FRAGILE", "F-000001")
	require.Contains(t, out, "not in use: a dead letter (")
	require.Contains(t, out, "the pool is away")
	require.Contains(t, out, "for cart-1")
	require.Contains(t, out, "run: http://ui/namespaces/default/workflows/"+ticket)
	require.Contains(t, does(2, "stuck"), "lacuna dead requeue --biz-type FRAGILE --cause POOL_AWAY")
	require.Contains(t, does(2, "doctor"), "the pool is away")
	require.Contains(t, does(1, "dead", "requeue", ticket), "add --yes")

	require.NoError(t, redis.Restart(t.Context()))
	require.Contains(t, does(0, "dead", "requeue", ticket, "--reason", "Redis is back", "--yes"), "requeued 1 of 1")
	s.awaitState(t, "FRAGILE", "F-000001", sequence.Replayable)
	require.Contains(t, does(0, "get", ticket), "REQUEUED by "+storyteller+": Redis is back (noted: mia)")
	out = does(0, "stuck")
	require.Contains(t, out, "nothing needs a hand")
	require.NotContains(t, out, "runs in Temporal (")
	require.Contains(t, does(0, "list", "FRAGILE", "--state", "REPLAYABLE"), "F-000001")

	out = does(0, "doctor")
	for _, line := range []string{"api", "ledger", "ledger's tables", "redis", "temporal", "search attributes", "schedule lacuna-patrol", "workers on lacuna-lifecycle", "workers on lacuna-patrol", "patrol", "clock, this machine", "clock, Temporal"} {
		require.Regexp(t, fmt.Sprintf(`(?m)^%s +ok `, line), out)
	}
	require.NotContains(t, out, "skipped")
	redis.Kill()
	require.Regexp(t, `(?m)^redis +wrong +.*the pool is away`, does(2, "doctor"))
}
