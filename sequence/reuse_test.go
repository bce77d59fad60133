package sequence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/sequence"
)

// daily is a biz type whose rows are of yesterday: now is noon of 1 December 2026.
func daily(t *testing.T, reuse sequence.Reuse) (sequence.BizType, func(sequence.State, int32) sequence.Number) {
	b := rules
	b.Format, b.Reuse = format(t, "{yyyy}{MM}{dd}-{seq:4}"), reuse
	return b, func(s sequence.State, life int32) sequence.Number {
		n := row(s, life, true)
		n.Period = "20261130"
		return n
	}
}

func TestReusePolicy(t *testing.T) {
	for _, tt := range []struct {
		name  string
		reuse sequence.Reuse
		kind  sequence.Kind
		state sequence.State
		life  int32
		want  sequence.Outcome
	}{
		{"any: yesterday's number goes back", sequence.ReuseAny, sequence.Replay, sequence.Abandoned, 2, sequence.OutcomeReplayable},
		{"any: and is issued today", sequence.ReuseAny, sequence.Claim, sequence.Replayable, 2, sequence.OutcomeClaimed},
		{"any: what was not handed out goes back", sequence.ReuseAny, sequence.HandBack, sequence.Reserved, 0, sequence.OutcomeHandedBack},
		{"same period: yesterday's number does not go back", sequence.ReuseSamePeriod, sequence.Replay, sequence.Abandoned, 2, sequence.OutcomeRetired},
		{"same period: nor is it claimed", sequence.ReuseSamePeriod, sequence.Claim, sequence.Replayable, 2, sequence.OutcomeRetired},
		{"same period: nor is one that was never handed out", sequence.ReuseSamePeriod, sequence.Claim, sequence.Replayable, 0, sequence.OutcomeRetired},
		{"same period: what is held does not go back", sequence.ReuseSamePeriod, sequence.HandBack, sequence.Reserved, 0, sequence.OutcomeRetired},
		{"same period: nor does a claim", sequence.ReuseSamePeriod, sequence.HandBack, sequence.Replayed, 2, sequence.OutcomeRetired},
		{"same period: the pool is cleared of it", sequence.ReuseSamePeriod, sequence.Repool, sequence.Replayable, 2, sequence.OutcomeRetired},
		{"never: a number that was handed out does not go back", sequence.ReuseNever, sequence.Replay, sequence.Abandoned, 2, sequence.OutcomeRetired},
		{"never: one that was not does", sequence.ReuseNever, sequence.HandBack, sequence.Reserved, 0, sequence.OutcomeHandedBack},
		{"never: and is claimed", sequence.ReuseNever, sequence.Claim, sequence.Replayable, 0, sequence.OutcomeClaimed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, rowOf := daily(t, tt.reuse)
			d := sequence.Decide(b, rowOf(tt.state, tt.life), command(tt.kind, tt.life), now)
			require.Equal(t, tt.want, d.Outcome)
			if tt.want == sequence.OutcomeRetired {
				require.Equal(t, sequence.Retired, d.Number.State)
				require.Empty(t, d.Number.Owner)
				require.NotEmpty(t, d.Number.Reason)
			}
		})
	}
	t.Run("same period: today's number goes back and is claimed today", func(t *testing.T) {
		b, rowOf := daily(t, sequence.ReuseSamePeriod)
		n := rowOf(sequence.Abandoned, 2)
		n.Period = "20261201"
		d := sequence.Decide(b, n, command(sequence.Replay, 2), now)
		require.Equal(t, sequence.OutcomeReplayable, d.Outcome)
		require.Equal(t, sequence.OutcomeClaimed, sequence.Decide(b, d.Number, command(sequence.Claim, 0), now).Outcome)
	})
	t.Run("same period: a late confirm of a retired number is still a rescue", func(t *testing.T) {
		b, rowOf := daily(t, sequence.ReuseSamePeriod)
		require.Equal(t, sequence.OutcomeRescued, sequence.Decide(b, rowOf(sequence.Retired, 2), command(sequence.Confirm, 2), now).Outcome)
	})
}

func TestANumberWhoseCallerWaitsForTheRecordWasHandedToNobody(t *testing.T) {
	durable := rules
	durable.DurableIssue = true
	t.Run("recovery gives it straight back", func(t *testing.T) {
		for _, state := range []sequence.State{sequence.Reserved, sequence.Replayed} {
			life := int32(0)
			if state == sequence.Replayed {
				life = 2
			}
			n := row(state, life, false)
			n.Durable = true
			d := sequence.Decide(durable, n, command(sequence.Recover, life), now)
			require.Equal(t, sequence.OutcomeHandedBack, d.Outcome)
			require.Equal(t, life, d.Number.Life)
			require.False(t, d.Number.Durable)
		}
	})
	t.Run("what was taken before the rule was set may have been handed out", func(t *testing.T) {
		require.Equal(t, sequence.OutcomeRecovered, sequence.Decide(durable, row(sequence.Reserved, 0, false), command(sequence.Recover, 0), now).Outcome)
	})
	t.Run("a claim follows the rule, and a record ends it", func(t *testing.T) {
		claimed := sequence.Decide(durable, row(sequence.Replayable, 2, true), command(sequence.Claim, 0), now).Number
		require.True(t, claimed.Durable)
		require.False(t, sequence.Decide(durable, claimed, command(sequence.Record, 3), now).Number.Durable)
	})
}

