// Package promtool finds Prometheus's checker for the tests that judge by it: those of the alert rules' syntax and
// times (deploy/check) and those that cause the trouble of every alert (e2e). No program imports it.
package promtool

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// unpackTimeout bounds the download of Debian's package.
const unpackTimeout = 3 * time.Minute

// Find gives promtool's path: on PATH, where it was unpacked before, or in Debian's package, which is unpacked
// into dir/prometheus and not installed, so that no service starts. dir is the project's .dev folder.
func Find(ctx context.Context, dir string) (string, error) {
	if path, err := exec.LookPath("promtool"); err == nil {
		return path, nil
	}
	home, err := filepath.Abs(filepath.Join(dir, "prometheus"))
	if err != nil {
		return "", fmt.Errorf("find the folder for promtool: %w", err)
	}
	path := filepath.Join(home, "usr", "bin", "promtool")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return path, unpack(ctx, "prometheus", home)
}

// unpack fetches a Debian package and unpacks it into dir, all of it or nothing.
func unpack(ctx context.Context, name, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, unpackTimeout)
	defer cancel()
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fmt.Errorf("make the folder for promtool: %w", err)
	}
	scratch, err := os.MkdirTemp(filepath.Dir(dir), name+"-")
	if err != nil {
		return fmt.Errorf("make the folder for promtool: %w", err)
	}
	defer os.RemoveAll(scratch) //nolint:errcheck // the next clean-up takes it
	const script = `set -e; cd "$1"
(apt-get download "$2" || { apt-get update -qq; apt-get download "$2"; })
dpkg-deb -x "$2"_*.deb unpacked`
	if out, err := exec.CommandContext(ctx, "sh", "-c", script, "sh", scratch, name).CombinedOutput(); err != nil {
		return fmt.Errorf("promtool is missing and apt-get could not fetch it; install Prometheus (macOS: brew install prometheus): %w\n%s", err, out)
	}
	if err := os.Rename(filepath.Join(scratch, "unpacked"), dir); err != nil && !os.IsExist(err) {
		return fmt.Errorf("put promtool in its place: %w", err)
	}
	return nil
}
