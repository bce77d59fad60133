package drift_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/drift"
	"github.com/lacuna-seq/lacuna/sequence"
)

// temporal has open runs, of which its list shows those that it knows already.
type temporal struct {
	listed, open map[string]bool
	asked        func(ticket string)
}

func (s *temporal) EachOpen(_ context.Context, bizType string, page func([]sequence.Ticket) error) error {
	for text := range s.listed {
		t, err := sequence.ParseTicket(text)
		if err != nil {
			return err
		}
		if t.BizType != bizType {
			continue
		}
		if err := page([]sequence.Ticket{t}); err != nil {
			return err
		}
	}
	return nil
}

func (s *temporal) Open(_ context.Context, ticket sequence.Ticket) (bool, error) {
	if s.asked != nil {
		s.asked(ticket.String())
	}
	return s.open[ticket.String()], nil
}

// tracked hands numbers of ORDER out whose runs are open and listed.
func (s stores) tracked(t *testing.T, count int) *temporal {
	t.Helper()
	numbers, err := s.Allocate(t.Context(), "ORDER", me, "runs", count)
	require.NoError(t, err)
	runs := &temporal{listed: map[string]bool{}, open: map[string]bool{}}
	var records []sequence.Command
	for _, n := range numbers {
		records = append(records, sequence.Command{Kind: sequence.Record, Ticket: n.NextTicket(), Owner: me, BatchID: "runs"})
		runs.listed[n.NextTicket().String()], runs.open[n.NextTicket().String()] = true, true
	}
	_, err = s.Apply(t.Context(), records)
	require.NoError(t, err)
	return runs
}

func (s stores) settle(t *testing.T, kind sequence.Kind, value int) {
	t.Helper()
	ticket, err := sequence.ParseTicket(orderTicket(value))
	require.NoError(t, err)
	_, err = s.Apply(t.Context(), []sequence.Command{{Kind: kind, Ticket: ticket}})
	require.NoError(t, err)
}

func orderTicket(value int) string { return fmt.Sprintf("ORDER~A-%06d~1", value) }

func TestCheckRuns(t *testing.T) {
	s := setup(t)
	runs := s.tracked(t, 700)
	check := func(bizType string) drift.RunDrift {
		drifts, err := drift.CheckRuns(t.Context(), s, runs, bizType)
		require.NoError(t, err)
		require.Equal(t, "ORDER", drifts[len(drifts)-1].BizType)
		return drifts[len(drifts)-1]
	}
	require.Equal(t, drift.RunDrift{BizType: "ORDER", Tracked: 700, Open: 700}, check("ORDER"))

	delete(runs.listed, orderTicket(5)) // the list runs behind
	require.Zero(t, check("ORDER").Missing)

	for _, value := range []int{1, 600} { // terminated
		delete(runs.listed, orderTicket(value))
		delete(runs.open, orderTicket(value))
	}
	s.settle(t, sequence.Abandon, 600)
	s.settle(t, sequence.Confirm, 2) // its run sleeps on
	d := check("")
	require.Equal(t, drift.Differences{Count: 2, SeqNos: []string{"A-000001", "A-000600"}}, d.Missing)
	require.Equal(t, drift.Differences{Count: 1, SeqNos: []string{"A-000002"}}, d.Settled)
	require.Equal(t, int64(699), d.Tracked)

	runs.asked = func(ticket string) { // somebody settles them while it looks
		if ticket == orderTicket(1) {
			s.settle(t, sequence.Confirm, 1)
		}
	}
	require.Equal(t, []string{"A-000600"}, check("ORDER").Missing.SeqNos)

	_, err := drift.CheckRuns(t.Context(), s, runs, "NONE")
	require.ErrorIs(t, err, sequence.ErrNotFound)
}
