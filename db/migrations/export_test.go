package migrations

import (
	"context"
	"database/sql"
)

// UpTo migrates to an older version: the state in which an upgrade finds a database.
func UpTo(ctx context.Context, db *sql.DB, version int64) error {
	provider, err := newProvider(db)
	if err != nil {
		return err
	}
	_, err = provider.UpTo(ctx, version)
	return err
}
