package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whoever looks after a system asks its programs what they were built from.
func TestProgramsSayWhatTheyAre(t *testing.T) {
	dir, err := programs()
	require.NoError(t, err)
	repository, statErr := os.Stat("../.git")
	stamped := statErr == nil && repository.IsDir() // Go reads no commit in a worktree of git's
	commit, err := exec.CommandContext(t.Context(), "git", "rev-parse", "HEAD").Output()
	for _, name := range []string{"starter", "worker", "lacuna"} {
		out, runErr := exec.CommandContext(t.Context(), filepath.Join(dir, name), "--version").Output()
		require.NoError(t, runErr, "%s: it needs no settings for that", name)
		require.Regexp(t, `^`+name+` \S+.*, commit [0-9a-f]+( with changes)?, \S+\n$|^`+name+` .*, commit unknown, date unknown\n$`, string(out))
		if stamped {
			require.NoError(t, err)
			require.Contains(t, string(out), "commit "+string(commit[:40]))
		}
	}
}
