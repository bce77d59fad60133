// Package e2e tells stories of the whole system: the real programs as processes of their own, on
// real MariaDB, Redis and Temporal. One story a file.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/db/migrations"
	"github.com/lacuna-seq/lacuna/db/pool"
	"github.com/lacuna-seq/lacuna/internal/access"
	"github.com/lacuna-seq/lacuna/internal/devenv"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// programs builds what the stories run, once.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "lacuna-e2e-")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", "build", "-buildvcs=auto", "-o", dir, "../starter", "../worker", "../deploy/demo", "../cmd/lacuna").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build the programs: %w\n%s", err, out)
	}
	return dir, nil
})

// The times of every biz type of these stories.
const (
	confirmTimeout = 2 * time.Second
	safetyWindow   = time.Second
	lease          = 2 * time.Second
)

// storyteller is whose token the stories carry.
const storyteller = "storyteller"

// stack is the running system.
type stack struct {
	dsn      string
	redisURL string
	temporal *devenv.Temporal
	ledger   *ledger.Ledger
	pool     *pool.Pool
	client   client.Client
	starter  *process
	worker   *process
	dir      string   // of the programs
	env      []string // added to their environment
	token    string   // of the stories, an admin's
	http     *http.Client
}

// process is a program that a story can kill and start again.
type process struct {
	*devenv.Child
	spec devenv.Spec
	url  string
	ops  string
}

func newStack(t *testing.T, env ...string) *stack {
	t.Helper()
	return newStackOn(t, testkit.Redis(t), env...)
}

func newStackOn(t *testing.T, redisURL string, env ...string) *stack {
	t.Helper()
	return newStackOnBoth(t, testkit.MariaDB(t), redisURL, env...)
}

func newStackOnBoth(t *testing.T, dsn, redisURL string, env ...string) *stack {
	t.Helper()
	besideOthers(t)
	dir, err := programs()
	require.NoError(t, err)
	s := &stack{dir: dir, env: env, dsn: dsn, redisURL: redisURL, temporal: testkit.OwnTemporal(t), http: http.DefaultClient}
	s.ledger, err = ledger.Open(s.dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.ledger.Close() })
	_, err = migrations.Up(t.Context(), s.ledger.DB())
	require.NoError(t, err)
	s.token = s.newToken(t, access.Token{Name: storyteller, Role: access.RoleAdmin})
	s.pool, err = pool.Open(s.redisURL)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.pool.Close() })
	s.client, err = client.Dial(client.Options{HostPort: s.temporal.Address()})
	require.NoError(t, err)
	t.Cleanup(s.client.Close)
	s.bizType(t, "DEMO", "D-{seq:6}", confirmTimeout, safetyWindow)
	s.worker = s.program(t, "worker")
	s.starter = s.program(t, "starter")
	s.ready(t, s.worker)
	s.ready(t, s.starter)
	return s
}

// newToken makes a token in the ledger.
func (s *stack) newToken(t *testing.T, token access.Token) (text string) {
	t.Helper()
	text, token.Hash = access.NewText(token.Name)
	require.NoError(t, s.ledger.CreateToken(t.Context(), token, 0))
	return text
}

// Do calls the API for a client of the stories, with their token.
func (s *stack) Do(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", "Bearer "+s.token)
	return s.http.Do(r)
}

func (s *stack) bizType(t *testing.T, name, template string, confirm, window time.Duration) {
	t.Helper()
	format, err := sequence.ParseFormat(template)
	require.NoError(t, err)
	b := sequence.NewBizType(name, format)
	b.ConfirmTimeout, b.SafetyWindow, b.StepMin = confirm, window, 10
	require.NoError(t, s.ledger.CreateBizType(t.Context(), b))
}

// program runs one of ours; its log is shown when the test fails.
func (s *stack) program(t *testing.T, name string) *process {
	t.Helper()
	api, err := devenv.FreePort()
	require.NoError(t, err)
	ops, err := devenv.FreePort()
	require.NoError(t, err)
	p := &process{
		url: "http://" + devenv.Address(api), ops: "http://" + devenv.Address(ops),
		spec: devenv.Spec{Name: name, Path: filepath.Join(s.dir, name), Log: filepath.Join(t.TempDir(), name+".log"), Env: append([]string{
			"LACUNA_MYSQL_DSN=" + s.dsn, "LACUNA_REDIS_URL=" + s.redisURL, "TEMPORAL_ADDRESS=" + s.temporal.Address(),
			"LACUNA_LISTEN=" + devenv.Address(api), "LACUNA_OPS_LISTEN=" + devenv.Address(ops), "LACUNA_TEMPORAL_UI_URL=http://ui", "LACUNA_LEASE=" + lease.String(),
		}, s.env...)},
	}
	p.start(t)
	t.Cleanup(func() {
		p.Kill()
		if log, err := os.ReadFile(p.spec.Log); err == nil && t.Failed() {
			t.Logf("%s:\n%s", p.spec.Log, log)
		}
	})
	return p
}

func (p *process) start(t *testing.T) {
	t.Helper()
	child, err := devenv.Start(p.spec)
	require.NoError(t, err)
	p.Child = child
}

