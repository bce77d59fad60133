package activities_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/lacuna-seq/lacuna/activities"
	"github.com/lacuna-seq/lacuna/sequence"
)

// beat is a ledger and the runs as a patrol sees them. The real ones are used in e2e.
type beat struct {
	mu      sync.Mutex
	dead    []sequence.Issuer
	held    map[string][]sequence.Number
	overdue map[sequence.State][]sequence.Number
	checked map[string]int
	stuck   string          // a number whose run cannot be woken
	closed  map[string]bool // numbers whose runs have closed
	retime  bool            // the settings of ORDER were changed
	pushed  map[string]int
	removed []string
	lost    string                               // a number that the pool has not, or "all"
	tired   string                               // a free number that the pool has lost too often
	retired string                               // a free number that may not be issued any more
	durable string                               // a dead issuer whose callers had not been answered
	keys    int                                  // that have expired
	delays  int                                  // of days that are over
	runless map[sequence.State][]sequence.Number // overdue, without a run of their own
	open    map[string]bool                      // numbers that have an open run all the same, and Compensations
	taken   map[sequence.State][]sequence.Number // overdue, in the hands of a Compensation
	freed   []string
	asked   []string // Compensations that were looked for
	tracked []string
	outage  time.Time // when the last one ended
	hold    bool      // no deadline is acted on
	outages []sequence.Outage
	ended   map[sequence.State][]sequence.Number // whose deadline ended in an outage
	shifted int
	clock   time.Time
	holds   []string
	away    bool
	rounds  int    // that were finished
	mark    string // of the pools
	free    []sequence.Number
	flushed bool // once, between the first push and the mark
	blocks  blocks
}

func (b *beat) Push(_ context.Context, entries []sequence.PoolEntry) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.away {
		return errors.New("connection refused")
	}
	for _, e := range entries {
		b.pushed[e.SeqNo]++
	}
	return nil
}

func (b *beat) Present(_ context.Context, entries []sequence.PoolEntry) ([]bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.away {
		return nil, errors.New("connection refused")
	}
	present := make([]bool, len(entries))
	for i, e := range entries {
		present[i] = b.lost != "all" && e.SeqNo != b.lost
	}
	return present, nil
}

func (b *beat) Mark(context.Context) (string, error) {
	if b.away {
		return "", errors.New("connection refused")
	}
	return b.mark, nil
}

func (b *beat) SwapMark(_ context.Context, was, is string) (bool, error) {
	if b.flushed && len(b.pushed) > 0 {
		b.flushed, b.mark, b.pushed = false, "", map[string]int{}
	}
	if b.mark != was {
		return false, nil
	}
	b.mark = is
	return true, nil
}

func (b *beat) Remove(_ context.Context, entries []sequence.PoolEntry) error {
	for _, e := range entries {
		b.removed = append(b.removed, e.SeqNo)
	}
	return nil
}

func (b *beat) BizTypes(context.Context) ([]sequence.BizType, error) {
	return []sequence.BizType{
		{Name: "ORDER", DirectSignals: true, ConfirmTimeout: time.Minute, SafetyWindow: time.Minute},
		{Name: "BULK", Track: sequence.TrackNone}, {Name: "SLOW", ConfirmTimeout: time.Minute, SafetyWindow: time.Minute},
	}, nil
}

func (b *beat) PurgeKeys(_ context.Context, limit int) (int, error) {
	n := min(limit, b.keys)
	b.keys -= n
	return n, nil
}

func (b *beat) PurgeDelays(_ context.Context, limit int) (int, error) {
	n := min(limit, b.delays)
	b.delays -= n
	return n, nil
}

