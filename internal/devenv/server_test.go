package devenv_test

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"github.com/lacuna-seq/lacuna/internal/devenv"
)

// binaries are those that the test found, or installed.
func binaries(t *testing.T) devenv.Binaries {
	t.Helper()
	b, err := devenv.Find(t.Context(), filepath.Join("..", "..", ".dev"), t.Logf)
	require.NoError(t, err)
	return b
}

func freePort(t *testing.T) int {
	t.Helper()
	port, err := devenv.FreePort()
	require.NoError(t, err)
	return port
}

// kind is one of the servers, as far as they are alike.
type kind struct {
	start func(ctx context.Context, b devenv.Binaries, dir string, port int) (*devenv.Server, error)
	// write leaves a trace in the server's data; read fails where there is none.
	write, read func(ctx context.Context, address string) error
	anonymous   bool // answers do not tell which server gave them
}

func kinds(t *testing.T) map[string]kind {
	return map[string]kind{
		"MariaDB": {
			start: func(ctx context.Context, b devenv.Binaries, dir string, port int) (*devenv.Server, error) {
				m, err := devenv.StartMariaDB(ctx, b, devenv.MariaDBConfig{Dir: dir, Port: port, Password: password})
				if err != nil {
					return nil, err
				}
				return m.Server, nil
			},
			write: func(ctx context.Context, address string) error { return execute(ctx, address, "CREATE DATABASE trace") },
			read:  func(ctx context.Context, address string) error { return execute(ctx, address, "USE trace") },
		},
		"Redis": {
			start: func(ctx context.Context, b devenv.Binaries, dir string, port int) (*devenv.Server, error) {
				r, err := devenv.StartRedis(ctx, b, devenv.RedisConfig{Dir: dir, Port: port, Persist: true})
				if err != nil {
					return nil, err
				}
				return r.Server, nil
			},
			write: func(ctx context.Context, address string) error {
				c := dialRedis(t, address)
				return c.Set(ctx, "trace", 1, 0).Err()
			},
			read: func(ctx context.Context, address string) error {
				c := dialRedis(t, address)
				return c.Get(ctx, "trace").Err()
			},
		},
		"Temporal": {
			anonymous: true,
			start: func(ctx context.Context, b devenv.Binaries, dir string, port int) (*devenv.Server, error) {
				s, err := devenv.StartTemporal(ctx, b, devenv.TemporalConfig{Dir: dir, Port: port, Persist: true, SearchAttributes: []string{"SeqNo"}})
				if err != nil {
					return nil, err
				}
				return s.Server, nil
			},
			write: func(ctx context.Context, address string) error {
				return withTemporal(ctx, address, func(c client.Client) error {
					_, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
						ID: "trace", TaskQueue: "nobody", WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
					}, "trace")
					return err
				})
			},
			read: func(ctx context.Context, address string) error {
				return withTemporal(ctx, address, func(c client.Client) error {
					_, err := c.DescribeWorkflow(ctx, "trace", "")
					return err
				})
			},
		},
	}
}

// password has what needs quoting.
const password = `it's "quoted" \ @:/`

func execute(ctx context.Context, address, statement string) error {
	db, err := sql.Open("mysql", fmt.Sprintf("lacuna:%s@tcp(%s)/", password, address))
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // a connection of one statement
	_, err = db.ExecContext(ctx, statement)
	return err
}

func dialRedis(t *testing.T, address string) *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: address, MaxRetries: -1, ContextTimeoutEnabled: true})
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func withTemporal(ctx context.Context, address string, f func(client.Client) error) error {
	c, err := client.DialContext(ctx, client.Options{HostPort: address, Logger: log.NewStructuredLogger(quiet)})
	if err != nil {
		return err
	}
	defer c.Close()
	return f(c)
}

