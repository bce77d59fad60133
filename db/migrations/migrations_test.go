package migrations_test

import (
	"database/sql"
	"sync"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/migrations"
	"github.com/lacuna-seq/lacuna/internal/testkit"
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
