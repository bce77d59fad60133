package e2e

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// Next does not feel that Redis, Temporal or the worker is away, and every number that was issued
// meanwhile comes to its proper end. The latencies are printed, not judged: see `make soak`.
func TestOutagesThatCallersDoNotFeel(t *testing.T) {
	redis := testkit.OwnRedis(t)
	s := newStackOn(t, redis.URL(0))
	s.bizType(t, "CALM", "C-{seq:8}", 10*time.Second, safetyWindow)
	o := &outages{stack: s, count: rounds(60, 2000)}
	o.take(t) // warms everything up
	healthy := o.take(t)
	t.Logf("healthy: p50 %s, p99 %s", healthy.p50, healthy.p99)
	for _, outage := range []struct {
		name        string
		stop, start func()
	}{
		{"Redis", redis.Kill, func() { require.NoError(t, redis.Restart(t.Context())) }},
		{"Temporal", s.temporal.Kill, func() { require.NoError(t, s.temporal.Restart(t.Context())) }},
		{"the worker", s.worker.Kill, func() { s.restart(t, s.worker) }},
	} {
		outage.stop()
		l := o.take(t)
		t.Logf("%s stopped: p50 %s, p99 %s, %.2f times the healthy p99", outage.name, l.p50, l.p99, float64(l.p99)/float64(healthy.p99))
		outage.start()
	}
	o.awaitEnds(t)
	s.closure(t)
}

// outages takes numbers and remembers how each must end.
type outages struct {
	*stack
	count int
	ends  map[string][]sequence.State
}

// awaitEnds waits for as long as numbers come to their ends: many runs are many seconds of a small server, and a
// push that failed, or whose worker died, waits for the longest pause of its ladder.
func (o *outages) awaitEnds(t *testing.T) {
	t.Helper()
	open := len(o.ends) + 1
	for open > 0 {
		testkit.Within(t, 6*time.Minute, func() bool {
			for seqNo, want := range o.ends {
				if slices.Contains(want, o.row(t, "CALM", seqNo).State) {
					delete(o.ends, seqNo)
				}
			}
			return len(o.ends) < open
		}, "%d numbers did not come to their ends", len(o.ends))
		open = len(o.ends)
	}
}

type latency struct{ p50, p99 time.Duration }

// take takes numbers one by one, confirms a third, abandons a third, and forgets a third.
func (o *outages) take(t *testing.T) latency {
	t.Helper()
	if o.ends == nil {
		o.ends = map[string][]sequence.State{}
	}
	took := make([]time.Duration, o.count)
	tickets, seqNos := make([]string, o.count), make([]string, o.count)
	for i := range took {
		begun := time.Now()
		tickets[i], seqNos[i] = o.next(t, "CALM")
		took[i] = time.Since(begun)
	}
	for i, ticket := range tickets {
		// One that comes back may be taken again by a later round: then it ends as that does.
		o.ends[seqNos[i]] = []sequence.State{sequence.Replayable, sequence.Replayed, sequence.Confirmed, sequence.Retired}
		switch i % 3 {
		case 0:
			require.Equal(t, "OUTCOME_CONFIRMED", o.settle(t, "Confirm", ticket))
			o.ends[seqNos[i]] = []sequence.State{sequence.Confirmed}
		case 1:
			require.Equal(t, "OUTCOME_ABANDONED", o.settle(t, "Abandon", ticket))
		}
	}
	slices.Sort(took)
	return latency{p50: took[len(took)/2], p99: took[len(took)*99/100]}
}
