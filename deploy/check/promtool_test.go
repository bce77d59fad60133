package check

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// promtool finds Prometheus's checker, once: on PATH, where it was unpacked before, or in Debian's package, which
// is unpacked into .dev/prometheus and not installed, so that no service starts.
var promtool = sync.OnceValues(func() (string, error) {
	if path, err := exec.LookPath("promtool"); err == nil {
		return path, nil
	}
	dir, err := filepath.Abs(filepath.Join(root, ".dev", "prometheus"))
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "usr", "bin", "promtool")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return path, unpack("prometheus", dir)
})

// unpack fetches a Debian package and unpacks it into dir, all of it or nothing.
func unpack(name, dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp(filepath.Dir(dir), name+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch) //nolint:errcheck // the next clean-up takes it
	const script = `set -e; cd "$1"
(apt-get download "$2" || { apt-get update -qq; apt-get download "$2"; })
dpkg-deb -x "$2"_*.deb unpacked`
	if out, err := exec.CommandContext(ctx, "sh", "-c", script, "sh", scratch, name).CombinedOutput(); err != nil {
		return fmt.Errorf("promtool is missing and apt-get could not fetch it; install Prometheus (macOS: brew install prometheus): %w\n%s", err, out)
	}
	if err := os.Rename(filepath.Join(scratch, "unpacked"), dir); err != nil && !os.IsExist(err) {
		return err
	}
	return nil
}

// runPromtool fails the test with what promtool says.
func runPromtool(t *testing.T, args ...string) {
	t.Helper()
	path, err := promtool()
	require.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
	require.NoError(t, err, "promtool %v\n%s", args, out)
}
