package devenv_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
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
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// quiet is a logger for libraries that would tell of what a test provokes.
var quiet = slog.New(slog.DiscardHandler)

func awaitText(t *testing.T, file, text string) {
	t.Helper()
	require.Eventually(t, func() bool {
		content, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(content), text)
	}, time.Minute, 5*time.Millisecond, "%s does not say %q", file, text)
}
