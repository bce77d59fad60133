// Package testkit gives tests real servers: MariaDB, Redis and Temporal, one of each per test
// process, started on first use and gone with the process.
//
// MariaDB, Redis and Temporal share one server among the tests of a process and give each test a
// database of its own. OwnMariaDB, OwnRedis and OwnTemporal start a server for one test to kill,
// pause and restart. Proxy stands between a client and a server and loses what it is told to.
//
// A test package calls Main from its TestMain.
package testkit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/devenv"
)

// startTimeout bounds the start of a server, not the installation before it.
const startTimeout = 60 * time.Second

// searchAttributes are those of workflows/names.go.
var searchAttributes = []string{"BizType", "SeqNo", "BatchId", "SeqState"}

// servers are those of the test process.
var servers struct {
	dir       string
	mariaDB   sharedServer[*devenv.MariaDB]
	redis     sharedServer[*devenv.Redis]
	temporal  sharedServer[*devenv.Temporal]
	databases atomic.Int64
}

// sharedServer is started once; a failed start fails every test that asks.
type sharedServer[S interface{ Kill() }] struct {
	once    sync.Once
	server  S
	started bool
	err     error
}

func (s *sharedServer[S]) get(t testing.TB, start func() (S, error)) S {
	t.Helper()
	s.once.Do(func() {
		s.server, s.err = start()
		s.started = s.err == nil
	})
	require.NoError(t, s.err)
	return s.server
}

func (s *sharedServer[S]) kill() {
	if s.started {
		s.server.Kill()
	}
}

// Main runs the tests of a package and ends the servers that they used.
func Main(m *testing.M) {
	dir, err := os.MkdirTemp("", "lacuna-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "testkit:", err)
		os.Exit(1)
	}
	servers.dir = dir
	code := m.Run()
	servers.mariaDB.kill()
	servers.redis.kill()
	servers.temporal.kill()
	_ = os.RemoveAll(dir) // what is left of a failed removal is in the system's temporary folder
	os.Exit(code)
}

// binaries are found, or installed, once a process.
var binaries = sync.OnceValues(func() (devenv.Binaries, error) {
	root, err := moduleRoot()
	if err != nil {
		return devenv.Binaries{}, err
	}
	return devenv.Find(context.Background(), filepath.Join(root, ".dev"), func(format string, args ...any) {
		fmt.Fprintf(os.Stderr, "testkit: "+format+"\n", args...)
	})
})

// Binaries are the servers' programs.
func Binaries(t testing.TB) devenv.Binaries {
	t.Helper()
	b, err := binaries()
	require.NoError(t, err)
	return b
}

func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, statErr := os.Stat(filepath.Join(dir, "go.mod")); statErr == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("testkit: no go.mod above the test's folder")
		}
		dir = parent
	}
	return "", err
}

// MariaDB gives the DSN of a fresh, empty database.
func MariaDB(t testing.TB) string {
	t.Helper()
	b := Binaries(t)
	server := servers.mariaDB.get(t, func() (*devenv.MariaDB, error) { return startMariaDB(b, filepath.Join(servers.dir, "mariadb")) })
	name := fmt.Sprintf("test_%d", servers.databases.Add(1))
	require.NoError(t, server.CreateDatabase(context.Background(), name))
	return server.DSN(name)
}

// OwnMariaDB starts a server for this test alone. It has the empty database "lacuna".
func OwnMariaDB(t testing.TB) *devenv.MariaDB {
	t.Helper()
	server, err := startMariaDB(Binaries(t), t.TempDir())
	require.NoError(t, err)
	t.Cleanup(server.Kill)
	require.NoError(t, server.CreateDatabase(context.Background(), "lacuna"))
	return server
}

func startMariaDB(b devenv.Binaries, dir string) (*devenv.MariaDB, error) {
	return start(func(ctx context.Context, port int) (*devenv.MariaDB, error) {
		return devenv.StartMariaDB(ctx, b, devenv.MariaDBConfig{Dir: dir, Port: port, Password: "test"})
	})
}

// Redis gives the URL of an empty database that no other test of the process uses.
func Redis(t testing.TB) string {
	t.Helper()
	b := Binaries(t)
	server := servers.redis.get(t, func() (*devenv.Redis, error) { return startRedis(b, filepath.Join(servers.dir, "redis")) })
	url := server.URL(int(servers.databases.Add(1) % 1000))
	options, err := redis.ParseURL(url)
	require.NoError(t, err)
	client := redis.NewClient(options)
	defer client.Close() //nolint:errcheck // a connection of one command
	require.NoError(t, client.FlushDB(context.Background()).Err())
	return url
}

// OwnRedis starts a server for this test alone.
func OwnRedis(t testing.TB) *devenv.Redis {
	t.Helper()
	server, err := startRedis(Binaries(t), t.TempDir())
	require.NoError(t, err)
	t.Cleanup(server.Kill)
	return server
}

func startRedis(b devenv.Binaries, dir string) (*devenv.Redis, error) {
	return start(func(ctx context.Context, port int) (*devenv.Redis, error) {
		return devenv.StartRedis(ctx, b, devenv.RedisConfig{Dir: dir, Port: port, Persist: true, Args: []string{"--databases", "1000"}})
	})
}

// Temporal gives the address of a development server. Its namespace is devenv.TemporalNamespace;
// tests keep apart by their task queues and workflow IDs.
func Temporal(t testing.TB) string {
	t.Helper()
	b := Binaries(t)
	return servers.temporal.get(t, func() (*devenv.Temporal, error) {
		return startTemporal(b, filepath.Join(servers.dir, "temporal"), false)
	}).Address()
}

// OwnTemporal starts a server for this test alone, which keeps its workflows over a restart.
func OwnTemporal(t testing.TB) *devenv.Temporal {
	t.Helper()
	server, err := startTemporal(Binaries(t), t.TempDir(), true)
	require.NoError(t, err)
	t.Cleanup(server.Kill)
	return server
}

func startTemporal(b devenv.Binaries, dir string, persist bool) (*devenv.Temporal, error) {
	return start(func(ctx context.Context, port int) (*devenv.Temporal, error) {
		return devenv.StartTemporal(ctx, b, devenv.TemporalConfig{Dir: dir, Port: port, Persist: persist, SearchAttributes: searchAttributes})
	})
}

// start runs a server on a free port, and on another where somebody was faster.
func start[S any](run func(ctx context.Context, port int) (S, error)) (server S, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for range 3 {
		var port int
		if port, err = devenv.FreePort(); err != nil {
			return server, err
		}
		if server, err = run(ctx, port); err == nil || !strings.Contains(err.Error(), "in use") {
			return server, err
		}
	}
	return server, err
}

// Patience is how long Eventually waits: ten times what the slowest bound of the design allows.
const Patience = 60 * time.Second

// Eventually asks until the answer is yes, and fails with the message when that takes too long. It
// asks on the test's own goroutine, so yes may fail the test at once.
func Eventually(t testing.TB, yes func() bool, format string, args ...any) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(Patience); !yes(); <-tick.C {
		require.True(t, time.Now().Before(end), append([]any{format}, args...)...)
	}
}
