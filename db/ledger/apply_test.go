package ledger_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/sequence"
)

func TestApplyTakesANumberThroughItsLife(t *testing.T) {
	b := setup(t)
	issued := b.issue(t, "batch-1", 1)
	require.Equal(t, "ORDER~A-000001~1", issued[0].Ticket().String())
	require.Equal(t, issued[0].IssuedTime.Add(sequence.DefaultConfirmTimeout), issued[0].Deadline)

	abandoned := b.apply(t, sequence.OutcomeAbandoned, commands(sequence.Abandon, issued, 0)...)
	require.Equal(t, abandoned[0].AbandonedTime.Add(sequence.DefaultSafetyWindow), abandoned[0].Deadline)
	b.apply(t, sequence.OutcomeAlreadyAbandoned, commands(sequence.Abandon, issued, 0)...)
	b.apply(t, sequence.OutcomeNotDue, commands(sequence.Replay, issued, 0)...)

	b.passWindow(t)
	b.apply(t, sequence.OutcomeReplayable, commands(sequence.Replay, issued, 0)...)
	b.apply(t, sequence.OutcomeAlreadyReplayable, commands(sequence.Replay, issued, 0)...)

	claim := commands(sequence.Claim, issued, 0)
	claim[0].BatchID = "claim-1"
	claimed := b.apply(t, sequence.OutcomeClaimed, claim...)
	require.Equal(t, me, claimed[0].Owner)
	b.apply(t, sequence.OutcomePending, commands(sequence.Confirm, issued, 0)...)

	again := b.apply(t, sequence.OutcomeRecorded, commands(sequence.Record, claimed, 1)...)
	require.Equal(t, "ORDER~A-000001~2", again[0].Ticket().String())
	require.Equal(t, int32(1), again[0].Replays)

	b.apply(t, sequence.OutcomeStale, commands(sequence.Abandon, issued, 0)...)
	b.apply(t, sequence.OutcomeConflict, commands(sequence.Confirm, issued, 0)...)
	b.apply(t, sequence.OutcomeConfirmed, commands(sequence.Confirm, again, 0)...)

	n, lives, err := b.Get(t.Context(), "ORDER", "A-000001")
	require.NoError(t, err)
	require.Equal(t, sequence.Confirmed, n.State)
	require.Len(t, lives, 1)
	require.Equal(t, issued[0].Ticket(), lives[0].Ticket)
	require.Equal(t, "batch-1", lives[0].BatchID)
	require.Equal(t, sequence.ReasonAbandoned, lives[0].Reason)
}

func TestApplyAnswersEachCommandInItsPlace(t *testing.T) {
	b := setup(t)
	issued := b.issue(t, "batch-1", 3)
	confirm, abandon := commands(sequence.Confirm, issued, 0), commands(sequence.Abandon, issued, 0)
	unknown := sequence.Command{Kind: sequence.Confirm, Ticket: sequence.Ticket{BizType: "ORDER", SeqNo: "A-999999", Life: 1}}
	foreign := sequence.Command{Kind: sequence.Confirm, Ticket: sequence.Ticket{BizType: "OTHER", SeqNo: "A-000001", Life: 1}}

	decisions, err := b.Apply(t.Context(), []sequence.Command{
		confirm[2], unknown, abandon[0], confirm[0], foreign, confirm[1], abandon[1], confirm[1],
	})
	require.NoError(t, err)
	var outcomes []sequence.Outcome
	for _, d := range decisions {
		outcomes = append(outcomes, d.Outcome)
	}
	require.Equal(t, []sequence.Outcome{
		sequence.OutcomeConfirmed, sequence.OutcomeNotFound, sequence.OutcomeAbandoned, sequence.OutcomeRescued,
		sequence.OutcomeNotFound, sequence.OutcomeConfirmed, sequence.OutcomeAlreadyConfirmed, sequence.OutcomeAlreadyConfirmed,
	}, outcomes)
	require.Equal(t, 3, b.count(t, "SELECT COUNT(*) FROM t_seq_issue_log WHERE status = 2"))
}

