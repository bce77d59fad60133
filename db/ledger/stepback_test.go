package ledger_test

import (
	"context"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/db/pool"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// remembering is setup with a memory, which a second process asks, too.
func remembering(t *testing.T) (b bundle, another func() *ledger.Ledger) {
	t.Helper()
	b = setup(t)
	url := testkit.Redis(t)
	another = func() *ledger.Ledger {
		p, err := pool.Open(url)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, p.Close()) })
		l, err := ledger.Open(b.dsn, ledger.WithMemory(p))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, l.Close()) })
		return l
	}
	b.Ledger = another()
	return b, another
}

// watch runs Watch for as long as do does.
func watch(t *testing.T, l *ledger.Ledger, do func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { l.Watch(ctx); close(done) }()
	do()
	cancel()
	<-done
}

func behind(t *testing.T, l *ledger.Ledger, bizType string) int64 {
	t.Helper()
	b, err := l.BizType(t.Context(), bizType)
	require.NoError(t, err)
	return b.SteppedBack
}

// forget is a restore of a dump in which the cursor stood lower.
func (b bundle) forget(t *testing.T, from int64) {
	t.Helper()
	b.exec(t, "DELETE FROM t_seq_issue_log WHERE value > ?", from)
	b.exec(t, "UPDATE t_seq_cursor SET value = ?", from)
}

func TestALedgerThatSteppedBackAllocatesNothing(t *testing.T) {
	t.Run("seen by the process that allocated", func(t *testing.T) {
		b := setup(t)
		b.allocate(t, "seg-1", 10)
		b.forget(t, 4)
		_, err := b.Allocate(t.Context(), "ORDER", me, "seg-2", 5)
		require.ErrorIs(t, err, sequence.ErrSteppedBack)
		require.Equal(t, int64(6), behind(t, b.Ledger, "ORDER"))
		held, err := b.Held(t.Context(), "seg-2")
		require.NoError(t, err)
		require.Empty(t, held)
		untold, err := b.Untold(t.Context(), 5)
		require.NoError(t, err)
		require.Empty(t, untold, "it is told a little later")
		b.exec(t, "UPDATE t_seq_step_back SET found_time = found_time - INTERVAL 1 MINUTE")
		untold, err = b.Untold(t.Context(), 5)
		require.NoError(t, err)
		require.Len(t, untold, 1)
		require.Equal(t, ledger.AlertSteppedBack, untold[0].Kind)
		require.Equal(t, int64(6), untold[0].Count)
		require.Contains(t, untold[0].Samples[0].Reason, "its cursor is at 4, and 10 was seen")
	})
	t.Run("seen by a process that was started since", func(t *testing.T) {
		b, another := remembering(t)
		watch(t, b.Ledger, func() {
			b.allocate(t, "seg-1", 10)
			testkit.Eventually(t, func() bool {
				known, err := another().Known(t.Context(), "ORDER")
				return err == nil && len(known) == 1 && known[0].Value == 10
			}, "the block is not remembered")
		})
		b.forget(t, 0)
		_, err := another().Allocate(t.Context(), "ORDER", me, "seg-2", 5)
		require.ErrorIs(t, err, sequence.ErrSteppedBack)
	})
	t.Run("seen by the tide, where no cursor shows it, and then of every biz type", func(t *testing.T) {
		b := setup(t)
		other := order(t)
		other.Name = "BILL"
		require.NoError(t, b.CreateBizType(t.Context(), other))
		numbers := b.allocate(t, "seg-1", 10)
		b.apply(t, sequence.OutcomeHandedBack, commands(sequence.HandBack, numbers, 0)...)
		require.NoError(t, b.Beat(t.Context()))
		require.NoError(t, b.Beat(t.Context()))
		b.exec(t, "UPDATE t_seq_tide SET height = 1")
		claim := commands(sequence.Claim, numbers[:1], 0)
		_, err := b.Apply(t.Context(), claim)
		require.ErrorIs(t, err, sequence.ErrSteppedBack, "a claim looks too: a free number may have been issued since")
		require.Equal(t, int64(1), behind(t, b.Ledger, "ORDER"))
		require.Equal(t, int64(1), behind(t, b.Ledger, "BILL"))
		require.NoError(t, b.Beat(t.Context()), "it is found once")
	})
	t.Run("and one that stands still is none", func(t *testing.T) {
		b, another := remembering(t)
		b.allocate(t, "seg-1", 10)
		for range 3 {
			require.NoError(t, b.Beat(t.Context()))
			require.NoError(t, another().Beat(t.Context()))
		}
		require.Zero(t, behind(t, b.Ledger, "ORDER"))
	})
}

