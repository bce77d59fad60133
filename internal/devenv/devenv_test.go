package devenv_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/devenv"
)

// shell runs a line of sh as a child.
func shell(t *testing.T, line string) (*devenv.Child, devenv.Spec) {
	t.Helper()
	spec := devenv.Spec{Name: "sh", Path: "/bin/sh", Args: []string{"-c", line}, Log: filepath.Join(t.TempDir(), "log")}
	child, err := devenv.Start(spec)
	require.NoError(t, err)
	t.Cleanup(child.Kill)
	return child, spec
}

func TestChild(t *testing.T) {
	t.Run("ends in good order when it is asked to", func(t *testing.T) {
		child, spec := shell(t, `trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done`)
		awaitText(t, spec.Log, "up")
		require.NoError(t, child.Err())
		require.NoError(t, child.Stop(t.Context()))
		awaitText(t, spec.Log, "bye")
	})
	t.Run("is killed when it does not", func(t *testing.T) {
		child, spec := shell(t, `trap '' TERM; echo up; while :; do sleep 0.05; done`)
		awaitText(t, spec.Log, "up")
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		require.ErrorContains(t, child.Stop(ctx), "killed")
		<-child.Done()
	})
	t.Run("tells how it ended, with its last words", func(t *testing.T) {
		child, _ := shell(t, `echo out of paper; exit 3`)
		<-child.Done()
		require.ErrorContains(t, child.Err(), "exit status 3")
		require.ErrorContains(t, child.Err(), "out of paper")
	})
	t.Run("is in a process group of its own", func(t *testing.T) {
		child, _ := shell(t, `sleep 60`)
		group, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child.Pid()))
		if err != nil {
			t.Skip("there is no /proc here")
		}
		require.Equal(t, strconv.Itoa(child.Pid()), strings.Fields(string(group))[4])
	})
	t.Run("ends with its parent", func(t *testing.T) {
		if os.Getenv("DEVENV_PARENT") != "" {
			child, _ := shell(t, `sleep 60`)
			fmt.Printf("child %d\n", child.Pid())
			<-child.Done()
			return
		}
		parent := exec.Command(os.Args[0], "-test.run", "^TestChild$/^ends_with_its_parent$", "-test.v")
		parent.Env = append(os.Environ(), "DEVENV_PARENT=1")
		out, err := parent.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, parent.Start())
		var text strings.Builder
		buffer := make([]byte, 4096)
		var pid int
		for pid == 0 {
			n, err := out.Read(buffer)
			require.NoError(t, err, text.String())
			text.Write(buffer[:n])
			if _, after, ok := strings.Cut(text.String(), "child "); ok && strings.Contains(after, "\n") {
				_, err := fmt.Sscan(after, &pid)
				require.NoError(t, err)
			}
		}
		require.NoError(t, parent.Process.Kill())
		_ = parent.Wait() // it was killed
		require.Eventually(t, func() bool { return !alive(pid) }, time.Minute, 10*time.Millisecond)
	})
}

// alive reports whether a process runs; one that nobody has waited for is not alive.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Fields(string(stat))[2] != "Z"
}

func awaitText(t *testing.T, file, text string) {
	t.Helper()
	require.Eventually(t, func() bool {
		content, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(content), text)
	}, time.Minute, 5*time.Millisecond, "%s does not say %q", file, text)
}

func TestSupervisor(t *testing.T) {
	runs := func(t *testing.T, line string) (func(context.Context) (*devenv.Child, error), string) {
		spec := devenv.Spec{Name: "sh", Path: "/bin/sh", Args: []string{"-c", line}, Log: filepath.Join(t.TempDir(), "log")}
		return func(context.Context) (*devenv.Child, error) { return devenv.Start(spec) }, spec.Log
	}
	t.Run("starts a child again that was killed, and says so", func(t *testing.T) {
		said := make(chan string, 10)
		s := devenv.NewSupervisor(func(format string, args ...any) { said <- fmt.Sprintf(format, args...) })
		start, log := runs(t, `echo "up $$"; exec sleep 60`)
		child, err := s.Add(t.Context(), start)
		require.NoError(t, err)
		awaitText(t, log, "up")
		child.Kill()
		require.Contains(t, <-said, "starting it again")
		require.Eventually(t, func() bool {
			content, err := os.ReadFile(log)
			return err == nil && strings.Count(string(content), "up") == 2
		}, time.Minute, 5*time.Millisecond)
		require.NoError(t, s.Stop(t.Context()))
	})
	t.Run("gives a child up that ends too often", func(t *testing.T) {
		s := devenv.NewSupervisor(func(string, ...any) {})
		start, log := runs(t, `echo up; exit 1`)
		_, err := s.Add(t.Context(), start)
		require.NoError(t, err)
		require.ErrorContains(t, <-s.Failed(), "within a minute")
		content, err := os.ReadFile(log)
		require.NoError(t, err)
		require.Equal(t, 6, strings.Count(string(content), "up"))
		require.NoError(t, s.Stop(t.Context()))
	})
	t.Run("stops the last one first", func(t *testing.T) {
		s := devenv.NewSupervisor(func(string, ...any) {})
		order := filepath.Join(t.TempDir(), "order")
		for _, name := range []string{"first", "second"} {
			start, log := runs(t, `trap 'echo `+name+` >> `+order+`; exit 0' TERM; echo up; while :; do sleep 0.02; done`)
			_, err := s.Add(t.Context(), start)
			require.NoError(t, err)
			awaitText(t, log, "up")
		}
		require.NoError(t, s.Stop(t.Context()))
		content, err := os.ReadFile(order)
		require.NoError(t, err)
		require.Equal(t, "second\nfirst\n", string(content))
	})
}

func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close() //nolint:errcheck // the end of the test
	port := l.Addr().(*net.TCPAddr).Port
	err = devenv.CheckPort("Redis", port, "--redis-port")
	require.ErrorContains(t, err, strconv.Itoa(port))
	require.ErrorContains(t, err, "--redis-port")
}

// dir is where installed binaries are looked for.
var binaries = sync.OnceValues(func() (devenv.Binaries, error) {
	return devenv.Find(context.Background(), filepath.Join("..", "..", ".dev"), func(format string, args ...any) { fmt.Printf(format+"\n", args...) })
})

func TestMariaDB(t *testing.T) {
	b, err := binaries()
	require.NoError(t, err)
	port, err := devenv.FreePort()
	require.NoError(t, err)
	config := devenv.MariaDBConfig{Dir: t.TempDir(), Port: port, Password: "secret"}

	t.Run("keeps its data over a kill", func(t *testing.T) {
		m, err := devenv.StartMariaDB(t.Context(), b, config)
		require.NoError(t, err)
		require.NoError(t, m.CreateDatabase(t.Context(), "kept"))
		m.Kill()
		m, err = devenv.StartMariaDB(t.Context(), b, config)
		require.NoError(t, err)
		require.NoError(t, m.CreateDatabase(t.Context(), "kept"))
		require.NoError(t, m.Stop(t.Context()))
	})
	t.Run("names the folder of data that it cannot read", func(t *testing.T) {
		require.NoError(t, os.WriteFile(filepath.Join(config.Dir, "data", "ibdata1"), []byte("nonsense"), 0o600))
		_, err := devenv.StartMariaDB(t.Context(), b, config)
		require.ErrorContains(t, err, config.Dir)
		require.ErrorContains(t, err, "make clean-dev")
	})
}