func (b *beat) Apply(_ context.Context, commands []sequence.Command) ([]sequence.Decision, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	decisions := make([]sequence.Decision, len(commands))
	for i, c := range commands {
		if c.Kind == sequence.Repool {
			if c.Absent != (b.pushed[c.Ticket.SeqNo] == 1) {
				return nil, fmt.Errorf("the check of %s, absent %t, is moved after %d pushes", c.Ticket, c.Absent, b.pushed[c.Ticket.SeqNo])
			}
			b.overdue[sequence.Replayable] = b.overdue[sequence.Replayable][1:]
			decisions[i] = sequence.Decision{Outcome: sequence.OutcomeReplayable, Pool: sequence.PoolEntry{SeqNo: c.Ticket.SeqNo}}
			switch c.Ticket.SeqNo {
			case b.retired:
				decisions[i].Outcome = sequence.OutcomeRetired
			case b.tired:
				decisions[i].Outcome = sequence.OutcomeDead
			}
			continue
		}
		if c.Kind == sequence.Release {
			b.freed = append(b.freed, c.Taker+" "+c.Ticket.SeqNo)
			decisions[i].Outcome = sequence.OutcomeReleased
			continue
		}
		if c.Kind == sequence.TrackIt {
			b.tracked = append(b.tracked, c.Ticket.SeqNo)
			continue
		}
		if c.Kind == sequence.Shift {
			for state, ended := range b.ended {
				if len(ended) > 0 && ended[0].SeqNo == c.Ticket.SeqNo {
					b.ended[state] = ended[1:]
				}
			}
			b.shifted++
			decisions[i].Outcome = sequence.OutcomeShifted
			continue
		}
		if c.Kind == sequence.Retime {
			decisions[i].Outcome = sequence.OutcomeRetimed
			continue
		}
		if c.Kind != sequence.Recover || c.Lease <= 0 {
			return nil, fmt.Errorf("%s with lease %s", c.Kind, c.Lease)
		}
		held := b.held[c.Owner]
		b.held[c.Owner] = held[:len(held)-1]
		decisions[i].Outcome = sequence.OutcomeRecovered
		if c.Owner == b.durable {
			decisions[i] = sequence.Decision{Outcome: sequence.OutcomeHandedBack, Pool: sequence.PoolEntry{SeqNo: c.Ticket.SeqNo}}
		}
	}
	return decisions, nil
}

func (b *beat) DeadIssuers(context.Context, int) ([]sequence.Issuer, error) { return b.dead, nil }

func (b *beat) HeldBy(_ context.Context, issuer string, limit int) ([]sequence.Number, error) {
	return b.held[issuer][:min(limit, len(b.held[issuer]))], nil
}

func (b *beat) IssuerRecovered(_ context.Context, id string) error {
	if len(b.held[id]) > 0 {
		return errors.New("it still holds numbers")
	}
	b.dead = b.dead[1:]
	return nil
}

func (b *beat) Overdue(_ context.Context, state sequence.State, after sequence.Number, limit int) ([]sequence.Number, error) {
	all := b.overdue[state]
	from := int(after.ID)
	return all[from:min(from+limit, len(all))], nil
}

func (b *beat) OverdueTracked(ctx context.Context, state sequence.State, tracked bool, after sequence.Number, limit int) ([]sequence.Number, error) {
	if tracked {
		return b.Overdue(ctx, state, after, limit)
	}
	all := b.runless[state][int(after.ID):]
	return all[:min(limit, len(all))], nil
}

func (b *beat) OverdueTaken(_ context.Context, state sequence.State, after sequence.Number, limit int) ([]sequence.Number, error) {
	all := b.taken[state][int(after.ID):]
	return all[:min(limit, len(all))], nil
}

func (b *beat) Free(_ context.Context, bizType string, after sequence.Number, until time.Time, limit int) ([]sequence.Number, error) {
	if bizType != "" || until.IsZero() {
		return nil, fmt.Errorf("free numbers of %q until %s", bizType, until)
	}
	all := b.free[int(after.ID):]
	return all[:min(limit, len(all))], nil
}

func (b *beat) PatrolFinished(context.Context) error {
	b.rounds++
	return nil
}

func (b *beat) LastOutageEnd(context.Context) (time.Time, error) { return b.outage, nil }

