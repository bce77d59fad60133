package lacunatest_test

import (
	"testing"
	"time"

	"github.com/lacuna-seq/lacuna/client/lacunatest"
	"github.com/lacuna-seq/lacuna/internal/conformance"
	"github.com/lacuna-seq/lacuna/sequence"
)

func TestTheDoubleBehavesLikeTheService(t *testing.T) {
	conformance.Run(t, func(t *testing.T) conformance.Target {
		s := lacunatest.New(t)
		return conformance.Target{
			URL: s.URL, Token: "lacuna_anybody_0",
			Make: func(_ *testing.T, b sequence.BizType) {
				s.BizType(b.Name, b.Format.String(), func(rules *sequence.BizType) { *rules = b })
			},
			Pass: func(_ *testing.T, d time.Duration) { s.Advance(d) },
		}
	})
}
