package ledger_test

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/db/migrations"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const me = "issuer-1"

// bundle is a ledger on a database of its own with the biz type ORDER: A-{seq:6}, confirm timeout
// 15 min, window 120 s.
type bundle struct {
	*ledger.Ledger
	dsn string
}

func setup(t *testing.T) bundle {
	t.Helper()
	dsn := testkit.MariaDB(t)
	l, err := ledger.Open(dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	_, err = migrations.Up(t.Context(), l.DB())
	require.NoError(t, err)
	require.NoError(t, l.CreateBizType(t.Context(), order(t)))
	require.NoError(t, l.RegisterIssuer(t.Context(), me, "host-1", time.Hour))
	return bundle{l, dsn}
}

func order(t *testing.T) sequence.BizType {
	t.Helper()
	format, err := sequence.ParseFormat("A-{seq:6}")
	require.NoError(t, err)
	return sequence.NewBizType("ORDER", format)
}

// allocate reserves count numbers of ORDER for me.
func (b bundle) allocate(t *testing.T, batchID string, count int) []sequence.Number {
	t.Helper()
	block, err := b.Allocate(t.Context(), "ORDER", me, batchID, count)
	require.NoError(t, err)
	return block
}

// issue hands out count numbers and gives them as the ledger has them.
func (b bundle) issue(t *testing.T, batchID string, count int) []sequence.Number {
	t.Helper()
	return b.apply(t, sequence.OutcomeRecorded, commands(sequence.Record, b.allocate(t, batchID, count), 1)...)
}

// apply carries the commands out, expects one outcome of all, and gives the rows after them.
func (b bundle) apply(t *testing.T, want sequence.Outcome, commands ...sequence.Command) []sequence.Number {
	t.Helper()
	decisions, err := b.Apply(t.Context(), commands)
	require.NoError(t, err)
	numbers := make([]sequence.Number, len(decisions))
	for i, d := range decisions {
		require.Equal(t, want, d.Outcome, "%s of %s: got %s", commands[i].Kind, commands[i].Ticket, d.Outcome)
		numbers[i] = d.Number
	}
	return numbers
}

// commands asks the same of many numbers, of the life that is ahead lives after the present one.
func commands(kind sequence.Kind, numbers []sequence.Number, ahead int32) []sequence.Command {
	commands := make([]sequence.Command, len(numbers))
	for i, n := range numbers {
		commands[i] = sequence.Command{
			Kind: kind, Owner: me, BatchID: n.BatchID,
			Ticket: sequence.Ticket{BizType: n.BizType, SeqNo: n.SeqNo, Life: n.Life + ahead},
		}
	}
	return commands
}

// passWindow ages every abandonment by a day. The tests move the rows, never the clock that decides.
func (b bundle) passWindow(t *testing.T) {
	t.Helper()
	b.exec(t, `UPDATE t_seq_issue_log SET abandoned_time = abandoned_time - INTERVAL 1 DAY,
		deadline = IF(status = 3, deadline - INTERVAL 1 DAY, deadline) WHERE abandoned_time IS NOT NULL`)
}

func (b bundle) exec(t *testing.T, query string, args ...any) {
	t.Helper()
	_, err := b.DB().ExecContext(t.Context(), query, args...)
	require.NoError(t, err)
}

func (b bundle) count(t *testing.T, query string, args ...any) (n int) {
	t.Helper()
	require.NoError(t, b.DB().QueryRowContext(t.Context(), query, args...).Scan(&n))
	return n
}

func TestOpenRefusesABadDSN(t *testing.T) {
	for name, tt := range map[string]struct{ dsn, says string }{
		"no DSN at all":         {"nonsense", "not of the form"},
		"a local time zone":     {"u:secret@tcp(127.0.0.1:1)/x?loc=Asia%2FShanghai", "loc=Asia/Shanghai"},
		"an unknown time zone":  {"u:secret@tcp(127.0.0.1:1)/x?loc=asia%2Fshanghai", "loc=asia/shanghai"},
		"a zone, not escaped":   {"u:secret@tcp(127.0.0.1:1)/x?loc=asia/shanghai", "loc=asia/shanghai"},
		"a session time zone":   {"u:secret@tcp(127.0.0.1:1)/x?time_zone=%27%2B08%3A00%27", "time_zone="},
		"no database":           {"u:secret@tcp(127.0.0.1:1)/", "no database"},
		"a password with a '/'": {"u:sec/ret@tcp(127.0.0.1:1", "not of the form"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ledger.Open(tt.dsn)
			require.ErrorContains(t, err, tt.says)
			require.NotContains(t, err.Error(), "sec")
		})
	}
}