func (b *beat) CompensationOpen(_ context.Context, workflowID string) (bool, error) {
	if b.asked = append(b.asked, workflowID); b.away {
		return false, errors.New("connection refused")
	}
	return b.open[workflowID], nil
}

func (b *beat) Open(_ context.Context, n sequence.Number) (bool, error) { return b.open[n.SeqNo], nil }

func (b *beat) Check(_ context.Context, n sequence.Number) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.away {
		return false, errors.New("connection refused")
	}
	if n.SeqNo == b.stuck {
		return false, errors.New("exceeded the limit of signals")
	}
	b.checked[n.SeqNo]++
	return !b.closed[n.SeqNo] && !b.closed["all"], nil
}

func (b *beat) Commands(context.Context, sequence.Number) ([]activities.ToldCommand, error) {
	return nil, errors.New("the patrol reads no histories")
}

func (b *beat) Now(context.Context) (time.Time, error) {
	if !b.clock.IsZero() {
		return b.clock, nil
	}
	return issued, nil
}

func (b *beat) OnHold(context.Context) (bool, error) { return b.hold, nil }

func (b *beat) Hold(_ context.Context, name, reason string, _ time.Duration) error {
	b.holds = append(b.holds, name+": "+reason)
	return nil
}

func (b *beat) Outages(context.Context) ([]sequence.Outage, error) { return b.outages, nil }

func (b *beat) EndedIn(_ context.Context, outage sequence.Outage, state sequence.State, limit int) ([]sequence.Number, error) {
	if outage != b.outages[0] {
		return nil, errors.New("that was not the outage")
	}
	return b.ended[state][:min(limit, len(b.ended[state]))], nil
}

func (b *beat) OutageShifted(_ context.Context, id int64) error {
	if b.outages[0].ID != id || len(b.ended[sequence.Allocated])+len(b.ended[sequence.Abandoned]) > 0 {
		return errors.New("not all deadlines are moved")
	}
	b.outages = b.outages[1:]
	return nil
}

func (b *beat) RetimeDue(context.Context) ([]sequence.BizType, error) {
	if !b.retime {
		return nil, nil
	}
	return []sequence.BizType{{Name: "ORDER", Revision: 7, ConfirmTimeout: time.Hour, SafetyWindow: time.Hour}}, nil
}

func (b *beat) Waiting(ctx context.Context, _ string, state sequence.State, after sequence.Number, limit int) ([]sequence.Number, error) {
	return b.Overdue(ctx, state, after, limit)
}

func (b *beat) Retimed(_ context.Context, bizType string, revision int64) error {
	if bizType != "ORDER" || revision != 7 {
		return errors.New("that was not the change")
	}
	b.retime = false
	return nil
}

var issued = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func numbers(prefix string, count int) []sequence.Number {
	all := make([]sequence.Number, count)
	for i := range all {
		all[i] = sequence.Number{State: sequence.Allocated, IssuedTime: issued, ID: int64(i + 1), BizType: "ORDER", SeqNo: fmt.Sprintf("%s-%d", prefix, i+1), Life: 1}
	}
	return all
}

