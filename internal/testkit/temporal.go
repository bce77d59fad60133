package testkit

import (
	"context"
	"testing"

	"github.com/lacuna-seq/lacuna/internal/devenv"
)

// Temporal gives the address of a development server. Its namespace is devenv.TemporalNamespace;
// tests keep apart by their task queues and workflow IDs.
func Temporal(t testing.TB) string {
	t.Helper()
	return servers.temporal.get(t, "temporal", temporalStarter(false)).Address()
}

// OwnTemporal starts a server for this test alone, which keeps its workflows over a restart.
func OwnTemporal(t testing.TB) *devenv.Temporal {
	t.Helper()
	return own(t, temporalStarter(true))
}

func temporalStarter(persist bool) starter[*devenv.Temporal] {
	return func(ctx context.Context, b devenv.Binaries, dir string, port int) (*devenv.Temporal, error) {
		return devenv.StartTemporal(ctx, b, devenv.TemporalConfig{
			Dir: dir, Port: port, Persist: persist,
			SearchAttributes: []string{"BizType", "SeqNo", "BatchId", "SeqState"}, // those of workflows/names.go
		})
	}
}