func TestApplyTakesMoreThanOneBatch(t *testing.T) {
	b := setup(t)
	issued := b.issue(t, "batch-1", 1234)
	b.apply(t, sequence.OutcomeConfirmed, commands(sequence.Confirm, issued, 0)...)
	require.Equal(t, 1234, b.count(t, "SELECT COUNT(*) FROM t_seq_issue_log WHERE status = 2 AND life = 1 AND version = 2"))
}

// C26: times are kept to the microsecond, and no window ends before its full length from the call.
func TestWindowIsNeverShorterThanFromTheCall(t *testing.T) {
	b := setup(t)
	before := b.apply(t, sequence.OutcomeAbandoned, commands(sequence.Abandon, b.issue(t, "batch-1", 1), 0)...)[0]
	n, _, err := b.Get(t.Context(), "ORDER", before.SeqNo)
	require.NoError(t, err)
	require.Equal(t, before, n, "what was answered is what is stored, to the microsecond")
	require.Zero(t, b.count(t, "SELECT COUNT(*) FROM t_seq_issue_log WHERE deadline < abandoned_time + INTERVAL 120 SECOND"))
}

func TestClaims(t *testing.T) {
	pooled := func(t *testing.T, count int) (bundle, []sequence.Command) {
		b := setup(t)
		block := b.allocate(t, "batch-1", count)
		b.apply(t, sequence.OutcomeHandedBack, commands(sequence.HandBack, block, 0)...)
		claims := commands(sequence.Claim, block, 0)
		for i := range claims {
			claims[i].BatchID = "claim-1"
		}
		return b, claims
	}
	t.Run("of the same numbers have one winner each", func(t *testing.T) {
		b, claims := pooled(t, 50)
		won := make([]int, 4)
		var all sync.WaitGroup
		for i := range won {
			mine := slices.Clone(claims)
			rand.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
			all.Go(func() {
				for chunk := range slices.Chunk(mine, 7) {
					decisions, err := b.Apply(t.Context(), chunk)
					require.NoError(t, err)
					for _, d := range decisions {
						if d.Outcome == sequence.OutcomeClaimed {
							won[i]++
						}
					}
				}
			})
		}
		all.Wait()
		require.Equal(t, b.count(t, "SELECT COUNT(*) FROM t_seq_issue_log WHERE status = 5"), won[0]+won[1]+won[2]+won[3])
		require.Equal(t, 50, b.count(t, "SELECT COUNT(*) FROM t_seq_issue_log WHERE status IN (4, 5)"))
	})
	t.Run("pass over a row that somebody works on", func(t *testing.T) {
		b, claims := pooled(t, 2)
		release := b.holdRow(t, sequence.Number{BizType: "ORDER", SeqNo: claims[0].Ticket.SeqNo})
		decisions, err := b.Apply(t.Context(), claims)
		release()
		require.NoError(t, err)
		require.Equal(t, sequence.OutcomeNotFound, decisions[0].Outcome)
		require.Equal(t, sequence.OutcomeClaimed, decisions[1].Outcome)
	})
	t.Run("wait for a window that was raised", func(t *testing.T) {
		b := setup(t)
		abandoned := b.apply(t, sequence.OutcomeAbandoned, commands(sequence.Abandon, b.issue(t, "batch-1", 1), 0)...)
		b.passWindow(t)
		b.apply(t, sequence.OutcomeReplayable, commands(sequence.Replay, abandoned, 0)...)
		b.exec(t, "UPDATE t_seq_biz_type SET safety_window_ms = 2 * 86400000")
		b.apply(t, sequence.OutcomeNotDue, commands(sequence.Claim, abandoned, 0)...)
		b.exec(t, "UPDATE t_seq_biz_type SET safety_window_ms = 1000")
		b.apply(t, sequence.OutcomeClaimed, commands(sequence.Claim, abandoned, 0)...)
	})
}

