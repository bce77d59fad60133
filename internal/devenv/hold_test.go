package devenv

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAFolderHasOneHolder(t *testing.T) {
	dir := t.TempDir()
	release, err := Hold(dir)
	require.NoError(t, err)
	_, err = Hold(dir)
	require.ErrorIs(t, err, ErrHeld)
	require.ErrorContains(t, err, fmt.Sprintf("%s is in use by process %d", dir, os.Getpid()))
	release()
	release, err = Hold(dir)
	require.NoError(t, err, "it was given back")
	release()
}