func TestServer(t *testing.T) {
	for name, k := range kinds(t) {
		t.Run(name, func(t *testing.T) {
			b, dir, port := binaries(t), t.TempDir(), freePort(t)
			server, err := k.start(t.Context(), b, dir, port)
			require.NoError(t, err)
			t.Cleanup(func() { server.Kill() })
			require.NoError(t, k.write(t.Context(), server.Address()))

			t.Run("keeps its data over a kill and a restart", func(t *testing.T) {
				server.Kill()
				require.ErrorContains(t, server.Err(), "killed")
				require.NoError(t, server.Restart(t.Context()))
				require.NoError(t, k.read(t.Context(), server.Address()))
			})
			t.Run("keeps its data over a restart in good order", func(t *testing.T) {
				before := server.Pid()
				require.NoError(t, server.Restart(t.Context()))
				require.NotEqual(t, before, server.Pid())
				require.NoError(t, k.read(t.Context(), server.Address()))
			})
			t.Run("answers nobody while it is paused", func(t *testing.T) {
				server.Pause()
				ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer cancel()
				require.Error(t, k.read(ctx, server.Address()))
				server.Resume()
				require.NoError(t, k.read(t.Context(), server.Address()))
			})
			t.Run("is not started on the port of another", func(t *testing.T) {
				_, err := k.start(t.Context(), b, t.TempDir(), port)
				require.ErrorIs(t, err, devenv.ErrPortInUse)
				require.ErrorContains(t, err, fmt.Sprint(port))
				require.NoError(t, k.read(t.Context(), server.Address()))
			})
			t.Run("is started once where two want the same port at once", func(t *testing.T) {
				if k.anonymous {
					t.Skip("which of the two has got the port is not known before the other ends")
				}
				port := freePort(t)
				var servers [2]*devenv.Server
				var errs [2]error
				var starts sync.WaitGroup
				for i := range servers {
					dir := t.TempDir()
					starts.Go(func() { servers[i], errs[i] = k.start(t.Context(), b, dir, port) })
				}
				starts.Wait()
				winner, loser := 0, 1
				if errs[0] != nil {
					winner, loser = 1, 0
				}
				require.NoError(t, errs[winner])
				defer servers[winner].Kill()
				require.ErrorIs(t, errs[loser], devenv.ErrPortInUse)
				require.NoError(t, k.write(t.Context(), servers[winner].Address()))
			})
			t.Run("ends in good order", func(t *testing.T) {
				require.NoError(t, server.Stop(t.Context()))
				require.NoError(t, server.ExitError())
			})
		})
	}
}

func TestCheckPortNamesThePortAndTheSettingThatMovesIt(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close() //nolint:errcheck // the end of the test
	port := l.Addr().(*net.TCPAddr).Port
	err = devenv.CheckPort("Redis", port, "--redis-port")
	require.ErrorIs(t, err, devenv.ErrPortInUse)
	require.ErrorContains(t, err, fmt.Sprint(port))
	require.ErrorContains(t, err, "--redis-port")
}

func TestMariaDB(t *testing.T) {
	b, config := binaries(t), devenv.MariaDBConfig{Dir: t.TempDir(), Port: freePort(t), Password: "secret"}

	t.Run("lets nobody in by the network but its user", func(t *testing.T) {
		m, err := devenv.StartMariaDB(t.Context(), b, config)
		require.NoError(t, err)
		defer m.Kill()
		db, err := sql.Open("mysql", fmt.Sprintf("root@tcp(%s)/", m.Address()))
		require.NoError(t, err)
		defer db.Close() //nolint:errcheck // the end of the test
		require.ErrorContains(t, db.PingContext(t.Context()), "Access denied")
	})
	t.Run("names the data folder that it cannot read", func(t *testing.T) {
		require.NoError(t, os.WriteFile(filepath.Join(config.Dir, "data", "ibdata1"), []byte("nonsense"), 0o600))
		_, err := devenv.StartMariaDB(t.Context(), b, config)
		require.ErrorContains(t, err, config.Dir)
		require.ErrorContains(t, err, "make clean-dev")
	})
	t.Run("makes a data folder anew that was left half made", func(t *testing.T) {
		require.NoError(t, os.Remove(filepath.Join(config.Dir, "initialised")))
		m, err := devenv.StartMariaDB(t.Context(), b, config)
		require.NoError(t, err)
		m.Kill()
	})
}

func TestVersionsThatAreTooOldAreRefused(t *testing.T) {
	// program is one that only tells its version.
	program := func(t *testing.T, version string) string {
		path := filepath.Join(t.TempDir(), "program")
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\necho '"+version+"'\n"), 0o755))
		return path
	}
	for _, test := range []struct{ version, found, needed string }{
		{"mysqld  Ver 5.7.44 for Linux on x86_64 (MySQL Community Server (GPL))", "5.7.44", "8.0.16"},
		{"mysqld  Ver 8.0.15 for Linux on x86_64 (MySQL Community Server - GPL)", "8.0.15", "8.0.16"},
		{"mariadbd  Ver 10.5.23-MariaDB-0+deb11u1 for debian-linux-gnu on x86_64 (Debian 11)", "10.5.23", "10.6"},
	} {
		t.Run(test.version, func(t *testing.T) {
			_, err := devenv.StartMariaDB(t.Context(), devenv.Binaries{MariaDB: program(t, test.version)}, devenv.MariaDBConfig{Dir: t.TempDir()})
			require.ErrorContains(t, err, test.found)
			require.ErrorContains(t, err, test.needed)
		})
	}
	t.Run("temporal", func(t *testing.T) {
		old := program(t, "temporal version 1.1.0 (Server 1.25.0, UI 2.30.3)")
		_, err := devenv.StartTemporal(t.Context(), devenv.Binaries{Temporal: old}, devenv.TemporalConfig{Dir: t.TempDir()})
		require.ErrorContains(t, err, "1.25.0")
		require.ErrorContains(t, err, "1.29")
	})
}
