package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a release promised is held by make verify.
func TestAnAPIThatBreaksTheLastReleaseIsFound(t *testing.T) {
	clone := filepath.Join(t.TempDir(), "clone")
	git := func(args ...string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), "git", args...).CombinedOutput()
		require.NoError(t, err, "git %v: %s", args, out)
	}
	git("clone", "-q", "--no-hardlinks", "--no-tags", root, clone)
	script, err := os.ReadFile(filepath.Join(root, "tools", "verify-breaking"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(clone, "tools", "verify-breaking"), script, 0o700))
	verify := func() (string, error) {
		out, err := exec.CommandContext(t.Context(), filepath.Join(clone, "tools", "verify-breaking")).CombinedOutput()
		return string(out), err
	}
	proto := filepath.Join(clone, "api", "lacuna", "v1", "sequence.proto")
	text, err := os.ReadFile(proto)
	require.NoError(t, err)
	change := func(from, to string) {
		t.Helper()
		require.Contains(t, string(text), from)
		require.NoError(t, os.WriteFile(proto, []byte(strings.ReplaceAll(string(text), from, to)), 0o600))
	}

	out, err := verify()
	require.NoError(t, err, out)
	require.Contains(t, out, "nothing was compared")

	git("-C", clone, "tag", "v0.0.1")
	change("message ConfirmResponse {", "message ConfirmResponse {\n  string remark = 100;")
	out, err = verify()
	require.NoError(t, err, out)
	require.Contains(t, out, "nothing breaks v0.0.1")

	change("string ticket = 1;", "int64 ticket = 1;")
	out, err = verify()
	require.Error(t, err)
	require.Contains(t, out, `changed type from "string" to "int64"`)
	require.Contains(t, out, "breaks what v0.0.1 promised")
}
