package ledger_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/sequence"
)

// delays flushes and reads what is counted of ORDER today.
func (b bundle) delays(t *testing.T) *sequence.Delays {
	t.Helper()
	require.NoError(t, b.FlushDelays(t.Context()))
	d, err := b.Delays(t.Context(), "ORDER", 1)
	require.NoError(t, err)
	return d
}

// abandonedAgo gives up issued numbers, as if that had been so long ago.
func (b bundle) abandonedAgo(t *testing.T, issued []sequence.Number, ago time.Duration) {
	t.Helper()
	b.apply(t, sequence.OutcomeAbandoned, commands(sequence.Abandon, issued, 0)...)
	for _, n := range issued {
		b.exec(t, `UPDATE t_seq_issue_log SET abandoned_time = UTC_TIMESTAMP(6) - INTERVAL ? MICROSECOND, deadline = UTC_TIMESTAMP(6) WHERE seq_no = ?`, ago.Microseconds(), n.SeqNo)
	}
}

func TestDelaysAreCounted(t *testing.T) {
	b := setup(t)
	empty := b.delays(t)
	require.Zero(t, empty.Span())
	require.Zero(t, empty.Confirms())

	issued := b.issue(t, "batch-1", 10)
	b.exec(t, "UPDATE t_seq_issue_log SET issued_time = issued_time - INTERVAL 40 SECOND")
	confirmed := b.apply(t, sequence.OutcomeConfirmed, commands(sequence.Confirm, issued[:5], 0)...)
	b.apply(t, sequence.OutcomeAlreadyConfirmed, commands(sequence.Confirm, issued[:5], 0)...)
	b.abandonedAgo(t, issued[5:], 90*time.Second)
	b.apply(t, sequence.OutcomeAlreadyAbandoned, commands(sequence.Abandon, issued[5:], 0)...)
	b.apply(t, sequence.OutcomeRescued, commands(sequence.Confirm, issued[5:7], 0)...)
	gone := commands(sequence.Record, b.allocate(t, "batch-2", 3), 1)
	for i := range gone {
		gone[i].CallerGone = true
	}
	b.apply(t, sequence.OutcomeRecorded, gone...)

	d := b.delays(t)
	var want sequence.DelayCounts
	for _, n := range confirmed {
		want.Add(n.ConfirmedTime.Sub(n.IssuedTime))
	}
	require.Equal(t, want, d.Confirmed)
	require.Equal(t, int64(2), d.Late.Count())
	require.Equal(t, int64(2), d.Late.After(89*time.Second))
	require.Equal(t, int64(8), d.Abandoned.Count(), "those that nobody was answered wait out a window too")
	require.Equal(t, int64(3), d.Abandoned[0])
	require.Positive(t, d.Span())
	require.Equal(t, d.Confirmed, b.delays(t).Confirmed, "each is written once")
}

// A confirm whose number was issued again is late by what the life that it means says, and once, however
// often it is repeated.
func TestAConfirmThatMetAConflictIsLate(t *testing.T) {
	b := setup(t)
	issued := b.issue(t, "batch-1", 2)
	b.abandonedAgo(t, issued, 1000*time.Second)
	b.apply(t, sequence.OutcomeReplayable, commands(sequence.Replay, issued, 0)...)
	claimed := b.apply(t, sequence.OutcomeClaimed, commands(sequence.Claim, issued, 0)...)
	again := b.apply(t, sequence.OutcomeRecorded, commands(sequence.Record, claimed, 1)...)
	b.apply(t, sequence.OutcomeConflict, commands(sequence.Confirm, issued[:1], 0)...)
	b.apply(t, sequence.OutcomeConfirmed, commands(sequence.Confirm, again, 0)...)
	b.apply(t, sequence.OutcomeConflict, commands(sequence.Confirm, issued[:1], 0)...)
	other := commands(sequence.Confirm, again, 0)
	for i := range other {
		other[i].BizKey = "another"
	}
	b.exec(t, "UPDATE t_seq_issue_log SET biz_key = 'one'")
	b.apply(t, sequence.OutcomeConflict, other...) // two keys on one life: nobody is late

	d := b.delays(t)
	require.Equal(t, int64(1), d.Late.Count())
	require.Equal(t, int64(1), d.Late.After(999*time.Second))
	require.Zero(t, d.Late.After(1200*time.Second))
}