func TestALedgerThatIsAwayIsUnavailable(t *testing.T) {
	b := setup(t)
	for name, dsn := range map[string]string{
		"nobody listens":   "u:p@tcp(127.0.0.1:1)/x",
		"a wrong password": "nobody:wrong@" + b.dsn[len(userOf(b.dsn))+1:],
	} {
		t.Run(name, func(t *testing.T) {
			l, err := ledger.Open(dsn)
			require.NoError(t, err)
			defer l.Close() //nolint:errcheck // nothing was opened
			require.ErrorIs(t, l.Ping(t.Context()), sequence.ErrUnavailable)
			_, err = l.Apply(t.Context(), []sequence.Command{{Kind: sequence.Check, Ticket: sequence.Ticket{BizType: "ORDER", SeqNo: "A-000001", Life: 1}}})
			require.ErrorIs(t, err, sequence.ErrUnavailable)
			require.NotContains(t, err.Error(), "wrong@")
		})
	}
}

// userOf is the part of a DSN before the '@'.
func userOf(dsn string) string {
	for i, r := range dsn {
		if r == '@' {
			return dsn[:i]
		}
	}
	return dsn
}

func TestCheckServer(t *testing.T) {
	b := setup(t)
	require.NoError(t, b.CheckServer(t.Context()))
	lax, err := ledger.Open(b.dsn + separator(b.dsn) + "sql_mode=%27%27")
	require.NoError(t, err)
	defer lax.Close() //nolint:errcheck // read only
	require.ErrorContains(t, lax.CheckServer(t.Context()), "STRICT_TRANS_TABLES")
}

func separator(dsn string) string {
	for _, r := range dsn {
		if r == '?' {
			return "&"
		}
	}
	return "?"
}

// The driver counts changed rows or matched rows as the DSN says; the ledger answers the same (C20).
// Its times are the same too, whatever the zone of the process (C21).
func TestTheDSNDoesNotChangeTheAnswers(t *testing.T) {
	b := setup(t)
	for i, extra := range []string{"clientFoundRows=true", "clientFoundRows=false", "parseTime=false", "loc=UTC", "time_zone=%27%2B00%3A00%27"} {
		l, err := ledger.Open(b.dsn + separator(b.dsn) + extra)
		require.NoError(t, err)
		c := bundle{l, b.dsn}
		issued := c.issue(t, fmt.Sprint("batch-", i), 1)
		c.apply(t, sequence.OutcomeConfirmed, commands(sequence.Confirm, issued, 0)...)
		c.apply(t, sequence.OutcomeAlreadyConfirmed, commands(sequence.Confirm, issued, 0)...)
		n, _, err := c.Get(t.Context(), "ORDER", issued[0].SeqNo)
		require.NoError(t, err)
		require.WithinDuration(t, time.Now(), n.IssuedTime, time.Minute)
		require.Equal(t, time.UTC, n.IssuedTime.Location())
		require.NoError(t, l.Close())
	}
}

