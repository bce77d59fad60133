package e2e

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/devenv"
	"github.com/lacuna-seq/lacuna/internal/testkit"
)

// The programs, built as the images build them, run where there is no time zone database, nor anything else: a numbering
// may be dated by a zone all the same, and a DSN with a zone is refused by name.
func TestC74NoTimeZoneDatabase(t *testing.T) {
	s := newStack(t)
	image := buildImage(t)

	t.Run("a biz type has a zone", func(t *testing.T) {
		api, err := devenv.FreePort()
		require.NoError(t, err)
		ops, err := devenv.FreePort()
		require.NoError(t, err)
		p := &process{url: "http://" + devenv.Address(api), ops: "http://" + devenv.Address(ops)}
		starter := inImage(t.Context(), image, "starter", append(s.starter.spec.Env, "LACUNA_LISTEN="+devenv.Address(api), "LACUNA_OPS_LISTEN="+devenv.Address(ops)))
		var log bytes.Buffer
		starter.Stderr = &log
		require.NoError(t, starter.Start())
		t.Cleanup(func() {
			_ = starter.Wait() // the test's context has ended it
			if t.Failed() {
				t.Log(log.String())
			}
		})
		testkit.Eventually(t, func() bool {
			response, err := http.Get(p.ops + "/readyz") //nolint:noctx // the loop ends it
			if err != nil {
				return false
			}
			defer response.Body.Close() //nolint:errcheck // only its status counts
			return response.StatusCode == http.StatusOK
		}, "it is not ready")
		s.starter = p
		s.put(t, `{"name":"ZONED","format":"Z{yyyy}{MM}{dd}-{seq:6}","timeZone":"Asia/Shanghai","reuse":"REUSE_SAME_PERIOD"}`)
		shanghai, err := time.LoadLocation("Asia/Shanghai")
		require.NoError(t, err)
		before := time.Now().In(shanghai).Format("20060102")
		_, seqNo := s.next(t, "ZONED")
		require.Contains(t, []string{before, time.Now().In(shanghai).Format("20060102")}, seqNo[1:9])
	})
	for _, loc := range []string{"Asia%2FShanghai", "asia%2Fshanghai", "asia/shanghai"} {
		t.Run("loc="+loc+" is refused by name", func(t *testing.T) {
			for _, program := range [][]string{{"starter"}, {"worker"}, {"lacuna", "migrate", "up"}} {
				out, err := inImage(t.Context(), image, program[0], append(s.starter.spec.Env, "LACUNA_MYSQL_DSN=u:hidden@tcp(127.0.0.1:1)/x?loc="+loc, "LACUNA_REDIS_URL="+s.redisURL), program[1:]...).CombinedOutput()
				require.Error(t, err, program)
				require.Contains(t, string(out), "the DSN sets loc="+strings.ReplaceAll(loc, "%2F", "/"), program)
				require.NotContains(t, string(out), "hidden", program)
			}
		})
	}
}

// buildImage makes a folder that holds what the images hold of ours, and nothing else, by the Dockerfile's own command.
func buildImage(t *testing.T) string {
	t.Helper()
	dockerfile, err := os.ReadFile("../deploy/images/Dockerfile")
	require.NoError(t, err)
	build := regexp.MustCompile(`(?m)^ +(go build .*) -o /out/ (.*)$`).FindSubmatch(dockerfile)
	require.NotNil(t, build, "the Dockerfile builds otherwise than this test looks for")
	require.Contains(t, string(dockerfile), "\nENV CGO_ENABLED=0\n")
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o755)) //nolint:gosec // the programs run as somebody else in it
	command := exec.CommandContext(t.Context(), "sh", "-c", string(build[1])+` -o "$OUT/" `+string(build[2]))
	command.Dir, command.Env = "..", append(os.Environ(), "CGO_ENABLED=0", "OUT="+dir)
	out, err := command.CombinedOutput()
	require.NoError(t, err, "%s", out)
	for _, program := range []string{"starter", "worker", "lacuna"} {
		require.FileExists(t, filepath.Join(dir, program))
	}
	return dir
}

// inImage runs a program with the folder as its whole file system. Who is not root is root in a namespace of the program's own.
func inImage(ctx context.Context, dir, program string, env []string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "/"+program, args...)
	command.Dir, command.Env = "/", env
	command.SysProcAttr = &syscall.SysProcAttr{Chroot: dir}
	if os.Geteuid() != 0 {
		command.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return command
}
