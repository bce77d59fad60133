package workflows_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/sequence"
	"github.com/lacuna-seq/lacuna/workflows"
)

func TestARecordOnItsWay(t *testing.T) {
	recorded := func(w *world) func() {
		row := w.row
		return w.change(func(n *sequence.Number) { *n = row })
	}

	t.Run("is waited for", func(t *testing.T) {
		w := newWorld(t)
		record := recorded(w)
		held(&w.row)
		w.at(0, w.signal(workflows.SignalConfirm))
		w.at(7*time.Second, record)
		require.Equal(t, sequence.Confirmed, w.live(t).State)
		require.Equal(t, 10*time.Second, w.ran())
	})
	t.Run("that never comes ends the run as not found", func(t *testing.T) {
		w := newWorld(t)
		held(&w.row)
		w.at(0, w.signal(workflows.SignalConfirm))
		require.Equal(t, sequence.OutcomeNotFound, w.live(t).Outcome)
		require.Equal(t, 20*time.Second, w.ran())
		require.Equal(t, sequence.Reserved, w.row.State)
		require.Empty(t, w.shown, "SeqState speaks of this life alone")
	})
	t.Run("is given its time after an outage of the ledger", func(t *testing.T) {
		w := newWorld(t)
		record := recorded(w)
		held(&w.row)
		w.at(0, w.signal(workflows.SignalConfirm))
		w.at(6*time.Second, func() { w.ledgerDown = true })
		w.at(2*time.Minute, func() { w.ledgerDown = false })
		w.at(2*time.Minute+20*time.Second, record)
		require.Equal(t, sequence.Confirmed, w.live(t).State)
	})
	t.Run("is not waited for where there is no row", func(t *testing.T) {
		w := newWorld(t)
		w.missing = true
		w.at(0, w.signal(workflows.SignalConfirm))
		require.Equal(t, sequence.OutcomeNotFound, w.live(t).Outcome)
		require.Zero(t, w.ran())
	})
}

func TestAConfirmThatMeetsAClaim(t *testing.T) {
	t.Run("rescues a number that is handed back", func(t *testing.T) {
		w := newWorld(t)
		claimed(&w.row)
		w.at(0, w.signal(workflows.SignalConfirm))
		w.at(2*time.Second, w.change(handedBack))
		require.Equal(t, sequence.Confirmed, w.live(t).State)
		require.Equal(t, 1, w.removed)
	})
	t.Run("ends as superseded where the number is issued again", func(t *testing.T) {
		w := newWorld(t)
		claimed(&w.row)
		w.at(0, w.signal(workflows.SignalConfirm))
		w.at(2*time.Second, w.change(func(n *sequence.Number) { n.Life, n.State, n.Owner = 2, sequence.Allocated, "" }))
		require.Equal(t, sequence.OutcomeSuperseded, w.live(t).Outcome)
		require.Equal(t, sequence.Allocated, w.row.State)
	})
	t.Run("outlasts a claim that stays undecided", func(t *testing.T) {
		w := newWorld(t)
		claimed(&w.row)
		w.at(0, w.signal(workflows.SignalConfirm))
		w.at(time.Hour, w.change(handedBack))
		require.Equal(t, sequence.Confirmed, w.live(t).State)
		require.Less(t, w.looks, 30, "it asks less and less often")
	})
	t.Run("is kept while a push waits for its next attempt", func(t *testing.T) {
		w := newWorld(t)
		w.poolDown = 100
		w.at(0, w.signal(workflows.SignalAbandon))
		w.at(safetyWindow+40*time.Second, w.change(claimed))
		w.at(safetyWindow+41*time.Second, w.signal(workflows.SignalConfirm))
		w.at(safetyWindow+43*time.Second, w.change(handedBack))
		require.Equal(t, sequence.Confirmed, w.live(t).State)
		require.Len(t, w.pushes, 2)
	})
}
