package sequence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/sequence"
)

func TestNoDeadlineIsActedOnWhileOnHold(t *testing.T) {
	for kind, state := range map[sequence.Kind]sequence.State{sequence.Check: sequence.Allocated, sequence.Replay: sequence.Abandoned, sequence.Take: sequence.Allocated} {
		require.True(t, kind.WaitsForDeadline())
		c := command(kind, 2)
		require.True(t, sequence.Decide(rules, row(state, 2, true), c, now).Changed, "%s otherwise acts", kind)
		c.OnHold = true
		d := sequence.Decide(rules, row(state, 2, true), c, now)
		require.False(t, d.Changed, "%s", kind)
		require.Equal(t, sequence.HoldPause, d.Wait, "asking at once again would be in vain")
	}
	c := command(sequence.Confirm, 2)
	c.OnHold = true
	require.Equal(t, sequence.OutcomeConfirmed, sequence.Decide(rules, row(sequence.Allocated, 2, true), c, now).Outcome)
}

func TestADeadlineThatEndedInAnOutageRunsAgain(t *testing.T) {
	c := command(sequence.Shift, 2)
	c.Outage = sequence.Outage{From: now.Add(-time.Hour), To: now.Add(-time.Second)}
	for name, tc := range map[string]struct {
		deadline, want time.Time
	}{
		"before it began":    {c.Outage.From.Add(-time.Microsecond), c.Outage.From.Add(-time.Microsecond)},
		"as it began":        {c.Outage.From, c.Outage.To.Add(rules.ConfirmTimeout)},
		"as it ended":        {c.Outage.To, c.Outage.To.Add(rules.ConfirmTimeout)},
		"after it had ended": {c.Outage.To.Add(time.Microsecond), c.Outage.To.Add(time.Microsecond)},
	} {
		n := row(sequence.Allocated, 2, true)
		n.Deadline, n.TakenUntil = tc.deadline, now.Add(time.Hour)
		d := sequence.Decide(rules, n, c, now)
		require.Equal(t, tc.want, d.Number.Deadline, name)
		if d.Changed {
			require.Zero(t, d.Number.TakenUntil, "whoever took it waits for the old deadline")
			again := sequence.Decide(rules, d.Number, c, now)
			require.False(t, again.Changed, "once")
			retimed := sequence.Decide(rules, d.Number, command(sequence.Retime, 2), now)
			require.Equal(t, tc.want, retimed.Number.Deadline, "a changed setting does not take the time away")
		}
	}
	n := row(sequence.Abandoned, 2, true)
	n.Deadline = c.Outage.From
	d := sequence.Decide(rules, n, c, now)
	require.Equal(t, c.Outage.To.Add(rules.SafetyWindow), d.Number.Deadline)
	require.Equal(t, sequence.OutcomeNotDue, sequence.Decide(rules, d.Number, command(sequence.Replay, 2), now).Outcome)
}
