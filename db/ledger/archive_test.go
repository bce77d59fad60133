package ledger_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// archive lets INV archive what was sealed, and moves all of it.
func (b bundle) archive(t *testing.T) (moved int) {
	t.Helper()
	b.exec(t, `UPDATE t_seq_biz_type SET archive_after_ms = 1 WHERE name IN ('INV', 'ORDER')`)
	defer b.exec(t, `UPDATE t_seq_biz_type SET archive_after_ms = 0`)
	testkit.Eventually(t, func() bool {
		n, _, err := b.ArchiveNext(t.Context())
		require.NoError(t, err)
		moved += n
		return b.count(t, `SELECT COUNT(*) FROM t_seq_seal_head h WHERE EXISTS
			(SELECT 1 FROM t_seq_seal s WHERE s.biz_type = h.biz_type AND s.kind = 'SEAL' AND s.number > h.archived)`) == 0
	}, "the archive has not come to the end")
	return moved
}

func TestTheArchiveHasTheColumnsOfTheLog(t *testing.T) {
	b := setup(t)
	const columns = `SELECT COUNT(*) FROM information_schema.columns a WHERE a.table_schema = DATABASE() AND a.table_name = ?`
	log := b.count(t, columns, "t_seq_issue_log")
	require.Equal(t, log+1, b.count(t, columns, "t_seq_archive"), "add a column of the log to the archive as well")
	require.Equal(t, log, b.count(t, `SELECT COUNT(*) FROM information_schema.columns a JOIN information_schema.columns n
		ON n.table_schema = a.table_schema AND n.column_name = a.column_name AND n.column_type = a.column_type AND n.collation_name <=> a.collation_name
		WHERE a.table_schema = DATABASE() AND a.table_name = 't_seq_archive' AND n.table_name = 't_seq_issue_log'`))
}

func TestNothingIsArchivedBeforeItsTime(t *testing.T) {
	b := setup(t)
	b.daily(t)
	b.past(t, 3, 3, 1, false)
	require.Equal(t, 1, b.seal(t))
	for _, after := range []time.Duration{0, time.Hour} {
		b.exec(t, `UPDATE t_seq_biz_type SET archive_after_ms = ?`, after.Milliseconds())
		moved, ok, err := b.ArchiveNext(t.Context())
		require.NoError(t, err)
		require.False(t, ok)
		require.Zero(t, moved)
	}
	b.past(t, 2, 3, 0, true)
	require.Zero(t, b.seal(t))
	require.Equal(t, 4, b.archive(t), "what is not sealed stays")
	require.Equal(t, 4, b.count(t, `SELECT COUNT(*) FROM t_seq_issue_log`))
}

