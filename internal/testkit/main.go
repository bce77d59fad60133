package testkit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/devenv"
)

// folderPrefix begins the name of a test process's folder in the system's temporary folder.
const folderPrefix = "lacuna-servers-"

// Main runs the tests of a package and ends the servers that they used.
func Main(m *testing.M) {
	if err := openFolder(); err != nil {
		fmt.Fprintln(os.Stderr, "testkit:", err)
		os.Exit(1)
	}
	code := m.Run()
	for _, end := range ends {
		end()
	}
	servers.mariaDB.kill()
	servers.redis.kill()
	servers.temporal.kill()
	_ = os.RemoveAll(servers.dir) // the next process removes what is left of it
	os.Exit(code)
}

// ends are what AtEnd was told.
var ends []func()

// AtEnd runs end when all tests of the process have ended.
func AtEnd(end func()) { ends = append(ends, end) }

// openFolder makes this process's folder and removes those of processes that were killed. A lock,
// which ends with its process, tells them apart.
func openFolder() error {
	old, err := filepath.Glob(filepath.Join(os.TempDir(), folderPrefix+"*"))
	if err != nil {
		return err
	}
	for _, dir := range old {
		if lock, err := lockFolder(dir); err == nil {
			_ = os.RemoveAll(dir) // it may be another user's
			_ = lock.Close()
		}
	}
	// Its name begins otherwise until it is locked, so that nobody takes it for an old one.
	dir, err := os.MkdirTemp("", "new-"+folderPrefix)
	if err != nil {
		return err
	}
	if servers.lock, err = lockFolder(dir); err != nil {
		return err
	}
	servers.dir = filepath.Join(filepath.Dir(dir), filepath.Base(dir)[len("new-"):])
	return os.Rename(dir, servers.dir)
}

// lockFolder locks a folder unless another process has.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
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

// DevFolder is the project's .dev folder, for what tests fetch and what they leave to look at.
func DevFolder(t testing.TB) string {
	t.Helper()
	root, err := moduleRoot()
	require.NoError(t, err)
	return filepath.Join(root, ".dev")
}

func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, statErr := os.Stat(filepath.Join(dir, "go.mod")); statErr == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("testkit: no go.mod above the test's folder")
		}
		dir = parent
	}
	return "", err
}
