package devenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// TemporalVersion is the CLI that is built where none is found. It brings the development
// server, the UI and the operators' command line in one.
const TemporalVersion = "v1.5.1"

const temporalModule = "github.com/temporalio/cli/cmd/temporal@" + TemporalVersion

// debianPackages hold MariaDB's and Redis's binaries. redis-tools has the server's binary under
// the name redis-check-rdb and, unlike redis-server, starts no service.
var debianPackages = []string{"mariadb-server-core", "mariadb-client-core", "redis-tools"}

func installPackages(ctx context.Context, report Report) error {
	if why := mayNotInstall(); why != "" {
		return missing(why)
	}
	return aptInstall(ctx, report, debianPackages)
}

// mayNotInstall says why packages cannot be installed here; empty where they can.
func mayNotInstall() string {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return "there is no apt-get here to install them with"
	}
	if os.Geteuid() != 0 {
		return "only root may install them"
	}
	return ""
}

func aptInstall(ctx context.Context, report Report, names []string) error {
	report("installing %s", strings.Join(names, ", "))
	// An update that fails, e.g. beside another one, matters only where the install fails too.
	updated, updateErr := command(ctx, "apt-get", "update", "-qq").CombinedOutput()
	packages := make([]string, len(names))
	for i, name := range names {
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
	cmd.Env = append(cmd.Env, "GOBIN="+bin, "GOFLAGS=")
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
	cmd.WaitDelay = time.Second // what the program started may hold its output open
	return cmd
}
