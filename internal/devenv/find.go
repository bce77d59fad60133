package devenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// TemporalVersion is the CLI that is built where none is found. It brings the development
// server, the UI and the operators' command line in one.
const TemporalVersion = "v1.5.1"

const temporalModule = "github.com/temporalio/cli/cmd/temporal@" + TemporalVersion

// debianPackages hold MariaDB's and Redis's binaries. redis-tools has the server's binary under
// the name redis-check-rdb and, unlike redis-server, starts no service.
var debianPackages = []string{"mariadb-server-core", "mariadb-client-core", "redis-tools"}

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
	bin := filepath.Join(dir, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return Binaries{}, fmt.Errorf("make the folder for binaries: %w", err)
	}
	unlock, err := lockFile(filepath.Join(bin, ".lock"))
	if err != nil {
		return Binaries{}, err
	}
	defer unlock()
	b := look(bin)
	if b.MariaDB == "" || b.Redis == "" {
		if err := installPackages(ctx, report); err != nil {
			return Binaries{}, err
		}
		if b = look(bin); b.MariaDB == "" || b.Redis == "" {
			return Binaries{}, missing("the packages were installed and hold no mariadbd or redis-server")
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

// look finds what is there: on PATH, in the places where Debian and Homebrew put servers, in bin.
func look(bin string) Binaries {
	b := Binaries{
		MariaDB:        which(bin, "mariadbd", "mysqld"),
		MariaDBInstall: which(bin, "mariadb-install-db", "mysql_install_db"),
		Redis:          which(bin, "redis-server"),
		Temporal:       which(bin, "temporal"),
	}
	if filepath.Base(b.MariaDB) == "mysqld" {
		b.MariaDBInstall = ""
	}
	if b.Redis == "" {
		if check := which(bin, "redis-check-rdb"); check != "" {
			// One binary serves both names and looks at the one it was called by.
			link := filepath.Join(bin, "redis-server")
			if err := os.Symlink(check, link); err == nil || errors.Is(err, os.ErrExist) {
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

func installPackages(ctx context.Context, report Report) error {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return missing("there is no apt-get here to install them with")
	}
	if os.Geteuid() != 0 {
		return missing("only root may install them")
	}
	report("installing %s", strings.Join(debianPackages, ", "))
	// An update that fails, e.g. beside another one, matters only where the install fails too.
	updated, updateErr := command(ctx, "apt-get", "update", "-qq").CombinedOutput()
	packages := make([]string, len(debianPackages))
	for i, name := range debianPackages {
		packages[i] = packageName(ctx, name)
	}
	install := append([]string{"install", "-qq", "-y", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=300"}, packages...)
	if out, err := command(ctx, "apt-get", install...).CombinedOutput(); err != nil {
		if updateErr != nil {
			out = append(out, updated...)
		}
		return fmt.Errorf("apt-get %s: %w\n%s", strings.Join(install, " "), err, lastLines(out, 8))
	}
	return nil
}

// packageName is the name of a package on this release: itself, or itself with a version, as in
// mariadb-server-core-10.6.
func packageName(ctx context.Context, name string) string {
	out, err := command(ctx, "apt-cache", "search", "--names-only", "^"+name+"(-[0-9.]+)?$").Output()
	if err != nil {
		return name
	}
	found := name
	for line := range strings.Lines(string(out)) {
		candidate, _, _ := strings.Cut(line, " ")
		if candidate == name {
			return name
		}
		found = candidate
	}
	return found
}

func buildTemporal(ctx context.Context, bin string, report Report) error {
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("the Temporal CLI is missing, and so is Go to build it with: install Go from https://go.dev/dl")
	}
	report("building the Temporal CLI %s; the first time takes minutes", TemporalVersion)
	cmd := command(ctx, "go", "install", temporalModule)
	cmd.Env = append(os.Environ(), "GOBIN="+bin, "GOFLAGS=")
	done := make(chan struct{})
	go func() {
		begun, tick := time.Now(), time.NewTicker(20*time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				report("still building the Temporal CLI (%s)", time.Since(begun).Round(time.Second))
			case <-done:
				return
			}
		}
	}()
	out, err := cmd.CombinedOutput()
	close(done)
	if err != nil {
		return fmt.Errorf("go install %s: %w\n%s", temporalModule, err, lastLines(out, 5))
	}
	return nil
}

func missing(why string) error {
	hint := "Debian or Ubuntu: sudo apt-get update && sudo apt-get install --no-install-recommends " + strings.Join(debianPackages, " ")
	if runtime.GOOS == "darwin" {
		hint = "macOS: brew install mariadb redis"
	}
	return fmt.Errorf("MariaDB (or MySQL) and Redis are missing, and %s. %s", why, hint)
}

func command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	return cmd
}

// lockFile takes an exclusive lock that other processes respect, and gives its release.
func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the lock of the folder for binaries: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return func() { _ = f.Close() }, nil
}

// lastLines is the end of what a program printed.
func lastLines(out []byte, n int) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