func TestBizTypes(t *testing.T) {
	b := setup(t)
	t.Run("are read as they were created", func(t *testing.T) {
		want := order(t)
		want.Revision = 1
		got, err := b.BizType(t.Context(), "ORDER")
		require.NoError(t, err)
		require.Equal(t, want, got)
		all, err := b.BizTypes(t.Context())
		require.NoError(t, err)
		require.Equal(t, []sequence.BizType{want}, all)
	})
	t.Run("have one name each", func(t *testing.T) {
		require.ErrorIs(t, b.CreateBizType(t.Context(), order(t)), ledger.ErrExists)
	})
	t.Run("are validated", func(t *testing.T) {
		require.ErrorIs(t, b.CreateBizType(t.Context(), sequence.BizType{Name: "X"}), sequence.ErrInvalid)
	})
	t.Run("that do not exist are not found", func(t *testing.T) {
		_, err := b.BizType(t.Context(), "NONE")
		require.ErrorIs(t, err, sequence.ErrNotFound)
		_, err = b.Allocate(t.Context(), "NONE", me, "batch-x", 1)
		require.ErrorIs(t, err, sequence.ErrNotFound)
	})
}

func TestChangeBizType(t *testing.T) {
	longer := func(b *sequence.BizType) error { b.SafetyWindow = time.Hour; return nil }
	t.Run("stores the next revision, which every transaction sees", func(t *testing.T) {
		b := setup(t)
		changed, err := b.ChangeBizType(t.Context(), "ORDER", 1, longer)
		require.NoError(t, err)
		require.Equal(t, int64(2), changed.Revision)
		got, err := b.BizType(t.Context(), "ORDER")
		require.NoError(t, err)
		require.Equal(t, changed, got)
		n := b.apply(t, sequence.OutcomeAbandoned, commands(sequence.Abandon, b.issue(t, "batch-1", 1), 0)...)[0]
		require.Equal(t, n.AbandonedTime.Add(time.Hour), n.Deadline)
	})
	t.Run("refuses another revision, and names the current one", func(t *testing.T) {
		b := setup(t)
		for _, revision := range []int64{0, 2} {
			_, err := b.ChangeBizType(t.Context(), "ORDER", revision, longer)
			var fault *sequence.RevisionError
			require.ErrorAs(t, err, &fault)
			require.Equal(t, int64(1), fault.Current)
		}
	})
	t.Run("lets one of two win", func(t *testing.T) {
		b := setup(t)
		var won atomic.Int32
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				if _, err := b.ChangeBizType(t.Context(), "ORDER", 1, longer); err == nil {
					won.Add(1)
				}
			})
		}
		both.Wait()
		require.Equal(t, int32(1), won.Load())
	})
	t.Run("changes the format only while no number was allocated", func(t *testing.T) {
		b := setup(t)
		wider := func(b *sequence.BizType) (err error) { b.Format, err = sequence.ParseFormat("A-{seq:8}"); return err }
		_, err := b.ChangeBizType(t.Context(), "ORDER", 1, wider)
		require.NoError(t, err)
		b.allocate(t, "batch-1", 1)
		_, err = b.ChangeBizType(t.Context(), "ORDER", 2, func(b *sequence.BizType) (err error) { b.Format, err = sequence.ParseFormat("A-{seq:9}"); return err })
		require.ErrorIs(t, err, sequence.ErrInvalid)
		_, err = b.ChangeBizType(t.Context(), "ORDER", 2, wider)
		require.NoError(t, err, "the same format is no change")
	})
	t.Run("refuses what is not valid, and what does not exist", func(t *testing.T) {
		b := setup(t)
		_, err := b.ChangeBizType(t.Context(), "ORDER", 1, func(b *sequence.BizType) error { b.StepMin = 0; return nil })
		require.ErrorIs(t, err, sequence.ErrInvalid)
		_, err = b.ChangeBizType(t.Context(), "NONE", 1, longer)
		require.ErrorIs(t, err, sequence.ErrNotFound)
	})
}

// holdRow locks a number's row in a transaction of its own until release is called.
func (b bundle) holdRow(t *testing.T, n sequence.Number) (release func()) {
	t.Helper()
	tx, err := b.DB().BeginTx(context.Background(), &sql.TxOptions{})
	require.NoError(t, err)
	var id int64
	require.NoError(t, tx.QueryRow("SELECT id FROM t_seq_issue_log WHERE biz_type = ? AND seq_no = ? FOR UPDATE", n.BizType, n.SeqNo).Scan(&id))
	return func() { require.NoError(t, tx.Rollback()) }
}
