package console

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/sequence"
)

// What came within the window stands left of it, and what came later right, to the last pixel.
func TestNoBarStandsOnBothSidesOfItsBound(t *testing.T) {
	for _, size := range chartSizes {
		for _, late := range []time.Duration{3 * time.Millisecond, 700 * time.Millisecond, 20 * time.Second, 40 * time.Minute, 20 * 24 * time.Hour} {
			bucket := sequence.DelayBucket(late)
			bound := sequence.DelayBound(bucket)
			c := drawDelays(size, []*lacunav1.DelayBucket{{UpTo: durationpb.New(bound), Count: 1_000_000}, {UpTo: durationpb.New(sequence.DelayBound(bucket + 1)), Count: 1}},
				[]chartLine{{"window", "present", bound}, {"advised", "advised", time.Hour}})
			require.Len(t, c.Bars, 2)
			left, right := c.Bars[0], c.Bars[1]
			if left.X > right.X {
				left, right = right, left
			}
			require.InDelta(t, c.Lines[0].X, left.X+left.Width, 1.6, "%s ends at its bound", late)
			require.InDelta(t, c.Lines[0].X, right.X, 0.6)
			require.Greater(t, left.Height, right.Height)
			require.Positive(t, right.Height, "one is visible beside a million")
			for _, bar := range c.Bars {
				require.GreaterOrEqual(t, bar.X, chartLeft-0.01)
				require.LessOrEqual(t, bar.X+bar.Width, c.Right+0.01)
				require.GreaterOrEqual(t, bar.Y, chartTop-0.01)
			}
			require.NotEmpty(t, c.XTicks)
			for i := 1; i < len(c.XTicks); i++ {
				require.GreaterOrEqual(t, c.XTicks[i].At-c.XTicks[i-1].At, leastTickRoom)
			}
		}
	}
}
