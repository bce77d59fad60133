package main

import (
	"context"
	"fmt"
	"io"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/db/migrations"
	"github.com/lacuna-seq/lacuna/internal/config"
)

// migrateCommands work on the ledger itself.
type migrateCommands struct {
	config.Ledger
	Up     migrateUp     `cmd:"" help:"Apply the migrations that are missing."`
	Status migrateStatus `cmd:"" help:"List the migrations and which are applied."`
}

type (
	migrateUp     struct{}
	migrateStatus struct{}
)

// Run applies what is missing and names it.
func (migrateUp) Run(ctx context.Context, out io.Writer, c *commands) error {
	return withLedger(ctx, c.Migrate.DSN, func(l *ledger.Ledger) error {
		applied, err := migrations.Up(ctx, l.DB())
		for _, m := range applied {
			fmt.Fprintf(out, "applied %s\n", m.File)
		}
		if err == nil && len(applied) == 0 {
			fmt.Fprintln(out, "the schema is up to date")
		}
		return err
	})
}

// Run prints a line for each migration.
func (migrateStatus) Run(ctx context.Context, out io.Writer, c *commands) error {
	return withLedger(ctx, c.Migrate.DSN, func(l *ledger.Ledger) error {
		all, err := migrations.Status(ctx, l.DB())
		for _, m := range all {
			state := "missing"
			if m.Applied {
				state = "applied"
			}
			fmt.Fprintf(out, "%-8s %s\n", state, m.File)
		}
		return err
	})
}

// withLedger opens the ledger and makes sure that it answers.
func withLedger(ctx context.Context, dsn string, do func(*ledger.Ledger) error) error {
	l, err := ledger.Open(dsn)
	if err != nil {
		return fmt.Errorf("LACUNA_MYSQL_DSN: %w", err)
	}
	defer l.Close() //nolint:errcheck // every statement has ended
	if err := l.Ping(ctx); err != nil {
		return err
	}
	return do(l)
}
