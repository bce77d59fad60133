package check

import (
	"context"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/lacuna-seq/lacuna/internal/promtool"
	"github.com/stretchr/testify/require"
)

// promtoolPath finds Prometheus's checker, once.
var promtoolPath = sync.OnceValues(func() (string, error) {
	return promtool.Find(context.Background(), filepath.Join(root, ".dev"))
})

// runPromtool fails the test with what promtool says.
func runPromtool(t *testing.T, args ...string) {
	t.Helper()
	path, err := promtoolPath()
	require.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
	require.NoError(t, err, "promtool %v\n%s", args, out)
}
