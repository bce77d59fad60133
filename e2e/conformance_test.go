package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/conformance"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// The behaviours that client/lacunatest is held to are those of the real programs.
func TestTheServiceConforms(t *testing.T) {
	s := newStack(t)
	target := conformance.Target{
		URL: s.starter.url, Token: s.token,
		Make: func(t *testing.T, b sequence.BizType) { require.NoError(t, s.ledger.CreateBizType(t.Context(), b)) },
		Pass: func(t *testing.T, d time.Duration) { testkit.Pass(t, d) },
	}
	conformance.Run(t, func(*testing.T) conformance.Target { return target })
}