func TestPoolEntry(t *testing.T) {
	b, rowOf := daily(t, sequence.ReuseAny)
	n := rowOf(sequence.Replayable, 2)
	require.Equal(t, sequence.PoolEntry{BizType: "ORDER", SeqNo: "A-000001", Score: 1}, b.PoolEntry(n))
	b.PoolOrder, b.Reuse = sequence.PoolOrderOldest, sequence.ReuseSamePeriod
	require.Equal(t, sequence.PoolEntry{
		BizType: "ORDER", Period: "20261130", SeqNo: "A-000001", Score: float64(n.AbandonedTime.UnixMicro()),
	}, b.PoolEntry(n))
	require.Equal(t, n.AbandonedTime, time.UnixMicro(int64(b.PoolEntry(n).Score)).UTC(), "no microsecond is lost")
	require.Zero(t, b.PoolEntry(rowOf(sequence.Replayable, 0)).Score)
}

func TestBizTypeRulesThatExcludeEachOther(t *testing.T) {
	plain, dated := format(t, "A-{seq:3}"), format(t, "{yyyy}-{seq:3}")
	for field, change := range map[string]func(*sequence.BizType){
		"source": func(b *sequence.BizType) { b.Source, b.Format = sequence.SourceRedis, dated },
		"start":  func(b *sequence.BizType) { b.Start = 1000 },
		"reuse":  func(b *sequence.BizType) { b.Reuse = sequence.ReuseSamePeriod },
		"format": func(b *sequence.BizType) { b.Format = sequence.Format{} },
	} {
		b := sequence.NewBizType("ORDER", plain)
		require.NoError(t, b.Validate())
		change(&b)
		var invalid *sequence.InvalidError
		require.ErrorAs(t, b.Validate(), &invalid)
		require.Equal(t, field, invalid.Field)
	}
	b := sequence.NewBizType("ORDER", dated)
	b.Reuse = sequence.ReuseNever
	require.ErrorContains(t, b.Validate(), "durableIssue")
	b.DurableIssue = true
	require.NoError(t, b.Validate())
}

func TestANumberThatNobodySeesToIsFinalAtItsIssue(t *testing.T) {
	final := sequence.NewBizType("ORDER", format(t, "A-{seq:6}"))
	final.Reuse, final.Track, final.DurableIssue, final.DirectSignals = sequence.ReuseNever, sequence.TrackNone, true, false
	require.NoError(t, final.Validate())
	told := command(sequence.Record, 1)
	told.Final = true
	issued := sequence.Decide(final, row(sequence.Reserved, 0, false), told, now)
	require.Equal(t, sequence.OutcomeRecorded, issued.Outcome)
	n := issued.Number
	require.Equal(t, sequence.Confirmed, n.State)
	require.Equal(t, now, n.ConfirmedTime)
	require.Equal(t, sequence.ReasonFinalAtIssue, n.Reason)
	require.True(t, n.Deadline.IsZero(), "nothing waits for it")
	require.False(t, n.Tracked)
	require.True(t, final.ConfirmBy(now).IsZero())
	_, _, counted := sequence.DelayOf(row(sequence.Reserved, 0, false), issued)
	require.False(t, counted, "it says nothing about how long confirms take")

	t.Run("who settles it all the same is told so", func(t *testing.T) {
		require.Equal(t, sequence.OutcomeAlreadyConfirmed, sequence.Decide(final, n, command(sequence.Confirm, 1), now).Outcome)
		require.Equal(t, sequence.OutcomeAlreadyConfirmed, sequence.Decide(final, n, command(sequence.Abandon, 1), now).Outcome)
		require.Equal(t, sequence.OutcomeAlreadyRecorded, sequence.Decide(final, n, command(sequence.Record, 1), now).Outcome)
	})
	t.Run("a caller who left before the answer gives it up", func(t *testing.T) {
		left := told
		left.CallerGone = true
		require.Equal(t, sequence.Abandoned, sequence.Decide(final, row(sequence.Reserved, 0, false), left, now).Number.State)
	})
	t.Run("either policy alone waits for a confirm", func(t *testing.T) {
		for _, change := range []func(*sequence.BizType){
			func(b *sequence.BizType) { b.Reuse = sequence.ReuseAny },
			func(b *sequence.BizType) { b.Track = sequence.TrackUnsettled },
		} {
			b := final
			change(&b)
			require.NoError(t, b.Validate())
			require.False(t, b.FinalAtIssue())
			d := sequence.Decide(b, row(sequence.Reserved, 0, false), command(sequence.Record, 1), now)
			require.Equal(t, sequence.Allocated, d.Number.State)
			require.Equal(t, b.ConfirmBy(now), d.Number.Deadline)
		}
	})
	t.Run("what its caller was told counts, when the rules have changed by the time that it is written down", func(t *testing.T) {
		waits := final
		waits.Reuse = sequence.ReuseAny
		require.Equal(t, sequence.Confirmed, sequence.Decide(waits, row(sequence.Reserved, 0, false), told, now).Number.State)
		d := sequence.Decide(final, row(sequence.Reserved, 0, false), command(sequence.Record, 1), now)
		require.Equal(t, sequence.Allocated, d.Number.State)
		require.Equal(t, now.Add(final.ConfirmTimeout), d.Number.Deadline)
	})
	t.Run("a timeout that is never over leaves no dead letters", func(t *testing.T) {
		final.OnTimeout = sequence.OnTimeoutDeadLetter
		require.ErrorContains(t, final.Validate(), "onTimeout")
	})
}
