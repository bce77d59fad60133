package buildinfo

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInfo(t *testing.T) {
	build := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "abc123"}, {Key: "vcs.time", Value: "2026-12-01T10:00:00Z"}, {Key: "vcs.modified", Value: "true"},
	}}
	require.Equal(t, "v1.2.3, commit abc123 with changes, 2026-12-01T10:00:00Z", of(build).String())
	require.Equal(t, "version unknown, commit unknown, date unknown", Info{}.String())
}
