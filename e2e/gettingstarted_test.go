package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// The service of docs/getting-started.md is built in a module of its own, as a reader would, and run against the real
// programs; then its test is.
func TestGettingStarted(t *testing.T) {
	s := newStack(t)
	s.bizType(t, "SHOP", "SHOP-{seq:6}", time.Minute, time.Second)
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	dir := t.TempDir()
	blocks := allFenced(t, "../docs/getting-started.md", "go")
	require.Len(t, blocks, 2)
	sums, err := os.ReadFile("../go.sum")
	require.NoError(t, err)
	for name, text := range map[string]string{"main.go": blocks[0], "main_test.go": blocks[1], "go.sum": string(sums)} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	dsn := testkit.MariaDB(t)
	run := func(name string, args ...string) (string, error) {
		t.Helper()
		command := exec.CommandContext(t.Context(), name, args...)
		command.Dir = dir
		command.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off", "SHOP_DSN="+dsn, "LACUNA_API="+s.starter.url, "LACUNA_TOKEN="+s.token)
		out, err := command.CombinedOutput()
		return string(out), err
	}
	must := func(name string, args ...string) string {
		t.Helper()
		out, err := run(name, args...)
		require.NoError(t, err, "%s %v: %s", name, args, out)
		return out
	}
	must("go", "mod", "init", "example.com/shop")
	must("go", "mod", "edit", "-require=github.com/lacuna-seq/lacuna@v0.1.0", "-replace=github.com/lacuna-seq/lacuna="+root)
	must("go", "vet", ".")
	must("go", "build", "-o", "shop", ".")

	require.Equal(t, "cart-1 is order SHOP-000001\ncart-2 is order SHOP-000002\n", must("./shop", "cart-1", "cart-2"))
	for _, seqNo := range []string{"SHOP-000001", "SHOP-000002"} {
		s.awaitState(t, "SHOP", seqNo, sequence.Confirmed)
	}
	require.Equal(t, "cart-1", s.row(t, "SHOP", "SHOP-000001").BizKey)
	out, err := run("./shop", "cart-1")
	require.Error(t, err)
	require.Contains(t, out, "Duplicate entry")
	require.NotEqual(t, sequence.Confirmed, s.row(t, "SHOP", "SHOP-000003").State)

	must("go", "test", "-count=1", ".")
}
