package e2e

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/db/migrations"
	"github.com/lacuna-seq/lacuna/internal/access"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// C68: the programs are started before their servers, in whatever order these come, and the namespace last of
// all. They wait, say for what, and work without a restart.
func TestServersThatComeLate(t *testing.T) {
	besideOthers(t)
	dir, err := programs()
	require.NoError(t, err)
	mariadb, redis, temporal := testkit.OwnMariaDB(t), testkit.OwnRedis(t), testkit.OwnTemporal(t)
	s := &stack{dir: dir, dsn: mariadb.DSN("lacuna"), redisURL: redis.URL(0), temporal: temporal, http: http.DefaultClient, env: []string{"TEMPORAL_NAMESPACE=late"}}
	s.ledger, err = ledger.Open(s.dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.ledger.Close() })
	_, err = migrations.Up(t.Context(), s.ledger.DB())
	require.NoError(t, err)
	s.token = s.newToken(t, access.Token{Name: storyteller, Role: access.RoleAdmin})
	s.bizType(t, "DEMO", "D-{seq:6}", confirmTimeout, safetyWindow)

	type server interface {
		Kill()
		Restart(ctx context.Context) error
	}
	servers := map[string]server{"mariadb": mariadb, "redis": redis, "temporal": temporal}
	orders := [][]string{{"temporal", "redis", "mariadb"}, {"mariadb", "temporal", "redis"}, {"redis", "mariadb", "temporal"}, {"temporal", "mariadb", "redis"}, {"mariadb", "redis", "temporal"}, {"redis", "temporal", "mariadb"}}
	for _, order := range orders[:rounds(1, len(orders))] {
		for _, server := range servers {
			server.Kill()
		}
		s.worker, s.starter = s.program(t, "worker"), s.program(t, "starter")
		testkit.Eventually(t, func() bool { return says(t, s.worker, "the ledger is away") }, "the worker does not say what it waits for")
		for _, name := range order {
			require.False(t, s.isReady(t, s.worker))
			require.NoError(t, servers[name].Restart(t.Context()))
		}
		s.ready(t, s.starter)
		_, seqNo := s.next(t, "DEMO") // no number waits for Temporal
		testkit.Eventually(t, func() bool { return says(t, s.worker, "namespace late") }, "the worker does not name the namespace that is missing")
		require.False(t, s.isReady(t, s.worker))

		operator, err := client.NewNamespaceClient(client.Options{HostPort: temporal.Address()})
		require.NoError(t, err)
		require.NoError(t, operator.Register(t.Context(), &workflowservice.RegisterNamespaceRequest{
			Namespace: "late", WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
		}))
		operator.Close()
		s.asTold(t, s.worker, "lacks search attributes: run `")
		s.ready(t, s.worker)
		testkit.Within(t, 3*time.Minute, func() bool { return s.row(t, "DEMO", seqNo).State == sequence.Replayable }, "%s does not come back", seqNo)
		require.NoError(t, s.starter.Stop(t.Context()))
		require.NoError(t, s.worker.Stop(t.Context()))
	}
}

// asTold waits until the program tells a command of Temporal's behind the text, up to a backtick, and runs it.
func (s *stack) asTold(t *testing.T, p *process, behind string) {
	t.Helper()
	testkit.Eventually(t, func() bool { return says(t, p, behind) }, "%s does not say what is missing", p.spec.Name)
	log, err := os.ReadFile(p.spec.Log)
	require.NoError(t, err)
	_, told, _ := strings.Cut(string(log), behind)
	told, _, _ = strings.Cut(told, "`")
	words := strings.Fields(told)
	require.Equal(t, "temporal", words[0], told)
	command := exec.CommandContext(t.Context(), testkit.Binaries(t).Temporal, words[1:]...)
	command.Env = append(command.Environ(), "TEMPORAL_ADDRESS="+s.temporal.Address())
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s: %s", told, out)
}

// says reports whether a program's log has the text.
func says(t *testing.T, p *process, text string) bool {
	t.Helper()
	log, err := os.ReadFile(p.spec.Log)
	require.NoError(t, err)
	return strings.Contains(string(log), text)
}

func (s *stack) isReady(t *testing.T, p *process) bool {
	t.Helper()
	require.NoError(t, p.Err())
	response, err := http.Get(p.ops + "/readyz") //nolint:noctx // it answers at once or not at all
	if err != nil {
		return false
	}
	defer response.Body.Close() //nolint:errcheck // only its status counts
	return response.StatusCode == http.StatusOK
}
