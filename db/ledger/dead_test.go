package ledger_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/sequence"
)

// bury makes dead letters of numbers that were abandoned and whose window has passed.
func (b bundle) bury(t *testing.T, cause sequence.DeadCause, numbers []sequence.Number) []sequence.Number {
	t.Helper()
	b.apply(t, sequence.OutcomeAbandoned, commands(sequence.Abandon, numbers, 0)...)
	b.passWindow(t)
	bury := commands(sequence.Bury, numbers, 0)
	for i := range bury {
		bury[i].Cause, bury[i].Reason, bury[i].Retries = cause, "dial tcp: connection refused", 3
	}
	return b.apply(t, sequence.OutcomeDead, bury...)
}

func acts(kind sequence.Kind, numbers []sequence.Number) []sequence.Command {
	all := commands(kind, numbers, 0)
	for i := range all {
		all[i].Actor, all[i].Reason = "mia", "Redis is back"
	}
	return all
}

func TestDeadLetters(t *testing.T) {
	b := setup(t)
	numbers := b.issue(t, "batch-1", 10)
	dead := b.bury(t, sequence.CausePoolAway, numbers)
	b.apply(t, sequence.OutcomeAlreadyDead, commands(sequence.Bury, dead, 0)...)

	letters, err := b.DeadLetters(t.Context(), ledger.DeadFilter{BizType: "ORDER", Cause: sequence.CausePoolAway}, 0, 100)
	require.NoError(t, err)
	require.Len(t, letters, 10, "one for each, however often it is buried")
	first := letters[0]
	require.Equal(t, numbers[0].Ticket(), first.Number.Ticket())
	require.Equal(t, sequence.Abandoned, first.Number.State, "the state that it died in")
	require.Equal(t, int32(3), first.Number.RetryTimes)
	require.Equal(t, "dial tcp: connection refused", first.Reason)
	require.Equal(t, numbers[0].BatchID, first.Number.BatchID)
	require.WithinDuration(t, time.Now(), first.Time, time.Minute)

	rest, err := b.DeadLetters(t.Context(), ledger.DeadFilter{}, letters[6].ID, 2)
	require.NoError(t, err)
	require.Equal(t, letters[7:9], rest)
	one, err := b.DeadLetters(t.Context(), ledger.DeadFilter{Tickets: []sequence.Ticket{dead[3].Ticket()}}, 0, 100)
	require.NoError(t, err)
	require.Equal(t, letters[3:4], one)
	none, err := b.DeadLetters(t.Context(), ledger.DeadFilter{Cause: sequence.CauseCancelled}, 0, 100)
	require.NoError(t, err)
	require.Empty(t, none)

	// Each way out of the state is the letter's resolution, and an event.
	requeued := b.apply(t, sequence.OutcomeRequeued, acts(sequence.Requeue, dead[:4])...)
	b.apply(t, sequence.OutcomeNotDead, acts(sequence.Requeue, dead[:4])...)
	b.apply(t, sequence.OutcomeWrittenOff, acts(sequence.WriteOff, dead[4:6])...)
	b.apply(t, sequence.OutcomeRescued, commands(sequence.Confirm, dead[6:7], 0)...)
	for resolution, want := range map[string]int{"REQUEUED": 4, "WRITTEN_OFF": 2, "RESCUED": 1, "": 3} {
		require.Equal(t, want, b.count(t, "SELECT COUNT(*) FROM t_seq_issue_dead WHERE resolution = ?", resolution), resolution)
	}
	require.Equal(t, 6, b.count(t, "SELECT COUNT(*) FROM t_seq_issue_dead WHERE handled_by = 'mia' AND handled_time IS NOT NULL"))
	require.Equal(t, 1, b.count(t, "SELECT COUNT(*) FROM t_seq_issue_dead WHERE handled_by = 'caller'"))
	require.Equal(t, 4, b.count(t, "SELECT COUNT(*) FROM t_seq_issue_log WHERE status = 3 AND deadline <= UTC_TIMESTAMP(6)"), "straight to replay")

	// A number that dies again is a letter again.
	again := commands(sequence.Bury, requeued[:1], 0)
	again[0].Cause, again[0].Reason = sequence.CauseProbeAway, "no answer"
	b.apply(t, sequence.OutcomeDead, again...)
	require.Equal(t, 2, b.count(t, "SELECT COUNT(*) FROM t_seq_issue_dead WHERE seq_no = ?", requeued[0].SeqNo))

	events, err := b.Events(t.Context(), "ORDER", requeued[0].SeqNo)
	require.NoError(t, err)
	var told []string
	for _, e := range events {
		told = append(told, e.Actor+" "+e.Outcome.String()+" "+e.From.String()+">"+e.To.String()+" "+e.Reason)
	}
	require.Equal(t, []string{
		"lacuna DEAD ABANDONED>DEAD dial tcp: connection refused",
		"mia REQUEUED DEAD>ABANDONED Redis is back",
		"lacuna DEAD ABANDONED>DEAD no answer",
	}, told)
}