// Each process adds what it counted, whoever writes at the same time.
func TestProcessesWriteTheirDelaysTogether(t *testing.T) {
	b := setup(t)
	const processes, rounds, each = 4, 8, 25
	blocks := make([][]sequence.Number, processes*rounds)
	for i := range blocks {
		blocks[i] = b.issue(t, fmt.Sprint("batch-", i), each)
	}
	b.exec(t, "UPDATE t_seq_issue_log SET issued_time = issued_time - INTERVAL value * value * 50 MICROSECOND") // over many buckets
	var all sync.WaitGroup
	for p := range processes {
		l, err := ledger.Open(b.dsn)
		require.NoError(t, err)
		defer l.Close() //nolint:errcheck // nothing is left to say
		all.Go(func() {
			for r := range rounds {
				_, err := l.Apply(t.Context(), commands(sequence.Confirm, blocks[p*rounds+r], 0))
				require.NoError(t, err)
				require.NoError(t, l.FlushDelays(t.Context()))
			}
		})
	}
	all.Wait()
	d := b.delays(t)
	require.Equal(t, int64(processes*rounds*each), d.Confirmed.Count())
	require.Equal(t, processes*rounds*each, b.count(t, "SELECT SUM(count) FROM t_seq_delay"))
}

func TestDelaysThatCouldNotBeWrittenAreWrittenLater(t *testing.T) {
	b := setup(t)
	issued := b.issue(t, "batch-1", 20)
	b.apply(t, sequence.OutcomeConfirmed, commands(sequence.Confirm, issued[:12], 0)...)
	b.exec(t, "RENAME TABLE t_seq_delay TO away")
	require.Error(t, b.FlushDelays(t.Context()))
	b.apply(t, sequence.OutcomeConfirmed, commands(sequence.Confirm, issued[12:], 0)...)
	require.Error(t, b.FlushDelays(t.Context()))
	b.exec(t, "RENAME TABLE away TO t_seq_delay")
	require.Equal(t, int64(20), b.delays(t).Confirmed.Count())
}

func TestDelaysAreWrittenWhenAProcessStops(t *testing.T) {
	b := setup(t)
	b.apply(t, sequence.OutcomeConfirmed, commands(sequence.Confirm, b.issue(t, "batch-1", 7), 0)...)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	b.KeepDelays(stopped)
	require.Equal(t, 7, b.count(t, "SELECT SUM(count) FROM t_seq_delay"))
}

// forgetful is connections of which the next COMMIT is done, or undone, and its answer lost.
type forgetful struct {
	driver.Connector
	lose atomic.Bool
	undo atomic.Bool
}

// fullConn is what database/sql asks of the MySQL driver's connections.
type fullConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.SessionResetter
	driver.Validator
}

func (f *forgetful) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := f.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return forgetfulConn{conn.(fullConn), f}, nil
}

type forgetfulConn struct {
	fullConn
	f *forgetful
}

func (c forgetfulConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	tx, err := c.fullConn.BeginTx(ctx, o)
	return forgetfulTx{tx, c.f}, err
}

type forgetfulTx struct {
	driver.Tx
	f *forgetful
}

func (tx forgetfulTx) Commit() error {
	if !tx.f.lose.CompareAndSwap(true, false) {
		return tx.Tx.Commit()
	}
	end := tx.Tx.Commit
	if tx.f.undo.Load() {
		end = tx.Rollback
	}
	return errors.Join(end(), mysql.ErrInvalidConn)
}