// A memory that is away keeps nobody from issuing.
func TestAllocatingWithoutTheMemory(t *testing.T) {
	b := setup(t)
	p, err := pool.Open("redis://127.0.0.1:1/0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	l, err := ledger.Open(b.dsn, ledger.WithMemory(p))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	block, err := l.Allocate(t.Context(), "ORDER", me, "seg-1", 10)
	require.NoError(t, err)
	require.Len(t, block, 10)
}

// What the ledger does not know is not said to have never been, as soon as it is found out.
func TestAConfirmThatALedgerHasForgotten(t *testing.T) {
	b := setup(t)
	n := b.issue(t, "seg-1", 1)[0]
	require.NoError(t, b.Beat(t.Context()))
	require.NoError(t, b.Beat(t.Context()))
	b.forget(t, 0)
	b.exec(t, "UPDATE t_seq_tide SET height = 1")
	decisions, err := b.Apply(t.Context(), commands(sequence.Confirm, []sequence.Number{n}, 0))
	require.NoError(t, err)
	require.Equal(t, sequence.OutcomePending, decisions[0].Outcome)
	require.True(t, decisions[0].SteppedBack)
}

// raise calls RaiseNow until it is done. The time for which the biz type must stand still is moved, not waited for.
func (b bundle) raise(t *testing.T, margin int64, limit int) (doubted int, declared int64) {
	t.Helper()
	rules, err := b.BizType(t.Context(), "ORDER")
	require.NoError(t, err)
	cursors, err := b.Cursors(t.Context(), "ORDER")
	require.NoError(t, err)
	known, err := b.Known(t.Context(), "ORDER")
	require.NoError(t, err)
	r := ledger.Raise{BizType: "ORDER", Targets: ledger.PlanRaise(rules, cursors, known, margin), Actor: "mia", Reason: "restored from the backup of noon", Limit: limit}
	for {
		result, err := b.RaiseNow(t.Context(), r)
		require.NoError(t, err)
		doubted, declared = doubted+result.Doubted, declared+result.Declared
		if result.Done {
			return doubted, declared
		}
		if result.Left == 0 {
			require.Positive(t, result.Wait)
			b.exec(t, "UPDATE t_seq_step_back SET found_time = found_time - INTERVAL 1 DAY")
		}
	}
}

func TestRaise(t *testing.T) {
	b := setup(t)
	ctx := t.Context()
	// In the dump: 1 is confirmed, 2 allocated, 3 abandoned, 4 free after a life, 5 in memory, 6 to 8 free of old.
	was := b.issue(t, "seg-1", 4)
	rest := b.allocate(t, "seg-2", 4)
	b.apply(t, sequence.OutcomeConfirmed, commands(sequence.Confirm, was[:1], 0)...)
	b.apply(t, sequence.OutcomeAbandoned, commands(sequence.Abandon, was[2:], 0)...)
	b.passWindow(t)
	b.apply(t, sequence.OutcomeReplayable, commands(sequence.Replay, was[3:], 0)...)
	b.apply(t, sequence.OutcomeHandedBack, commands(sequence.HandBack, rest[1:], 0)...)
	// Afterwards 9 to 1,208 were allocated.
	b.allocate(t, "seg-3", 1_200)
	b.forget(t, 8)
	_, err := b.Allocate(ctx, "ORDER", me, "seg-4", 1)
	require.ErrorIs(t, err, sequence.ErrSteppedBack)

	doubted, declared := b.raise(t, 100, 400)
	require.Equal(t, 7, doubted, "all but the confirmed one")
	require.Equal(t, int64(1_300), declared)
	require.Zero(t, behind(t, b.Ledger, "ORDER"))
	audit, err := b.Audit(ctx, ledger.AuditFilter{}, 0)
	require.NoError(t, err)
	require.Empty(t, audit.Findings)
	counts, err := b.CountDead(ctx, ledger.DeadFilter{Cause: sequence.CauseSteppedBack})
	require.NoError(t, err)
	require.Equal(t, []ledger.DeadCount{{BizType: "ORDER", Cause: sequence.CauseSteppedBack, Count: 1_307}}, counts)

	t.Run("issuing goes on above what may have been issued", func(t *testing.T) {
		require.Equal(t, int64(1_309), b.allocate(t, "seg-5", 1)[0].Value)
	})
	t.Run("whoever was given one confirms it", func(t *testing.T) {
		lost := sequence.Number{BizType: "ORDER", SeqNo: "A-000700", Life: 2}
		b.apply(t, sequence.OutcomeRescued, commands(sequence.Confirm, []sequence.Number{lost}, 0)...)
		b.apply(t, sequence.OutcomeRescued, commands(sequence.Confirm, was[3:], 1)...) // it was issued again since
		b.apply(t, sequence.OutcomeAlreadyConfirmed, commands(sequence.Confirm, was[3:], 1)...)
	})
	t.Run("one that a person sends back is issued under a ticket of its own", func(t *testing.T) {
		one := sequence.Number{BizType: "ORDER", SeqNo: "A-000701", Life: 1}
		n := b.apply(t, sequence.OutcomeRequeued, commands(sequence.Requeue, []sequence.Number{one}, 0)...)[0]
		b.passWindow(t)
		n = b.apply(t, sequence.OutcomeReplayable, commands(sequence.Replay, []sequence.Number{n}, 0)...)[0]
		claim := commands(sequence.Claim, []sequence.Number{n}, 0)
		claim[0].BatchID = "claim-1"
		n = b.apply(t, sequence.OutcomeClaimed, claim...)[0]
		record := commands(sequence.Record, []sequence.Number{n}, 0)
		record[0].Ticket = n.NextTicket()
		n = b.apply(t, sequence.OutcomeRecorded, record...)[0]
		require.Greater(t, n.Life, int32(1_000))
		b.apply(t, sequence.OutcomeConflict, commands(sequence.Confirm, []sequence.Number{one}, 0)...)
	})
	t.Run("the range is declared with who raised it and why", func(t *testing.T) {
		var lo, hi int64
		var actor, reason string
		require.NoError(t, b.DB().QueryRowContext(ctx, "SELECT lo, hi, actor, reason FROM t_seq_raise WHERE finished_time IS NOT NULL").Scan(&lo, &hi, &actor, &reason))
		require.Equal(t, []any{int64(9), int64(1_308), "mia", "restored from the backup of noon"}, []any{lo, hi, actor, reason})
	})
	audit, err = b.Audit(ctx, ledger.AuditFilter{}, 0)
	require.NoError(t, err)
	require.Empty(t, audit.Findings)
}

// Rows above a cursor that somebody set back by hand are left as they are, and doubted.
func TestRaiseOverRowsThatAreThere(t *testing.T) {
	b := setup(t)
	b.issue(t, "seg-1", 5)
	b.exec(t, "UPDATE t_seq_cursor SET value = 2")
	doubted, declared := b.raise(t, 0, 1_000)
	require.Equal(t, 5, doubted)
	require.Zero(t, declared)
	require.Equal(t, int64(6), b.allocate(t, "seg-2", 1)[0].Value)
}

// A range that is too wide for rows is a declared skip.
func TestRaiseOverMoreThanRowsAreFor(t *testing.T) {
	b := setup(t)
	b.exec(t, `UPDATE t_seq_biz_type SET format = 'A-{seq:12}'`)
	b.issue(t, "seg-1", 5)
	_, declared := b.raise(t, ledger.MaxRaiseRows+1, 1_000)
	require.Equal(t, int64(ledger.MaxRaiseRows+1), declared)
	audit, err := b.Audit(t.Context(), ledger.AuditFilter{}, 0)
	require.NoError(t, err)
	require.Empty(t, audit.Findings)
}

func TestPlanRaise(t *testing.T) {
	format, err := sequence.ParseFormat("A{yyyy}-{seq:3}")
	require.NoError(t, err)
	rules := sequence.NewBizType("ORDER", format)
	mark := func(period string, value int64) sequence.Mark {
		return sequence.Mark{BizType: "ORDER", Period: period, Value: value}
	}
	plan := ledger.PlanRaise(rules, []sequence.Mark{mark("2024", 50), mark("2025", 60), mark("2026", 20)},
		[]sequence.Mark{mark("2025", 70), mark("2026", 15), mark("2027", 990)}, 10)
	require.Equal(t, []ledger.RaiseTarget{
		{Period: "2025", Cursor: 60, Known: 70, To: 80},
		{Period: "2026", Cursor: 20, Known: 20, To: 30},  // its last block may not have been told at the turn
		{Period: "2027", Cursor: 0, Known: 990, To: 999}, // the format ends there
	}, plan)
}

// A connection that ends at the COMMIT of a beat rolls its tide back: the next beat makes the same height again.
func TestABeatWhoseCommitIsLostIsNoStepBack(t *testing.T) {
	b := setup(t)
	b.allocate(t, "seg-1", 10)
	config, err := mysql.ParseDSN(b.dsn)
	require.NoError(t, err)
	wire := testkit.Proxy(t, config.Addr)
	config.Addr = wire.Address()
	l, err := ledger.Open(config.FormatDSN())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	for _, lose := range []func(string){wire.LoseRequests, wire.LoseRepliesTo} {
		require.NoError(t, l.Beat(t.Context()))
		lost := wire.Lost()
		lose("COMMIT")
		require.ErrorIs(t, l.Beat(t.Context()), sequence.ErrUnavailable)
		require.Greater(t, wire.Lost(), lost)
		lose("")
		require.NoError(t, l.Beat(t.Context()))
		require.Zero(t, behind(t, b.Ledger, "ORDER"))
	}
}

// The operator stops a raise, and names a higher value; or a process comes late that knows more.
func TestARaiseThatHearsOfMore(t *testing.T) {
	b := setup(t)
	b.allocate(t, "seg-1", 10)
	b.forget(t, 4)
	rules, err := b.BizType(t.Context(), "ORDER")
	require.NoError(t, err)
	raise := func(known int64) ledger.RaiseResult {
		cursors, err := b.Cursors(t.Context(), "ORDER")
		require.NoError(t, err)
		targets := ledger.PlanRaise(rules, cursors, []sequence.Mark{{BizType: "ORDER", Value: known}}, 5)
		result, err := b.RaiseNow(t.Context(), ledger.Raise{BizType: "ORDER", Targets: targets, Actor: "mia", Reason: "a backup", Limit: 10_000})
		require.NoError(t, err)
		b.exec(t, "UPDATE t_seq_step_back SET found_time = found_time - INTERVAL 1 DAY")
		return result
	}
	first := raise(10)
	require.Equal(t, int64(11), first.Declared, "5 to 15")
	require.False(t, first.Done, "processes may hold numbers of before")
	second := raise(500)
	require.Equal(t, int64(485+5), second.Declared, "16 to 505: what is known, and the margin")
	require.True(t, second.Done)
	require.Equal(t, int64(506), b.allocate(t, "seg-2", 1)[0].Value)
}

// What was dead in the backup, because of Redis say, may have been requeued, issued and confirmed since.
func TestRaiseDoubtsDeadLettersToo(t *testing.T) {
	b := setup(t)
	issued := b.issue(t, "seg-1", 2)
	b.apply(t, sequence.OutcomeAbandoned, commands(sequence.Abandon, issued[:1], 0)...)
	bury := commands(sequence.Bury, issued[:1], 0)
	bury[0].Cause, bury[0].Reason = sequence.CausePoolAway, "Redis was away"
	b.apply(t, sequence.OutcomeDead, bury...)
	b.raise(t, 5, 1000)
	counts, err := b.CountDead(t.Context(), ledger.DeadFilter{})
	require.NoError(t, err)
	require.Equal(t, []ledger.DeadCount{{BizType: "ORDER", Cause: sequence.CauseSteppedBack, Count: 7}}, counts, "2 that were issued and the margin: each has one letter")
	require.Equal(t, 1, b.count(t, "SELECT COUNT(*) FROM t_seq_issue_dead WHERE dead_reason LIKE '%noon; before that POOL_AWAY: Redis was away'"))
}