// Joined callers may ask for several steps of one number in one transaction.
func TestDeadLettersOfOneBatch(t *testing.T) {
	b := setup(t)
	dead := b.bury(t, sequence.CausePoolAway, b.issue(t, "batch-1", 1))
	bury := commands(sequence.Bury, dead, 0)[0]
	bury.Cause, bury.Reason = sequence.CausePoolAway, "again"
	requeue := acts(sequence.Requeue, dead)[0]
	decisions, err := b.Apply(t.Context(), []sequence.Command{requeue, bury, requeue, bury})
	require.NoError(t, err)
	require.Equal(t, sequence.Dead, decisions[3].Number.State)
	require.Equal(t, 2, b.count(t, "SELECT COUNT(*) FROM t_seq_issue_dead WHERE resolution = 'REQUEUED' AND handled_by = 'mia'"))
	require.Equal(t, 1, b.count(t, "SELECT COUNT(*) FROM t_seq_issue_dead WHERE resolution = ''"), "a dead number has one open letter")
	b.apply(t, sequence.OutcomeRequeued, requeue)
	require.Zero(t, b.count(t, "SELECT COUNT(*) FROM t_seq_issue_dead WHERE resolution = ''"))
}

func TestTakenNumbersAreNotOverdue(t *testing.T) {
	b := setup(t)
	numbers := b.issue(t, "batch-1", 3)
	b.apply(t, sequence.OutcomeAbandoned, commands(sequence.Abandon, numbers, 0)...)
	b.passWindow(t)
	take := commands(sequence.Take, numbers[:2], 0)
	for i := range take {
		take[i].For, take[i].Taker = time.Hour, "compensation-1"
	}
	b.apply(t, sequence.OutcomeTaken, take...)
	overdue := func() []sequence.Number {
		all, err := b.Overdue(t.Context(), sequence.Abandoned, sequence.Number{}, 10)
		require.NoError(t, err)
		return all
	}
	require.Len(t, overdue(), 1)
	taken, err := b.OverdueTaken(t.Context(), sequence.Abandoned, sequence.Number{}, 10)
	require.NoError(t, err)
	require.Len(t, taken, 2)
	require.Equal(t, "compensation-1", taken[0].TakenBy)
	rest, err := b.OverdueTaken(t.Context(), sequence.Abandoned, taken[0], 10)
	require.NoError(t, err)
	require.Equal(t, taken[1:], rest)
	release := commands(sequence.Release, taken[:1], 0)
	release[0].Taker = "compensation-1"
	b.apply(t, sequence.OutcomeReleased, release...)
	require.Len(t, overdue(), 2)
	b.exec(t, "UPDATE t_seq_issue_log SET taken_until = taken_until - INTERVAL 1 DAY")
	require.Len(t, overdue(), 3, "whoever took them has gone")
}

func TestRetiming(t *testing.T) {
	b := setup(t)
	numbers := b.issue(t, "batch-1", 4)
	b.apply(t, sequence.OutcomeAbandoned, commands(sequence.Abandon, numbers[:2], 0)...)
	due := func() []sequence.BizType {
		types, err := b.RetimeDue(t.Context())
		require.NoError(t, err)
		return types
	}
	require.Empty(t, due())
	_, err := b.ChangeBizType(t.Context(), "ORDER", 1, func(r *sequence.BizType) error { r.MaxReplays = 5; return nil })
	require.NoError(t, err)
	require.Empty(t, due(), "nothing that deadlines follow from")
	changed, err := b.ChangeBizType(t.Context(), "ORDER", 2, func(r *sequence.BizType) error { r.SafetyWindow = 5 * time.Second; return nil })
	require.NoError(t, err)
	require.Equal(t, []sequence.BizType{changed}, due())

	waiting, err := b.Waiting(t.Context(), "ORDER", sequence.Abandoned, sequence.Number{}, 1)
	require.NoError(t, err)
	more, err := b.Waiting(t.Context(), "ORDER", sequence.Abandoned, waiting[0], 10)
	require.NoError(t, err)
	require.Len(t, append(waiting, more...), 2)
	for _, n := range b.apply(t, sequence.OutcomeRetimed, commands(sequence.Retime, append(waiting, more...), 0)...) {
		require.Equal(t, n.AbandonedTime.Add(5*time.Second), n.Deadline)
	}
	require.NoError(t, b.Retimed(t.Context(), "ORDER", 2))
	require.NotEmpty(t, due(), "an older revision does not undo a later change")
	require.NoError(t, b.Retimed(t.Context(), "ORDER", 3))
	require.Empty(t, due())
}

func TestTheRulesOfCompensationAreKept(t *testing.T) {
	b := setup(t)
	want, err := b.ChangeBizType(t.Context(), "ORDER", 1, func(r *sequence.BizType) error {
		r.ExtendLimit, r.DirectSignals = 0, false
		r.DurableIssue, r.OnTimeout = true, sequence.OnTimeoutDeadLetter
		r.RetryDelays = []time.Duration{time.Second, time.Minute}
		r.Probe = sequence.Probe{DSN: "shop", Query: "SELECT 1 FROM orders WHERE number = ?", Timeout: time.Second}
		return nil
	})
	require.NoError(t, err)
	got, err := b.BizType(t.Context(), "ORDER")
	require.NoError(t, err)
	require.Equal(t, want, got)
}
