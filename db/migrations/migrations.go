// Package migrations holds the ledger's tables as numbered goose files and brings a database up
// to them. They are run by `lacuna migrate up`, never by a serving process: those only Check.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"

	"github.com/pressly/goose/v3"
)

//go:embed *.sql
var files embed.FS

// lockName serializes migrations of one server; lockWaitSeconds is how long a second one waits.
const (
	lockName        = "lacuna_migrate"
	lockWaitSeconds = 60
)

// Migration is one numbered file and whether it is applied.
type Migration struct {
	Version int64
	File    string
	Applied bool
}

// Up applies what is missing, oldest first, and returns that. Two calls at once are safe: the
// second waits, and finds nothing to do.
func Up(ctx context.Context, db *sql.DB) ([]Migration, error) {
	provider, err := newProvider(db)
	if err != nil {
		return nil, err
	}
	unlock, err := lock(ctx, db)
	if err != nil {
		return nil, err
	}
	results, err := provider.Up(ctx)
	err = errors.Join(err, unlock())
	var applied []Migration
	for _, r := range results {
		applied = append(applied, Migration{Version: r.Source.Version, File: r.Source.Path, Applied: true})
	}
	if err != nil {
		return applied, fmt.Errorf("migrate: %w", err)
	}
	return applied, nil
}

// Status lists every migration that this binary knows, oldest first.
func Status(ctx context.Context, db *sql.DB) ([]Migration, error) {
	provider, err := newProvider(db)
	if err != nil {
		return nil, err
	}
	statuses, err := provider.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrate: read the schema's version: %w", err)
	}
	var all []Migration
	for _, s := range statuses {
		all = append(all, Migration{Version: s.Source.Version, File: s.Source.Path, Applied: s.State == goose.StateApplied})
	}
	return all, nil
}

// ErrSchema is a schema that this binary cannot work with.
var ErrSchema = errors.New("the database's schema does not fit this binary")

const (
	queryHasVersions = `SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'goose_db_version'`
	queryVersion     = `SELECT COALESCE(MAX(version_id), 0) FROM goose_db_version WHERE is_applied`
)

// Check returns nil where the schema is at this binary's version, and ErrSchema with what to do
// where it is older. A newer schema is fine: migrations only add what older binaries do not read.
func Check(ctx context.Context, db *sql.DB) error {
	provider, err := newProvider(db)
	if err != nil {
		return err
	}
	sources := provider.ListSources()
	want := sources[len(sources)-1].Version
	var tables int
	var have int64
	if err := db.QueryRowContext(ctx, queryHasVersions).Scan(&tables); err != nil {
		return fmt.Errorf("read the schema's version: %w", err)
	}
	if tables > 0 {
		if err := db.QueryRowContext(ctx, queryVersion).Scan(&have); err != nil {
			return fmt.Errorf("read the schema's version: %w", err)
		}
	}
	if have < want {
		return fmt.Errorf("%w: it is at version %d, this binary needs %d: run `lacuna migrate up`", ErrSchema, have, want)
	}
	return nil
}

func newProvider(db *sql.DB) (*goose.Provider, error) {
	provider, err := goose.NewProvider(goose.DialectMySQL, db, files)
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	return provider, nil
}

// lock takes the server's named lock on a connection of its own and gives its release.
func lock(ctx context.Context, db *sql.DB) (unlock func() error, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrate: connect: %w", err)
	}
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK(?, ?)", lockName, lockWaitSeconds).Scan(&got); err != nil {
		return nil, errors.Join(fmt.Errorf("migrate: lock: %w", err), conn.Close())
	}
	if got.Int64 != 1 {
		return nil, errors.Join(fmt.Errorf("migrate: another migration holds the lock %s for over %d s", lockName, lockWaitSeconds), conn.Close())
	}
	return func() error {
		_, err := conn.ExecContext(context.WithoutCancel(ctx), "DO RELEASE_LOCK(?)", lockName)
		return errors.Join(err, conn.Close())
	}, nil
}
