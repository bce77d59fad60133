package sequence_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/sequence"
)

// A service settles without a reason, and leaves no event for each number; a person gives one, and is kept with it.
func TestWhoSettlesByHandIsKept(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	rules := sequence.NewBizType("ORDER", sequence.Format{})
	n := sequence.Number{BizType: "ORDER", SeqNo: "A-000001", Value: 1, Life: 1, State: sequence.Allocated, IssuedTime: now, Deadline: now.Add(time.Minute)}
	for kind, outcome := range map[sequence.Kind]sequence.Outcome{sequence.Confirm: sequence.OutcomeConfirmed, sequence.Abandon: sequence.OutcomeAbandoned} {
		command := sequence.Command{Kind: kind, Ticket: n.Ticket(), Actor: "mia"}
		d := sequence.Decide(rules, n, command, now)
		require.Equal(t, outcome, d.Outcome)
		require.Nil(t, d.Event)
		command.Reason = "the shop's screen shows it"
		d = sequence.Decide(rules, n, command, now)
		require.Equal(t, outcome, d.Outcome)
		require.Equal(t, &sequence.Event{
			Ticket: n.Ticket(), Actor: "mia", Outcome: outcome, From: sequence.Allocated, To: d.Number.State, Reason: command.Reason,
		}, d.Event)
	}
}
