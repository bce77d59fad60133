package migrations_test

import (
	"database/sql"
	"sync"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/db/migrations"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestMigrations(t *testing.T) {
	db, err := sql.Open("mysql", testkit.MariaDB(t)+"?parseTime=true")
	require.NoError(t, err)
	defer db.Close() //nolint:errcheck // the database goes with the test

	require.ErrorIs(t, migrations.Check(t.Context(), db), migrations.ErrSchema)
	require.ErrorContains(t, migrations.Check(t.Context(), db), "lacuna migrate up")

	var applied [2][]migrations.Migration
	var both sync.WaitGroup
	for i := range applied {
		both.Go(func() {
			var err error
			applied[i], err = migrations.Up(t.Context(), db)
			require.NoError(t, err)
		})
	}
	both.Wait()
	all, err := migrations.Status(t.Context(), db)
	require.NoError(t, err)
	require.NotEmpty(t, all)
	require.Len(t, all, len(applied[0])+len(applied[1]), "each migration ran once")
	for _, m := range all {
		require.True(t, m.Applied, m.File)
	}
	require.NoError(t, migrations.Check(t.Context(), db))

	_, err = db.ExecContext(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (99999, 1)")
	require.NoError(t, err)
	require.NoError(t, migrations.Check(t.Context(), db), "a newer schema serves an older binary")
}

// TestAnUpgradeKeepsWhatThereIs brings a database of the schema before sources and formats up to date:
// its numbering goes on with the rules that it had, under the same cursor.
func TestAnUpgradeKeepsWhatThereIs(t *testing.T) {
	dsn := testkit.MariaDB(t)
	db, err := sql.Open("mysql", dsn+"?parseTime=true")
	require.NoError(t, err)
	defer db.Close() //nolint:errcheck // the database goes with the test
	require.NoError(t, migrations.UpTo(t.Context(), db, 2))
	for _, statement := range []string{
		`INSERT INTO t_seq_biz_type VALUES ('ORDER', 'A-{seq:6}', 100, 2000, 900000, 120000, 2, 3)`,
		`INSERT INTO t_seq_biz_type VALUES ('NEW', 'N-{seq:6}', 100, 2000, 900000, 120000, 2, 1)`,
		`INSERT INTO t_seq_cursor VALUES ('ORDER', '', 1), ('NEW', '', 0)`,
		`INSERT INTO t_seq_issue_log (biz_type, seq_no, value, life, batch_id, status, issued_time, confirmed_time)
		 VALUES ('ORDER', 'A-000001', 1, 1, 'seg-1', 2, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6))`,
	} {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	require.ErrorIs(t, migrations.Check(t.Context(), db), migrations.ErrSchema)
	_, err = migrations.Up(t.Context(), db)
	require.NoError(t, err)

	l, err := ledger.Open(dsn)
	require.NoError(t, err)
	defer l.Close() //nolint:errcheck // nothing is left to say
	b, err := l.BizType(t.Context(), "ORDER")
	require.NoError(t, err)
	want := sequence.NewBizType("ORDER", b.Format)
	want.Revision = 3
	require.Equal(t, want, b)
	n, _, err := l.Get(t.Context(), "ORDER", "A-000001")
	require.NoError(t, err)
	require.Equal(t, sequence.Confirmed, n.State)
	require.NoError(t, l.RegisterIssuer(t.Context(), "issuer-1", "test", 15*time.Second))
	for bizType, first := range map[string]string{"ORDER": "A-000002", "NEW": "N-000001"} {
		numbers, err := l.Allocate(t.Context(), bizType, "issuer-1", "seg-2-"+bizType, 5)
		require.NoError(t, err)
		require.Equal(t, first, numbers[0].SeqNo)
	}
}
