package migrations_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/migrations"
	"github.com/lacuna-seq/lacuna/internal/testkit"
)

// What MySQL reserves and MariaDB, on which the tests run, lets pass unquoted: words that became reserved in MySQL
// 5.7 to 9.
const reservedByMySQL = `CUBE CUME_DIST DENSE_RANK EMPTY EXCEPT FIRST_VALUE FUNCTION GENERATED GET GROUPING GROUPS
	INTERSECT IO_AFTER_GTIDS IO_BEFORE_GTIDS JSON_TABLE LAG LAST_VALUE LATERAL LEAD LIBRARY MANUAL MASTER_BIND NTH_VALUE
	NTILE OF OPTIMIZER_COSTS OVER PARALLEL PARTITION PERCENT_RANK PERSIST PERSIST_ONLY QUALIFY RANK RECURSIVE ROW ROWS
	ROW_NUMBER STORED SYSTEM TABLESAMPLE VIRTUAL WINDOW`

func TestNoNameIsReservedByMySQL(t *testing.T) {
	db, err := sql.Open("mysql", testkit.MariaDB(t)+"?parseTime=true")
	require.NoError(t, err)
	defer db.Close() //nolint:errcheck // the database goes with the test
	_, err = migrations.Up(t.Context(), db)
	require.NoError(t, err)
	rows, err := db.QueryContext(t.Context(), `SELECT table_name, table_name FROM information_schema.tables WHERE table_schema = DATABASE()
		UNION SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = DATABASE()
		UNION SELECT table_name, index_name FROM information_schema.statistics WHERE table_schema = DATABASE()`)
	require.NoError(t, err)
	defer rows.Close() //nolint:errcheck // it was read
	names := 0
	for rows.Next() {
		var table, name string
		require.NoError(t, rows.Scan(&table, &name))
		require.NotContains(t, strings.Fields(reservedByMySQL), strings.ToUpper(name), "%s of %s needs quotes on MySQL 8: give it another name", name, table)
		names++
	}
	require.NoError(t, rows.Err())
	require.Greater(t, names, 100)
}
