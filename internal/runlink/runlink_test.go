package runlink_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/runlink"
	"github.com/lacuna-seq/lacuna/sequence"
)

func TestRunLinks(t *testing.T) {
	ticket := sequence.Ticket{BizType: "ORDER", SeqNo: "A-000001", Life: 2}
	require.Equal(t, "http://ui/namespaces/default/workflows/ORDER~A-000001~2", runlink.Maker{UI: "http://ui", Namespace: "default"}.Of(ticket))
	require.Equal(t, "http://ui/x/namespaces/a%20b/workflows/ORDER~A-000001~2", runlink.Maker{UI: "http://ui/x/", Namespace: "a b"}.Of(ticket))
	require.Empty(t, runlink.Maker{Namespace: "default"}.Of(ticket))
	ticket.Life = 0
	require.Empty(t, runlink.Maker{UI: "http://ui", Namespace: "default"}.Of(ticket))
}