// An archived number answers as if it still stood where it was.
func TestAnArchivedNumberAnswers(t *testing.T) {
	b := setup(t)
	b.daily(t)
	numbers := b.past(t, 3, 2, 3, false)
	require.Equal(t, 1, b.seal(t))
	before, _, err := b.Get(t.Context(), "INV", numbers[2].SeqNo)
	require.NoError(t, err)
	audited := b.clean(t)
	require.Equal(t, 5, b.archive(t))
	require.Zero(t, b.count(t, `SELECT COUNT(*) FROM t_seq_issue_log`))
	require.Equal(t, 5, b.count(t, `SELECT COUNT(*) FROM t_seq_archive WHERE archived_time IS NOT NULL`))

	after, _, err := b.Get(t.Context(), "INV", numbers[2].SeqNo)
	require.NoError(t, err)
	require.Equal(t, before, after, "the whole row has moved")
	again := b.clean(t)
	again.Time = audited.Time
	require.Equal(t, audited, again, "sums and gaps are the same")
	require.Len(t, again.Gaps, 3)
	gaps, _, _, err := b.Gaps(t.Context(), ledger.AuditFilter{}, audited.Gaps[0].Position(), 10)
	require.NoError(t, err)
	require.Equal(t, audited.Gaps[1:], gaps)
	b.verify(t, "INV")

	b.apply(t, sequence.OutcomeAlreadyConfirmed, commands(sequence.Confirm, numbers[:1], 0)...)
	b.apply(t, sequence.OutcomeAlreadyConfirmed, commands(sequence.Abandon, numbers[:1], 0)...)
	b.apply(t, sequence.OutcomeAlreadyAbandoned, commands(sequence.Abandon, numbers[2:3], 0)...)
	b.apply(t, sequence.OutcomeNotFound, commands(sequence.Confirm, numbers[2:3], 1)...)
	rescued := b.apply(t, sequence.OutcomeRescued, commands(sequence.Confirm, numbers[2:4], 0)...)
	b.apply(t, sequence.OutcomeAlreadyConfirmed, commands(sequence.Confirm, numbers[2:4], 0)...)
	require.Equal(t, sequence.Confirmed, rescued[0].State)
	after, _, err = b.Get(t.Context(), "INV", numbers[2].SeqNo)
	require.NoError(t, err)
	require.Equal(t, rescued[0], after)
	require.Zero(t, b.count(t, `SELECT COUNT(*) FROM t_seq_issue_log`), "it stays archived")
	require.Equal(t, int64(2), b.verify(t, "INV").Amendments)
	events, err := b.Events(t.Context(), "INV", numbers[2].SeqNo)
	require.NoError(t, err)
	require.Equal(t, sequence.OutcomeRescued, events[len(events)-1].Outcome)
	require.Len(t, b.clean(t).Gaps, 1)

	// One batch of numbers here and there.
	here := b.issue(t, "batch-here", 2)
	mixed := append(commands(sequence.Confirm, here[:1], 0), commands(sequence.Confirm, numbers[4:], 0)...)
	mixed = append(mixed, commands(sequence.Confirm, here[1:], 0)...)
	decisions, err := b.Apply(t.Context(), mixed)
	require.NoError(t, err)
	require.Equal(t, sequence.OutcomeConfirmed, decisions[0].Outcome)
	require.Equal(t, sequence.OutcomeRescued, decisions[1].Outcome)
	require.Equal(t, sequence.OutcomeConfirmed, decisions[2].Outcome)
	require.Equal(t, int64(3), b.verify(t, "INV").Amendments)
}

func TestTheArchiveMovesManyAcrossBlocks(t *testing.T) {
	b := setup(t)
	b.allocate(t, "batch-1", 10_000)
	b.allocate(t, "batch-2", 10_000)
	b.confirmAll(t)
	require.Equal(t, 2, b.seal(t))
	b.exec(t, `UPDATE t_seq_biz_type SET archive_after_ms = 1`)
	testkit.Eventually(t, func() bool {
		begun := time.Now()
		moved, ok, err := b.ArchiveNext(t.Context())
		require.NoError(t, err)
		if ok {
			require.Equal(t, 10_000, moved, "one block")
			t.Logf("10,000 numbers were archived in %s", time.Since(begun))
		}
		return ok
	}, "the first block was not archived")
	a := b.clean(t) // a chunk of the audit lies in both tables
	require.Equal(t, int64(20_000), a.Reports[0].States[sequence.Confirmed])
	b.archive(t)
	b.clean(t)
	begun := time.Now()
	require.Equal(t, int64(20_000), b.verify(t, "ORDER").Values)
	t.Logf("20,000 numbers were verified in %s", time.Since(begun))
}

func TestARowInBothTablesIsFound(t *testing.T) {
	b := setup(t)
	b.daily(t)
	b.past(t, 3, 3, 2, false)
	require.Equal(t, 1, b.seal(t))
	b.exec(t, `CREATE TABLE kept AS SELECT * FROM t_seq_issue_log WHERE value IN (6, 8)`)
	b.archive(t)
	b.exec(t, `INSERT INTO t_seq_issue_log SELECT * FROM kept`)
	a := b.audit(t, ledger.AuditFilter{})
	require.Len(t, a.Findings, 2)
	for i, value := range []int64{6, 8} {
		require.Equal(t, ledger.FindingTwice, a.Findings[i].Kind)
		require.Equal(t, value, a.Findings[i].Lo)
		require.Contains(t, a.Findings[i].Words, "t_seq_archive")
	}
	require.Len(t, a.Gaps, 2, "each once")
	require.Equal(t, int64(3), a.Reports[0].States[sequence.Confirmed])
	b.exec(t, `DELETE FROM t_seq_archive WHERE value = 5`)
	a = b.audit(t, ledger.AuditFilter{})
	require.Len(t, a.Findings, 3)
	require.Equal(t, int64(1), a.Reports[0].Unaccounted)
	v, err := b.VerifySeals(t.Context(), "INV", ledger.Anchor{})
	require.NoError(t, err)
	require.Len(t, v.Faults, 1)
}

