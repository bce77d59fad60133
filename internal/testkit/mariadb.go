package testkit

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/devenv"
)

// MariaDB gives the DSN of a fresh, empty database.
func MariaDB(t testing.TB) string {
	t.Helper()
	server := servers.mariaDB.get(t, "mariadb", startMariaDB)
	name := fmt.Sprintf("test_%d", servers.databases.Add(1))
	require.NoError(t, server.CreateDatabase(context.Background(), name))
	return server.DSN(name)
}

// OwnMariaDB starts a server for this test alone. It has the empty database "lacuna".
func OwnMariaDB(t testing.TB) *devenv.MariaDB {
	t.Helper()
	server := own(t, startMariaDB)
	require.NoError(t, server.CreateDatabase(context.Background(), "lacuna"))
	return server
}

func startMariaDB(ctx context.Context, b devenv.Binaries, dir string, port int) (*devenv.MariaDB, error) {
	return devenv.StartMariaDB(ctx, b, devenv.MariaDBConfig{Dir: dir, Port: port, Password: "test"})
}
