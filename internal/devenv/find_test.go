package devenv_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/devenv"
)

func TestFind(t *testing.T) {
	t.Run("gives absolute paths of programs", func(t *testing.T) {
		b := binaries(t)
		for _, path := range []string{b.MariaDB, b.Redis, b.Temporal} {
			require.True(t, filepath.IsAbs(path), path)
			require.FileExists(t, path)
		}
	})
	t.Run("waits while another process installs", func(t *testing.T) {
		dir := t.TempDir()
		t.Setenv("PATH", filepath.Dir(binaries(t).Temporal)+string(filepath.ListSeparator)+os.Getenv("PATH")) // nothing to install
		require.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o755))
		other, err := os.Create(filepath.Join(dir, "bin", ".lock"))
		require.NoError(t, err)
		require.NoError(t, syscall.Flock(int(other.Fd()), syscall.LOCK_EX))

		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err = devenv.Find(ctx, dir, t.Logf)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, other.Name())

		require.NoError(t, other.Close())
		_, err = devenv.Find(t.Context(), dir, t.Logf)
		require.NoError(t, err)
	})
}