// restart starts a process again after it has ended.
func (s *stack) restart(t *testing.T, p *process) {
	t.Helper()
	p.start(t)
	s.ready(t, p)
}

func (s *stack) ready(t *testing.T, p *process) {
	t.Helper()
	testkit.Eventually(t, func() bool {
		require.NoError(t, p.Err())
		response, err := http.Get(p.ops + "/readyz") //nolint:noctx // the loop ends it
		if err != nil {
			return false
		}
		defer response.Body.Close() //nolint:errcheck // only its status counts
		return response.StatusCode == http.StatusOK
	}, "%s is not ready", p.Name())
}

// call posts JSON as curl would, and gives the status and the answer.
func (s *stack) call(t *testing.T, method, body string) (int, map[string]any) {
	t.Helper()
	return s.post(t, "SequenceService/"+method, body)
}

func (s *stack) post(t *testing.T, path, body string) (int, map[string]any) {
	t.Helper()
	return s.postWith(t, nil, path, body)
}

func (s *stack) postWith(t *testing.T, header http.Header, path, body string) (int, map[string]any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.starter.url+"/lacuna.v1."+path, bytes.NewBufferString(body))
	require.NoError(t, err)
	if header != nil {
		request.Header = header
	}
	request.Header.Set("Content-Type", "application/json")
	if request.Header.Get("Authorization") == "" {
		request.Header.Set("Authorization", "Bearer "+s.token)
	}
	response, err := s.http.Do(request)
	require.NoError(t, err)
	defer response.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	var answer map[string]any
	require.NoError(t, json.Unmarshal(text, &answer), "%s", text)
	return response.StatusCode, answer
}

// next takes one number of the biz type.
func (s *stack) next(t *testing.T, bizType string) (ticket, seqNo string) {
	t.Helper()
	status, answer := s.call(t, "Next", `{"bizType":"`+bizType+`","bizKey":"o-1"}`)
	require.Equal(t, http.StatusOK, status, "%v", answer)
	number := answer["numbers"].([]any)[0].(map[string]any)
	return number["ticket"].(string), number["seqNo"].(string)
}

// settle confirms or abandons and gives the outcome, or the code of the error.
func (s *stack) settle(t *testing.T, method, ticket string) string {
	t.Helper()
	_, answer := s.call(t, method, `{"ticket":"`+ticket+`"}`)
	if outcome, ok := answer["outcome"].(string); ok {
		return outcome
	}
	return answer["code"].(string)
}

func (s *stack) row(t *testing.T, bizType, seqNo string) sequence.Number {
	t.Helper()
	n, _, err := s.ledger.Get(t.Context(), bizType, seqNo)
	require.NoError(t, err)
	return n
}

func (s *stack) awaitState(t *testing.T, bizType, seqNo string, state sequence.State) sequence.Number {
	t.Helper()
	testkit.Eventually(t, func() bool { return s.row(t, bizType, seqNo).State == state }, "%s did not become %s", seqNo, state)
	return s.row(t, bizType, seqNo)
}

func (s *stack) count(t *testing.T, where string) (n int) {
	t.Helper()
	require.NoError(t, s.ledger.DB().QueryRowContext(t.Context(), "SELECT COUNT(*) FROM t_seq_issue_log WHERE "+where).Scan(&n))
	return n
}

// closure checks invariants 1 and 4 on the ledger: one row for every value up to the cursor, an audit that finds
// nothing, and no life begun before the window of the one before was over.
func (s *stack) closure(t *testing.T) {
	t.Helper()
	rows, err := s.ledger.DB().QueryContext(t.Context(), `SELECT c.biz_type, c.value, COUNT(n.id), COALESCE(MIN(n.value), 1), COALESCE(MAX(n.value), 0)
		FROM t_seq_cursor c LEFT JOIN t_seq_issue_log n ON n.biz_type = c.biz_type AND n.period = c.period GROUP BY c.biz_type, c.value`)
	require.NoError(t, err)
	defer rows.Close() //nolint:errcheck // it was read
	for rows.Next() {
		var bizType string
		var cursor, count, lowest, highest int64
		require.NoError(t, rows.Scan(&bizType, &cursor, &count, &lowest, &highest))
		require.Equal(t, cursor, count, "%s: every value up to the cursor has one row", bizType)
		require.Equal(t, int64(1), lowest, bizType)
		require.Equal(t, cursor, highest, bizType)
	}
	require.NoError(t, rows.Err())
	audit, err := s.ledger.Audit(t.Context(), ledger.AuditFilter{}, 0)
	require.NoError(t, err)
	require.Empty(t, audit.Findings)
	var early int
	require.NoError(t, s.ledger.DB().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM t_seq_life l JOIN t_seq_issue_log n
		ON n.biz_type = l.biz_type AND n.seq_no = l.seq_no AND n.life = l.life + 1
		WHERE n.issued_time < l.abandoned_time + INTERVAL ? MICROSECOND`, safetyWindow.Microseconds()).Scan(&early))
	require.Zero(t, early, "no number was issued again before its window was over")
}

func readAll(t *testing.T, r io.Reader) string {
	t.Helper()
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(text)
}
