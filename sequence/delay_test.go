package sequence_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/sequence"
)

func TestDelayBuckets(t *testing.T) {
	t.Run("have edges that belong to the bucket below", func(t *testing.T) {
		for bucket := range sequence.DelayBuckets {
			bound := sequence.DelayBound(bucket)
			require.Equal(t, bucket, sequence.DelayBucket(bound), bound)
			if bucket < sequence.DelayBuckets-1 {
				require.Equal(t, bucket+1, sequence.DelayBucket(bound+1), bound)
			}
		}
	})
	t.Run("go from 1 ms to 30 days, and double every eighth", func(t *testing.T) {
		require.Equal(t, time.Millisecond, sequence.DelayBound(0))
		require.Equal(t, 2*time.Millisecond, sequence.DelayBound(8))
		require.Equal(t, 1024*time.Millisecond, sequence.DelayBound(80))
		require.Equal(t, 30*24*time.Hour, sequence.DelayBound(sequence.DelayBuckets-1))
		require.Less(t, sequence.DelayBound(sequence.DelayBuckets-2), 30*24*time.Hour)
	})
	t.Run("take what is shorter or longer than all of them", func(t *testing.T) {
		require.Zero(t, sequence.DelayBucket(0))
		require.Zero(t, sequence.DelayBucket(-time.Hour))
		require.Equal(t, sequence.DelayBuckets-1, sequence.DelayBucket(math.MaxInt64))
	})
	t.Run("are never below a delay, and at most 10 % above it", func(t *testing.T) {
		for d := time.Millisecond; d <= sequence.MaxDelay; d += 1 + d/97 {
			bound := sequence.DelayBound(sequence.DelayBucket(d))
			require.GreaterOrEqual(t, bound, d)
			require.LessOrEqual(t, float64(bound), 1.1*float64(d), d)
		}
	})
}

func TestDelayCounts(t *testing.T) {
	var counts sequence.DelayCounts
	require.Zero(t, counts.Count())
	require.Zero(t, counts.Quantile(0.5))
	require.Zero(t, counts.After(0))
	for i := range 1000 {
		counts.Add(time.Duration(i+1) * time.Second)
	}
	require.Equal(t, int64(1000), counts.Count())
	for q, true := range map[float64]time.Duration{0: time.Second, 0.5: 500 * time.Second, 0.99: 990 * time.Second, 1: 1000 * time.Second} {
		require.Equal(t, sequence.DelayBound(sequence.DelayBucket(true)), counts.Quantile(q), q)
	}
	require.Equal(t, int64(1000), counts.After(0))
	require.Zero(t, counts.After(counts.Quantile(1)))
	last := counts[sequence.DelayBucket(1000*time.Second)]
	require.Equal(t, last, counts.After(999*time.Second), "the whole bucket may have been longer")

	counts = sequence.DelayCounts{}
	counts.Add(365 * 24 * time.Hour)
	require.Equal(t, sequence.MaxDelay, counts.Quantile(0.5))
	require.Equal(t, int64(1), counts.After(sequence.MaxDelay), "no window is as long as that")
}

func TestDelayOf(t *testing.T) {
	rules := sequence.NewBizType("ORDER", sequence.Format{})
	issued := time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	after := func(d time.Duration) time.Time { return issued.Add(d) }
	held := sequence.Number{BizType: "ORDER", SeqNo: "A-1", State: sequence.Reserved, Owner: "i", BatchID: "b"}
	allocated := sequence.Number{BizType: "ORDER", SeqNo: "A-1", Life: 1, State: sequence.Allocated, IssuedTime: issued, Deadline: after(time.Minute)}
	abandoned := allocated
	abandoned.State, abandoned.AbandonedTime, abandoned.Deadline = sequence.Abandoned, after(time.Minute), after(3*time.Minute)
	in := func(state sequence.State, n sequence.Number) sequence.Number { n.State = state; return n }
	ticket := sequence.Ticket{BizType: "ORDER", SeqNo: "A-1", Life: 1}
	for name, tt := range map[string]struct {
		was   sequence.Number
		kind  sequence.Kind
		at    time.Duration
		want  sequence.DelayKind
		delay time.Duration
	}{
		"a confirm in time":                                 {allocated, sequence.Confirm, 7 * time.Second, sequence.DelayConfirmed, 7 * time.Second},
		"an abandonment":                                    {allocated, sequence.Abandon, 5 * time.Second, sequence.DelayAbandoned, 5 * time.Second},
		"a timeout":                                         {allocated, sequence.Check, time.Hour, sequence.DelayAbandoned, time.Hour},
		"a hand-out whose caller has gone":                  {held, sequence.Record, 0, sequence.DelayAbandoned, 0},
		"a rescue in the window":                            {abandoned, sequence.Confirm, 90 * time.Second, sequence.DelayLate, 30 * time.Second},
		"a rescue from the pool":                            {in(sequence.Replayable, abandoned), sequence.Confirm, time.Hour, sequence.DelayLate, 59 * time.Minute},
		"a rescue of a dead letter":                         {in(sequence.Dead, abandoned), sequence.Confirm, time.Hour, sequence.DelayLate, 59 * time.Minute},
		"a rescue of a retired number":                      {in(sequence.Retired, abandoned), sequence.Confirm, time.Hour, sequence.DelayLate, 59 * time.Minute},
		"a confirm of a dead letter that nobody gave up":    {in(sequence.Dead, allocated), sequence.Confirm, time.Hour, sequence.DelayConfirmed, time.Hour},
		"a requeued dead letter that had no window":         {in(sequence.Dead, allocated), sequence.Requeue, time.Hour, sequence.DelayAbandoned, time.Hour},
		"a requeued dead letter whose window has passed":    {in(sequence.Dead, abandoned), sequence.Requeue, time.Hour, 0, 0},
		"a second confirm":                                  {in(sequence.Confirmed, allocated), sequence.Confirm, time.Hour, 0, 0},
		"a second abandonment":                              {abandoned, sequence.Abandon, time.Hour, 0, 0},
		"a number that the business turned out to hold":     {abandoned, sequence.Found, time.Hour, 0, 0},
		"a window that is over":                             {abandoned, sequence.Replay, time.Hour, 0, 0},
		"a check that comes early":                          {allocated, sequence.Check, time.Second, 0, 0},
		"a number that nobody confirmed and a person is to": {in(sequence.Allocated, allocated), sequence.Bury, time.Hour, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := sequence.Command{Kind: tt.kind, Ticket: ticket, Owner: "i", BatchID: "b", CallerGone: true, Cause: sequence.CauseCancelled}
			kind, delay, ok := sequence.DelayOf(tt.was, sequence.Decide(rules, tt.was, c, after(tt.at)))
			require.Equal(t, tt.want != 0, ok)
			require.Equal(t, tt.want, kind)
			require.Equal(t, tt.delay, delay)
		})
	}
}
