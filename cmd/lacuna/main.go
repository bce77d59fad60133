// Command lacuna is the operators' command line. So far it brings the ledger's tables up to date.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/db/migrations"
	"github.com/lacuna-seq/lacuna/internal/config"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "lacuna:", err)
		os.Exit(1)
	}
}

// commands is the command line.
type commands struct {
	Migrate struct {
		config.Ledger
		Up     struct{} `cmd:"" help:"Apply the migrations that are missing."`
		Status struct{} `cmd:"" help:"List the migrations and which are applied."`
	} `cmd:"" help:"Bring the ledger's tables up to date."`
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var c commands
	parser, err := kong.New(&c, kong.Name("lacuna"), kong.Description("Lacuna: sequence numbers without lasting gaps."), kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		return err
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return err
	}
	l, err := ledger.Open(c.Migrate.DSN)
	if err != nil {
		return fmt.Errorf("LACUNA_MYSQL_DSN: %w", err)
	}
	defer l.Close() //nolint:errcheck // every statement has ended
	if err := l.Ping(ctx); err != nil {
		return err
	}
	if parsed.Command() == "migrate status" {
		return status(ctx, l, out)
	}
	return up(ctx, l, out)
}

func up(ctx context.Context, l *ledger.Ledger, out io.Writer) error {
	applied, err := migrations.Up(ctx, l.DB())
	for _, m := range applied {
		fmt.Fprintf(out, "applied %s\n", m.File)
	}
	if err == nil && len(applied) == 0 {
		fmt.Fprintln(out, "the schema is up to date")
	}
	return err
}

func status(ctx context.Context, l *ledger.Ledger, out io.Writer) error {
	all, err := migrations.Status(ctx, l.DB())
	for _, m := range all {
		state := "missing"
		if m.Applied {
			state = "applied"
		}
		fmt.Fprintf(out, "%-8s %s\n", state, m.File)
	}
	return err
}