// Numbers are confirmed late, read and audited while they move.
func TestNumbersAreArchivedWhileTheyAreConfirmed(t *testing.T) {
	b := setup(t)
	b.daily(t)
	const periods = 20
	var numbers []sequence.Number
	for i := range periods {
		numbers = append(numbers, b.past(t, 3+i, 2, 20, false)...)
	}
	require.Equal(t, periods, b.seal(t))
	start, over := make(chan struct{}), make(chan struct{})
	var rescued, already atomic.Int32
	var confirms, others sync.WaitGroup
	for w := range 4 {
		confirms.Go(func() {
			<-start
			for i := range numbers {
				n := numbers[(i*7+w*5)%len(numbers)] // 440 and 7 have no common divisor
				decisions, err := b.Apply(t.Context(), commands(sequence.Confirm, []sequence.Number{n}, 0))
				require.NoError(t, err)
				switch decisions[0].Outcome {
				case sequence.OutcomeRescued:
					rescued.Add(1)
				case sequence.OutcomeAlreadyConfirmed:
					already.Add(1)
				default:
					require.Fail(t, fmt.Sprintf("%s: %s", n.SeqNo, decisions[0].Outcome))
				}
			}
		})
	}
	others.Go(func() {
		<-start
		for {
			select {
			case <-over:
				return
			default:
			}
			a, err := b.Audit(t.Context(), ledger.AuditFilter{}, 1)
			require.NoError(t, err)
			require.Empty(t, a.Findings)
			v, err := b.VerifySeals(t.Context(), "INV", ledger.Anchor{})
			require.NoError(t, err)
			require.Empty(t, v.Faults)
		}
	})
	for range 2 {
		others.Go(func() {
			<-start
			b.archive(t)
		})
	}
	close(start)
	confirms.Wait()
	close(over)
	others.Wait()
	b.archive(t)
	require.Equal(t, int32(20*periods), rescued.Load(), "each once")
	require.Equal(t, len(numbers), b.count(t, `SELECT COUNT(*) FROM t_seq_archive WHERE status = 2`))
	require.Zero(t, b.count(t, `SELECT COUNT(*) FROM t_seq_issue_log`))
	require.Equal(t, int64(20*periods), b.verify(t, "INV").Amendments)
	b.clean(t)
}

func TestAKeyStillStandsForAnArchivedNumber(t *testing.T) {
	b := setup(t)
	b.daily(t)
	numbers := b.past(t, 3, 1, 0, false)
	require.Equal(t, 1, b.seal(t))
	b.exec(t, `INSERT INTO t_seq_idempotency (caller, biz_type, idem_key, call_id, content_hash, tickets, issued_time, expires)
		VALUES ('', 'INV', 'key-1', 'call-1', REPEAT('a', 32), ?, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) + INTERVAL 1 HOUR)`, numbers[0].Ticket().String())
	b.archive(t)
	answer, err := b.Keyed(t.Context(), sequence.IdempotencyKey{BizType: "INV", Key: "key-1"})
	require.NoError(t, err)
	require.Equal(t, sequence.Confirmed, answer.Numbers[0].State)
}

// What a hand has changed stays where it was, and keeps nothing else from being archived.
func TestWhatIsNoLongerFinalIsNotArchived(t *testing.T) {
	b := setup(t)
	b.daily(t)
	b.past(t, 3, 3, 1, false)
	require.Equal(t, 1, b.seal(t))
	b.exec(t, `UPDATE t_seq_issue_log SET status = 4, deadline = UTC_TIMESTAMP(6) WHERE status = 7`)
	require.Equal(t, 3, b.archive(t))
	v, err := b.VerifySeals(t.Context(), "INV", ledger.Anchor{})
	require.NoError(t, err)
	require.Len(t, v.Faults, 1)
}