// A settlement whose answer to COMMIT was lost is looked at again: its delays are counted once, whether it
// had been committed or not.
func TestDelaysOfALostCommitAreCountedOnce(t *testing.T) {
	b := setup(t)
	var f *forgetful
	l, err := ledger.Open(b.dsn, ledger.WithOpenDB(func(c driver.Connector) *sql.DB {
		f = &forgetful{Connector: c}
		return sql.OpenDB(f)
	}), ledger.WithLogger(slog.New(slog.DiscardHandler)))
	require.NoError(t, err)
	defer l.Close() //nolint:errcheck // nothing is left to say
	via := bundle{l, b.dsn}
	issued := b.issue(t, "batch-1", 30)
	for i, undo := range []bool{false, true} {
		f.undo.Store(undo)
		f.lose.Store(true)
		via.apply(t, sequence.OutcomeConfirmed, commands(sequence.Confirm, issued[10*i:10*i+10], 0)...)
		require.False(t, f.lose.Load())
		require.Equal(t, int64(10*(i+1)), via.delays(t).Confirmed.Count(), "undone: %t", undo)
	}

	// The counts themselves: those of an unknown COMMIT are not written a second time.
	via.apply(t, sequence.OutcomeConfirmed, commands(sequence.Confirm, issued[20:], 0)...)
	f.undo.Store(false)
	f.lose.Store(true)
	require.ErrorIs(t, l.FlushDelays(t.Context()), sequence.ErrUnavailable)
	require.Equal(t, int64(30), via.delays(t).Confirmed.Count())
}

func TestDelaysAreReadOfTheDaysAskedFor(t *testing.T) {
	b := setup(t)
	for _, row := range []struct {
		ago, count int
	}{{0, 1}, {1, 10}, {6, 100}, {7, 1000}, {34, 10_000}, {35, 100_000}, {400, 1_000_000}} {
		b.exec(t, `INSERT INTO t_seq_delay (biz_type, day, kind, bucket, count, first_time)
			VALUES ('ORDER', UTC_DATE() - INTERVAL ? DAY, 'CONFIRMED', 80, ?, UTC_TIMESTAMP(6) - INTERVAL ? DAY)`, row.ago, row.count, row.ago)
	}
	b.exec(t, `INSERT INTO t_seq_delay (biz_type, day, kind, bucket, count, first_time) VALUES ('OTHER', UTC_DATE(), 'LATE', 80, 7, UTC_TIMESTAMP(6))`)
	for days, want := range map[int]int64{1: 1, 2: 11, 7: 111, 8: 1111, ledger.MaxDelayDays: 11_111} {
		d, err := b.Delays(t.Context(), "ORDER", days)
		require.NoError(t, err)
		require.Equal(t, want, d.Confirmed.Count(), days)
		require.Zero(t, d.Late.Count())
		require.Equal(t, d.Until.Truncate(24*time.Hour).AddDate(0, 0, 1-days), d.Since, "since the first of the days began")
	}
	b.exec(t, "DELETE FROM t_seq_delay WHERE day < UTC_DATE() - INTERVAL 1 DAY")
	d, err := b.Delays(t.Context(), "ORDER", 7)
	require.NoError(t, err)
	require.Equal(t, 24*time.Hour, d.Span().Round(time.Minute), "since counting began")
}

func TestOldDelaysAreDeleted(t *testing.T) {
	b := setup(t)
	for bucket := range 5 {
		for _, ago := range []int{0, ledger.MaxDelayDays - 1, ledger.MaxDelayDays, 100} {
			b.exec(t, `INSERT INTO t_seq_delay (biz_type, day, kind, bucket, count, first_time)
				VALUES ('ORDER', UTC_DATE() - INTERVAL ? DAY, 'LATE', ?, 1, UTC_TIMESTAMP(6))`, ago, bucket)
		}
	}
	for _, want := range []int{4, 4, 2, 0} {
		n, err := b.PurgeDelays(t.Context(), 4)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	require.Equal(t, 10, b.count(t, "SELECT COUNT(*) FROM t_seq_delay"))
}