func TestPatrol(t *testing.T) {
	setup := func(b *beat) *testsuite.TestActivityEnvironment {
		b.checked, b.pushed = map[string]int{}, map[string]int{}
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		activities.NewPatrol(b, b, b, slog.New(slog.DiscardHandler), activities.DefaultPatrolBatch).Register(env)
		return env
	}
	t.Run("recovers all that dead issuers held", func(t *testing.T) {
		b := &beat{dead: []sequence.Issuer{{ID: "issuer-1", Lease: time.Second}, {ID: "issuer-2", Lease: time.Second}}, held: map[string][]sequence.Number{"issuer-1": numbers("A", 1234)}}
		value, err := setup(b).ExecuteActivity(activities.RecoverName)
		require.NoError(t, err)
		var result activities.RecoverResult
		require.NoError(t, value.Get(&result))
		require.Equal(t, activities.RecoverResult{Issuers: 2, Numbers: 1234}, result)
		require.Empty(t, b.dead)
	})
	t.Run("pushes what a dead issuer held and had handed to nobody", func(t *testing.T) {
		b := &beat{dead: []sequence.Issuer{{ID: "issuer-1", Lease: time.Second}}, held: map[string][]sequence.Number{"issuer-1": numbers("A", 2)}, durable: "issuer-1"}
		_, err := setup(b).ExecuteActivity(activities.RecoverName)
		require.NoError(t, err)
		require.Equal(t, map[string]int{"A-1": 1, "A-2": 1}, b.pushed)
	})
	t.Run("wakes every overdue number once, page by page", func(t *testing.T) {
		b := &beat{overdue: map[sequence.State][]sequence.Number{
			sequence.Allocated: numbers("A", 1100), sequence.Abandoned: numbers("B", 3),
		}}
		value, err := setup(b).ExecuteActivity(activities.NudgeName)
		require.NoError(t, err)
		var result activities.NudgeResult
		require.NoError(t, value.Get(&result))
		require.Equal(t, activities.NudgeResult{Woken: 1103}, result)
		for seqNo, times := range b.checked {
			require.Equal(t, 1, times, seqNo)
		}
	})
	t.Run("finds those whose runs have closed, in batches of one biz type", func(t *testing.T) {
		others := numbers("B", 3)
		for i := range others {
			others[i].State, others[i].BizType = sequence.Abandoned, "BILL"
		}
		b := &beat{
			overdue: map[sequence.State][]sequence.Number{sequence.Allocated: numbers("A", 3), sequence.Abandoned: others},
			closed:  map[string]bool{"A-1": true, "A-3": true, "B-2": true},
		}
		value, err := setup(b).ExecuteActivity(activities.NudgeName)
		require.NoError(t, err)
		var result activities.NudgeResult
		require.NoError(t, value.Get(&result))
		require.Equal(t, 3, result.Woken)
		require.Len(t, result.Closed, 2)
		require.ElementsMatch(t, []string{"ORDER~A-1~1", "ORDER~A-3~1"}, result.Closed[0].Tickets)
		require.Equal(t, activities.Numbers{BizType: "BILL", Tickets: []string{"BILL~B-2~1"}}, result.Closed[1])
	})
	t.Run("is kept from nothing by one that cannot be woken", func(t *testing.T) {
		b := &beat{overdue: map[sequence.State][]sequence.Number{sequence.Allocated: numbers("A", 3), sequence.Abandoned: numbers("B", 2)}, closed: map[string]bool{"A-1": true, "B-1": true}, stuck: "A-2"}
		value, err := setup(b).ExecuteActivity(activities.NudgeName)
		require.NoError(t, err)
		var result activities.NudgeResult
		require.NoError(t, value.Get(&result))
		require.Equal(t, 2, result.Woken)
		require.Equal(t, 1, result.Failed)
		require.Len(t, result.Closed[0].Tickets, 2)
	})
	t.Run("hands no more on at a time than fits", func(t *testing.T) {
		b := &beat{overdue: map[sequence.State][]sequence.Number{sequence.Allocated: numbers("A", 5000), sequence.Abandoned: numbers("B", 5000)}, closed: map[string]bool{"all": true}}
		value, err := setup(b).ExecuteActivity(activities.NudgeName)
		require.NoError(t, err)
		var result activities.NudgeResult
		require.NoError(t, value.Get(&result))
		require.Len(t, result.Closed, 4)
		for _, batch := range result.Closed {
			require.Len(t, batch.Tickets, 2000)
		}
	})
	t.Run("retimes the waiting numbers of a changed biz type", func(t *testing.T) {
		b := &beat{retime: true, overdue: map[sequence.State][]sequence.Number{sequence.Allocated: numbers("A", 1100), sequence.Abandoned: numbers("B", 3)}}
		b.overdue[sequence.Allocated][7].Deadline = issued.Add(time.Hour) // right already
		for i := range b.overdue[sequence.Abandoned] {
			b.overdue[sequence.Abandoned][i].State, b.overdue[sequence.Abandoned][i].AbandonedTime = sequence.Abandoned, issued
		}
		value, err := setup(b).ExecuteActivity(activities.RetimeName)
		require.NoError(t, err)
		var result activities.RetimeResult
		require.NoError(t, value.Get(&result))
		require.Equal(t, 1102, result.Numbers)
		require.False(t, b.retime)
	})
	repool := func(t *testing.T, b *beat) activities.RepoolResult {
		t.Helper()
		value, err := setup(b).ExecuteActivity(activities.RepoolName)
		require.NoError(t, err)
		var result activities.RepoolResult
		require.NoError(t, value.Get(&result))
		return result
	}
	t.Run("looks for what has been free for a while, and pushes nothing that is there", func(t *testing.T) {
		b := &beat{overdue: map[sequence.State][]sequence.Number{sequence.Replayable: numbers("A", 1100)}}
		require.Equal(t, activities.RepoolResult{Numbers: 1100}, repool(t, b))
		require.Empty(t, b.pushed)
		require.Empty(t, b.overdue[sequence.Replayable])
	})
	t.Run("pushes what the pool has lost, and moves its check after that", func(t *testing.T) {
		b := &beat{lost: "all", overdue: map[sequence.State][]sequence.Number{sequence.Replayable: numbers("A", 1100)}}
		require.Equal(t, activities.RepoolResult{Numbers: 1100, Absent: 1100}, repool(t, b))
		require.Len(t, b.pushed, 1100)
		require.Empty(t, b.overdue[sequence.Replayable])
		b = &beat{lost: "A-2", overdue: map[sequence.State][]sequence.Number{sequence.Replayable: numbers("A", 3)}}
		require.Equal(t, activities.RepoolResult{Numbers: 3, Absent: 1}, repool(t, b))
		require.Equal(t, map[string]int{"A-2": 1}, b.pushed)
	})
	t.Run("takes out of the pool what may not be issued any more, or waits for a person", func(t *testing.T) {
		b := &beat{lost: "A-3", tired: "A-3", retired: "A-2", overdue: map[sequence.State][]sequence.Number{sequence.Replayable: numbers("A", 3)}}
		require.Equal(t, activities.RepoolResult{Numbers: 3, Absent: 1, Dead: 1}, repool(t, b))
		require.Equal(t, []string{"A-2", "A-3"}, b.removed)
	})
	t.Run("deletes expired keys, page by page", func(t *testing.T) {
		b := &beat{keys: 1234}
		value, err := setup(b).ExecuteActivity(activities.PurgeName)
		require.NoError(t, err)
		var result activities.PurgeResult
		require.NoError(t, value.Get(&result))
		require.Equal(t, 1234, result.Keys)
		require.Zero(t, b.keys)
	})
	t.Run("deletes old delays, page by page", func(t *testing.T) {
		b := &beat{delays: 1234}
		value, err := setup(b).ExecuteActivity(activities.PurgeName)
		require.NoError(t, err)
		var result activities.PurgeResult
		require.NoError(t, value.Get(&result))
		require.Equal(t, 1234, result.Delays)
		require.Zero(t, b.delays)
	})
	t.Run("moves no check while the pool is away", func(t *testing.T) {
		b := &beat{away: true, overdue: map[sequence.State][]sequence.Number{sequence.Replayable: numbers("A", 3)}}
		_, err := setup(b).ExecuteActivity(activities.RepoolName)
		require.ErrorContains(t, err, "connection refused")
		require.Len(t, b.overdue[sequence.Replayable], 3)
	})
	t.Run("fails where Temporal refuses", func(t *testing.T) {
		b := &beat{away: true, overdue: map[sequence.State][]sequence.Number{sequence.Allocated: numbers("A", 1)}}
		_, err := setup(b).ExecuteActivity(activities.NudgeName)
		require.ErrorContains(t, err, "wake ORDER~A-1~1")
	})
}
