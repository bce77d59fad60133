package ledger_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/sequence"
)

func TestOutages(t *testing.T) {
	t.Run("that no issuer lived through are written down by the next, once", func(t *testing.T) {
		b := setup(t)
		require.False(t, b.held(t))
		b.exec(t, "UPDATE t_seq_issuer SET lease_ms = 15000, lease_until = UTC_TIMESTAMP(6) - INTERVAL 45 SECOND WHERE id = ?", me)
		require.True(t, b.held(t), "nobody can speak")
		var all sync.WaitGroup
		for _, id := range []string{"issuer-2", "issuer-3"} {
			all.Go(func() { require.NoError(t, b.RegisterIssuer(t.Context(), id, "host", 15*time.Second)) })
		}
		all.Wait()
		require.NoError(t, b.RegisterIssuer(t.Context(), "issuer-2", "host", 15*time.Second), "repeated")
		outages, err := b.Outages(t.Context())
		require.NoError(t, err)
		require.Len(t, outages, 1)
		require.InDelta(t, 60, outages[0].To.Sub(outages[0].From).Seconds(), 30, "from the last renewal on")
		require.True(t, b.held(t), "its deadlines are not moved")
		require.NoError(t, b.OutageShifted(t.Context(), outages[0].ID))
		require.False(t, b.held(t))
		end, err := b.LastOutageEnd(t.Context())
		require.NoError(t, err)
		require.Equal(t, outages[0].To, end)
	})
	t.Run("are none while another issuer is alive, or for less than a lease", func(t *testing.T) {
		b := setup(t)
		b.exec(t, "INSERT INTO t_seq_issuer (id, host, started_time, state, lease_ms, lease_until) SELECT 'old', 'host', started_time, 'LIVE', 15000, UTC_TIMESTAMP(6) - INTERVAL 1 HOUR FROM t_seq_issuer")
		require.NoError(t, b.RegisterIssuer(t.Context(), "issuer-2", "host", 15*time.Second))
		require.NoError(t, b.EndIssuer(t.Context(), "issuer-2"))
		require.NoError(t, b.EndIssuer(t.Context(), me))
		require.True(t, b.held(t), "the last has stopped")
		require.NoError(t, b.RegisterIssuer(t.Context(), "issuer-3", "host", 15*time.Minute))
		require.False(t, b.held(t))
		end, err := b.LastOutageEnd(t.Context())
		require.NoError(t, err)
		require.Zero(t, end)
	})
	t.Run("stop every step that waits for a deadline until it is moved", func(t *testing.T) {
		b := setup(t)
		block := b.allocate(t, "batch-1", 2)
		b.apply(t, sequence.OutcomeRecorded, commands(sequence.Record, block, 1)...)
		b.apply(t, sequence.OutcomeAbandoned, commands(sequence.Abandon, block[1:], 1)...)
		b.exec(t, "UPDATE t_seq_issue_log SET deadline = UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE, abandoned_time = abandoned_time - INTERVAL 1 DAY")
		b.exec(t, "UPDATE t_seq_issuer SET lease_ms = 15000, lease_until = UTC_TIMESTAMP(6) - INTERVAL 1 HOUR WHERE id = ?", me)
		require.NoError(t, b.RegisterIssuer(t.Context(), "issuer-2", "host", time.Hour/2))
		b.apply(t, sequence.OutcomeUnchanged, commands(sequence.Check, block[:1], 1)...)
		b.apply(t, sequence.OutcomeNotDue, commands(sequence.Replay, block[1:], 1)...)

		outages, err := b.Outages(t.Context())
		require.NoError(t, err)
		for _, state := range []sequence.State{sequence.Allocated, sequence.Abandoned} {
			ended, err := b.EndedIn(t.Context(), outages[0], state, 10)
			require.NoError(t, err)
			require.Len(t, ended, 1)
			c := commands(sequence.Shift, ended, 0)
			c[0].Outage = outages[0]
			b.apply(t, sequence.OutcomeShifted, c...)
			ended, err = b.EndedIn(t.Context(), outages[0], state, 10)
			require.NoError(t, err)
			require.Empty(t, ended)
		}
		require.NoError(t, b.OutageShifted(t.Context(), outages[0].ID))
		b.apply(t, sequence.OutcomeUnchanged, commands(sequence.Check, block[:1], 1)...)
		b.apply(t, sequence.OutcomeNotDue, commands(sequence.Replay, block[1:], 1)...)
	})
	t.Run("have a hold beside them that ends by itself", func(t *testing.T) {
		b := setup(t)
		for range 2 {
			require.NoError(t, b.Hold(t.Context(), "CLOCKS", "they differ", time.Hour))
			require.True(t, b.held(t))
		}
		require.NoError(t, b.Hold(t.Context(), "CLOCKS", "they agree", -time.Second))
		require.False(t, b.held(t))
	})
}

func (b bundle) held(t *testing.T) bool {
	t.Helper()
	held, err := b.OnHold(t.Context())
	require.NoError(t, err)
	return held
}
