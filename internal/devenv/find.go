package devenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/lacuna-seq/lacuna/internal/wait"
)

// Binaries are the programs that the servers run from.
type Binaries struct {
	MariaDB        string // mariadbd or mysqld
	MariaDBInstall string // mariadb-install-db; empty for MySQL, which initialises itself
	Redis          string
	Temporal       string
}

// Report is told what Find is doing when that takes a while.
type Report func(format string, args ...any)

// Find gives the binaries, and installs those that are missing: MariaDB and Redis by apt-get
// where it may, the Temporal CLI by go install into dir/bin. dir is the project's .dev folder.
// Several processes may call it at once. Where it cannot install, the error says what to run.
func Find(ctx context.Context, dir string, report Report) (Binaries, error) {
	bin, err := filepath.Abs(filepath.Join(dir, "bin"))
	if err != nil {
		return Binaries{}, fmt.Errorf("find the folder for binaries: %w", err)
	}
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return Binaries{}, fmt.Errorf("make the folder for binaries: %w", err)
	}
	unlock, err := lockFile(ctx, filepath.Join(bin, ".lock"), report)
	if err != nil {
		return Binaries{}, err
	}
	defer unlock()
	b := look(bin)
	if !b.stores() {
		if err := installPackages(ctx, report); err != nil {
			return Binaries{}, err
		}
		if b = look(bin); !b.stores() {
			return Binaries{}, missing("the packages were installed and hold no mariadbd, mariadb-install-db or redis-server")
		}
	}
	if b.Temporal == "" {
		if err := buildTemporal(ctx, bin, report); err != nil {
			return Binaries{}, err
		}
		b.Temporal = filepath.Join(bin, "temporal")
	}
	return b, nil
}

// stores says whether both stores can be run.
func (b Binaries) stores() bool {
	return b.MariaDB != "" && b.Redis != "" && (b.MariaDBInstall != "" || b.isMySQL())
}

// isMySQL goes by the name: MariaDB has its own since 10.5, which is looked for first.
func (b Binaries) isMySQL() bool { return filepath.Base(b.MariaDB) == "mysqld" }

// look finds what is there: on PATH, in the places where Debian and Homebrew put servers, in bin.
func look(bin string) Binaries {
	b := Binaries{
		MariaDB:        which(bin, "mariadbd", "mysqld"),
		MariaDBInstall: which(bin, "mariadb-install-db", "mysql_install_db"),
		Redis:          which(bin, "redis-server"),
		Temporal:       which(bin, "temporal"),
	}
	if b.isMySQL() {
		b.MariaDBInstall = ""
	}
	if b.Redis == "" {
		if check := which(bin, "redis-check-rdb"); check != "" {
			// One binary serves both names and looks at the one it was called by.
			link := filepath.Join(bin, "redis-server")
			_ = os.Remove(link) // what is there leads nowhere, or it had been found
			if err := os.Symlink(check, link); err == nil {
				b.Redis = link
			}
		}
	}
	return b
}

func which(bin string, names ...string) string {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
		for _, dir := range []string{bin, "/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/opt/homebrew/bin", goBin()} {
			if path := filepath.Join(dir, name); dir != "" && isExecutable(path) {
				return path
			}
		}
	}
	return ""
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// goBin is where go install puts binaries.
func goBin() string {
	if dir := os.Getenv("GOBIN"); dir != "" {
		return dir
	}
	if dir := os.Getenv("GOPATH"); dir != "" {
		return filepath.Join(filepath.SplitList(dir)[0], "bin")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, "go", "bin")
}

// lockFile takes an exclusive lock that other processes respect, and gives its release. It ends
// with its process at the latest.
func lockFile(ctx context.Context, path string, report Report) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the lock of the folder for binaries: %w", err)
	}
	begun, said := time.Now(), false
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
		if !said && time.Since(begun) > 2*time.Second {
			report("waiting for another process that installs (it holds %s)", path)
			said = true
		}
		if err := wait.For(ctx, 50*time.Millisecond); err != nil {
			return nil, errors.Join(fmt.Errorf("wait for %s: %w", path, err), f.Close())
		}
	}
}
