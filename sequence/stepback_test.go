package sequence_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/sequence"
)

// doubted is a number that was open when the ledger stepped back.
func doubted(t *testing.T, state sequence.State, life int32) sequence.Number {
	t.Helper()
	c := command(sequence.Doubt, 0)
	c.Cause, c.Reason = sequence.CauseSteppedBack, "the ledger stepped back"
	d := sequence.Decide(rules, row(state, life, false), c, now)
	require.Equal(t, sequence.OutcomeDead, d.Outcome)
	require.Equal(t, sequence.CauseSteppedBack, d.Cause)
	require.Equal(t, sequence.Dead, d.Number.State)
	require.Empty(t, d.Number.Owner)
	return d.Number
}

func asks(kind sequence.Kind, n sequence.Number, life int32) sequence.Command {
	return sequence.Command{Kind: kind, Ticket: sequence.Ticket{BizType: n.BizType, SeqNo: n.SeqNo, Life: life}}
}

func TestALifeThatTheLedgerHasForgotten(t *testing.T) {
	t.Run("may be confirmed, and is the number's life then", func(t *testing.T) {
		d := sequence.Decide(rules, doubted(t, sequence.Replayable, 2), asks(sequence.Confirm, row(sequence.Replayable, 2, false), 3), now)
		require.Equal(t, sequence.OutcomeRescued, d.Outcome)
		require.Equal(t, int32(3), d.Number.Life)
		require.Equal(t, now, d.Number.IssuedTime, "when it began is not known")
		require.True(t, d.Number.AbandonedTime.IsZero(), "that was the life before")
		_, _, counted := sequence.DelayOf(row(sequence.Dead, 2, false), d)
		require.False(t, counted, "it says nothing about how long confirms take")
		again := sequence.Decide(rules, d.Number, asks(sequence.Confirm, d.Number, 3), now)
		require.Equal(t, sequence.OutcomeAlreadyConfirmed, again.Outcome)
		for _, other := range []int32{2, 4} {
			meets := sequence.Decide(rules, d.Number, asks(sequence.Confirm, d.Number, other), now)
			require.Equal(t, sequence.OutcomeConflict, meets.Outcome, "life %d", other)
		}
	})
	t.Run("may be abandoned, which changes nothing", func(t *testing.T) {
		n := doubted(t, sequence.Allocated, 2)
		d := sequence.Decide(rules, n, asks(sequence.Abandon, n, 3), now)
		require.Equal(t, sequence.OutcomeAlreadyAbandoned, d.Outcome)
		require.False(t, d.Changed)
	})
	t.Run("of a number that was never handed out is its first", func(t *testing.T) {
		n := doubted(t, sequence.Reserved, 0)
		require.Equal(t, int32(1), n.Life)
		require.Equal(t, now, n.IssuedTime)
		d := sequence.Decide(rules, n, asks(sequence.Confirm, n, 1), now)
		require.Equal(t, sequence.OutcomeRescued, d.Outcome)
	})
	t.Run("must be named", func(t *testing.T) {
		n := doubted(t, sequence.Reserved, 0)
		require.Equal(t, sequence.OutcomeTicketRequired, sequence.Decide(rules, n, asks(sequence.Confirm, n, 0), now).Outcome)
	})
}

func TestADoubtedNumberIsIssuedAgainUnderATicketThatNobodyWasGiven(t *testing.T) {
	n := doubted(t, sequence.Replayable, 2)
	next := n.NextLife()
	require.Greater(t, next, int32(1_000))
	n.State, n.Owner, n.BatchID = sequence.Replayed, "issuer-1", "claim-1"
	require.Equal(t, sequence.OutcomePending, sequence.Decide(rules, n, asks(sequence.Confirm, n, 3), now).Outcome, "the claim is not decided")
	record := asks(sequence.Record, n, next)
	record.Owner, record.BatchID = "issuer-1", "claim-1"
	d := sequence.Decide(rules, n, record, now)
	require.Equal(t, sequence.OutcomeRecorded, d.Outcome)
	require.Equal(t, next, d.Number.Life)
	require.Equal(t, next+1, d.Number.NextLife(), "from here on the ledger knows its lives")
	require.Equal(t, sequence.OutcomeConflict, sequence.Decide(rules, d.Number, asks(sequence.Confirm, n, 3), now).Outcome)
}

// One backup is restored twice. What was issued from it in between is forgotten, too.
func TestABackupThatIsRestoredAgainGivesOtherTickets(t *testing.T) {
	sentBack := func(at time.Time) sequence.Number {
		dead := doubted(t, sequence.Replayable, 2)
		d := sequence.Decide(rules, dead, asks(sequence.Requeue, dead, 2), at)
		require.Equal(t, sequence.OutcomeRequeued, d.Outcome)
		require.Equal(t, at.Add(rules.SafetyWindow), d.Number.Deadline, "whoever was given it last may still say so")
		return d.Number
	}
	first, second := sentBack(now), sentBack(now.Add(time.Minute))
	require.Greater(t, second.NextLife(), first.NextLife())
	require.Greater(t, sentBack(time.Date(2024, 1, 1, 0, 0, 1, 0, time.UTC)).NextLife(), int32(1_000), "a clock that is wrong")
	require.Equal(t, int32(math.MaxInt32), sentBack(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)).NextLife())
}

// Nothing that issues a number or brings one back happens while its biz type is stopped.
func TestABizTypeThatSteppedBackStandsStill(t *testing.T) {
	stopped := rules
	stopped.SteppedBack = 1
	for _, c := range []struct {
		kind    sequence.Kind
		state   sequence.State
		outcome sequence.Outcome
	}{
		{sequence.Claim, sequence.Replayable, sequence.OutcomeSuperseded},
		{sequence.Check, sequence.Allocated, sequence.OutcomeUnchanged},
		{sequence.Replay, sequence.Abandoned, sequence.OutcomeNotDue},
		{sequence.Take, sequence.Abandoned, sequence.OutcomeSuperseded},
		{sequence.Requeue, sequence.Dead, sequence.OutcomeNotDue},
	} {
		d := sequence.Decide(stopped, row(c.state, 2, true), command(c.kind, 2), now)
		require.Equal(t, c.outcome, d.Outcome, "%s", c.kind)
		require.False(t, d.Changed, "%s", c.kind)
	}
	t.Run("and nobody is told that a life never was", func(t *testing.T) {
		n := row(sequence.Abandoned, 2, false)
		confirm := asks(sequence.Confirm, n, 3)
		for _, d := range []sequence.Decision{sequence.Decide(stopped, n, confirm, now), sequence.Unknown(stopped, confirm)} {
			require.Equal(t, sequence.OutcomePending, d.Outcome)
			require.ErrorIs(t, sequence.Answer(confirm, d), sequence.ErrSteppedBack)
			require.ErrorIs(t, sequence.Answer(confirm, d), sequence.ErrUnavailable)
		}
		require.Equal(t, sequence.OutcomeNotFound, sequence.Unknown(rules, confirm).Outcome)
	})
	t.Run("but a confirm is heard", func(t *testing.T) {
		n := row(sequence.Abandoned, 2, false)
		require.Equal(t, sequence.OutcomeRescued, sequence.Decide(stopped, n, asks(sequence.Confirm, n, 2), now).Outcome)
	})
}
