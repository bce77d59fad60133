package testkit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/devenv"
)

// startTimeout bounds the start of a server, not the installation before it.
const startTimeout = 60 * time.Second

// logLines is how much of a server's log is shown with a test that failed.
const logLines = 30

// servers are those of the test process.
var servers struct {
	dir       string
	lock      *os.File // of dir, held until the process ends
	mariaDB   shared[*devenv.MariaDB]
	redis     shared[*devenv.Redis]
	temporal  shared[*devenv.Temporal]
	databases atomic.Int64
}

// server is what all servers can.
type server interface {
	Name() string
	Kill()
	Err() error
	LogTail(lines int) string
}

// starter runs a server with its data in dir, on a port.
type starter[S server] func(ctx context.Context, b devenv.Binaries, dir string, port int) (S, error)

// shared is a server that is started once; a failed start fails every test that asks.
type shared[S server] struct {
	once    sync.Once
	server  S
	started bool
	err     error
}

func (s *shared[S]) get(t testing.TB, name string, run starter[S]) S {
	t.Helper()
	require.NotEmpty(t, servers.dir, "call testkit.Main from the package's TestMain")
	b := Binaries(t)
	s.once.Do(func() {
		s.server, s.err = onFreePort(b, filepath.Join(servers.dir, name), run)
		s.started = s.err == nil
	})
	require.NoError(t, s.err)
	showLog(t, s.server)
	return s.server
}

func (s *shared[S]) kill() {
	if s.started {
		s.server.Kill()
	}
}

// own starts a server that lives as long as the test.
func own[S server](t testing.TB, run starter[S]) S {
	t.Helper()
	s, err := onFreePort(Binaries(t), t.TempDir(), run)
	require.NoError(t, err)
	t.Cleanup(func() { s.Kill() }) // the process of that time: it may have been restarted
	showLog(t, s)
	return s
}

// onFreePort runs a server on a free port, and on another where somebody was faster.
func onFreePort[S server](b devenv.Binaries, dir string, run starter[S]) (s S, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	for range 3 {
		var port int
		if port, err = devenv.FreePort(); err != nil {
			return s, err
		}
		if s, err = run(ctx, b, dir, port); !errors.Is(err, devenv.ErrPortInUse) {
			return s, err
		}
	}
	return s, err
}

// showLog shows how a server ended, and its log where that went on, when the test has failed.
func showLog(t testing.TB, s server) {
	before := s.LogTail(logLines)
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		if err := s.Err(); err != nil {
			t.Log(err)
		}
		if said := s.LogTail(logLines); said != before {
			t.Logf("%s's log ends:\n%s", s.Name(), said)
		}
	})
}