func TestConflictsAreWrittenDownOnce(t *testing.T) {
	b := setup(t)
	confirm := commands(sequence.Confirm, b.issue(t, "batch-1", 1), 0)
	confirm[0].BizKey = "o-1"
	b.apply(t, sequence.OutcomeConfirmed, confirm...)
	confirm[0].BizKey = "o-2"
	for range 3 {
		b.apply(t, sequence.OutcomeConflict, confirm...)
	}
	require.Equal(t, 1, b.count(t, `SELECT COUNT(*) FROM t_seq_conflict WHERE asked_life = 1 AND asked_biz_key = 'o-2'
		AND current_life = 1 AND current_biz_key = 'o-1' AND current_status = 2`))
	require.Equal(t, 1, b.count(t, "SELECT COUNT(*) FROM t_seq_conflict"))
}

// Bulk commands in opposite orders lock rows in one order (C45).
func TestOppositeOrdersDoNotDeadlock(t *testing.T) {
	b := setup(t)
	issued := b.issue(t, "batch-1", 200)
	confirm, abandon := commands(sequence.Confirm, issued, 0), commands(sequence.Abandon, issued, 0)
	slices.Reverse(abandon)
	for range 5 {
		var both sync.WaitGroup
		for _, c := range [][]sequence.Command{confirm, abandon} {
			both.Go(func() {
				_, err := b.Apply(t.Context(), c)
				require.NoError(t, err)
			})
		}
		both.Wait()
	}
	require.Equal(t, 200, b.count(t, "SELECT COUNT(*) FROM t_seq_issue_log WHERE status = 2"))
}

func TestALockedRowDelaysOnlyItsOwnCommands(t *testing.T) {
	b := setup(t)
	issued := b.issue(t, "batch-1", 4)
	release := b.holdRow(t, issued[1])
	defer release()
	_, err := b.Apply(t.Context(), commands(sequence.Confirm, issued, 0))
	require.ErrorIs(t, err, sequence.ErrUnavailable)
	require.Equal(t, 1, b.count(t, "SELECT COUNT(*) FROM t_seq_issue_log WHERE status = 2"), "the half before the locked row is done")
}

// C24: a guard that misses is no success. Of two that replay one row, one does, and the other is told.
func TestConcurrentReplaysOfOneRow(t *testing.T) {
	b := setup(t)
	abandoned := b.apply(t, sequence.OutcomeAbandoned, commands(sequence.Abandon, b.issue(t, "batch-1", 100), 0)...)
	b.passWindow(t)
	first := make([]int, 2)
	var both sync.WaitGroup
	for i := range first {
		both.Go(func() {
			for _, c := range commands(sequence.Replay, abandoned, 0) {
				decisions, err := b.Apply(t.Context(), []sequence.Command{c})
				require.NoError(t, err)
				if decisions[0].Outcome == sequence.OutcomeReplayable {
					first[i]++
				}
			}
		})
	}
	both.Wait()
	require.Equal(t, 100, first[0]+first[1])
}

func TestABizTypeThatIsGoneStopsItsNumbers(t *testing.T) {
	b := setup(t)
	issued := b.issue(t, "batch-1", 1)
	b.exec(t, "DELETE FROM t_seq_biz_type")
	_, err := b.Apply(t.Context(), commands(sequence.Abandon, issued, 0))
	require.ErrorContains(t, err, "restore its biz type")
}

func TestTheTableRefusesRowsThatCannotBe(t *testing.T) {
	b := setup(t)
	b.issue(t, "batch-1", 1)
	for _, set := range []string{
		"status = 8", "status = 0", "status = 2", "owner = 'x'", "deadline = NULL", "life = 0", "issued_time = NULL",
	} {
		_, err := b.DB().ExecContext(t.Context(), "UPDATE t_seq_issue_log SET "+set)
		require.Error(t, err, set)
	}
}

func TestApplyEndsWithItsContext(t *testing.T) {
	b := setup(t)
	issued := b.issue(t, "batch-1", 1)
	release := b.holdRow(t, issued[0])
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := b.Apply(ctx, commands(sequence.Confirm, issued, 0))
	require.ErrorIs(t, err, sequence.ErrUnavailable)
	release()
	b.apply(t, sequence.OutcomeConfirmed, commands(sequence.Confirm, issued, 0)...)
}
