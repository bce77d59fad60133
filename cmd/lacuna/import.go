package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/db/migrations"
	"github.com/lacuna-seq/lacuna/internal/config"
	"github.com/lacuna-seq/lacuna/sequence"
)

// importCommand takes the numbers of another system over. It works on the ledger itself.
type importCommand struct {
	config.Ledger
	BizType      string `arg:"" name:"biztype" help:"The biz type that takes the numbers. It must exist, and its format must print them."`
	CSV          string `name:"csv" xor:"source" required:"" placeholder:"file" help:"A file with a header and the columns seq_no, state and, as far as known, life, biz_key, batch_id, reason, issued_time, confirmed_time, abandoned_time."`
	Table        string `xor:"source" required:"" placeholder:"database.table" help:"A table on the ledger's server, with the columns biz_type, seq_no, status and, as far as known, those."`
	TableBizType string `placeholder:"name" help:"What the biz type is called in the table, if not the same."`
	TimeZone     string `default:"UTC" placeholder:"Europe/Berlin" help:"The time zone of times that name none."`
	Holes        string `enum:"refuse,pool,declare" default:"refuse" placeholder:"refuse|pool|declare" help:"What becomes of values below the highest that are not named. pool: they are free; only right where nobody can ever have held them. declare: they are skipped for good."`
	Reason       string `placeholder:"text" help:"Written down with each hole."`
	DryRun       bool   `help:"Say what would be done, and write nothing. Exit code 2 where it would be refused."`
}

// Run imports, says what became of the numbers, and audits the biz type. Findings end it with errFindings.
func (c importCommand) Run(ctx context.Context, out io.Writer) error {
	zone, err := sequence.ParseZone(c.TimeZone)
	if err != nil {
		return err
	}
	return withLedger(ctx, c.DSN, func(l *ledger.Ledger) error {
		if err := migrations.Check(ctx, l.DB()); err != nil {
			return err
		}
		progress := newProgress(os.Stderr, time.Now)
		i := ledger.Import{
			BizType: c.BizType, Source: c.source(l, zone), Holes: ledger.Holes(strings.ToUpper(c.Holes)),
			Reason: c.Reason, DryRun: c.DryRun, Progress: progress.show,
		}
		report, err := l.Import(ctx, i)
		progress.end()
		if report.Numbers > 0 && (err == nil || report.Imported == 0) {
			writeImport(out, report)
		}
		switch {
		case err != nil && report.Imported+report.Closed > 0:
			return fmt.Errorf("%w; %d numbers were imported and %d holes closed, and the same command goes on from there", err, report.Imported, report.Closed)
		case err != nil:
			return err
		case c.DryRun:
			return endDryRun(out, report.Refusal(i.Holes))
		}
		writeImported(out, report, i.Holes)
		return c.audit(ctx, out, l)
	})
}

func (c importCommand) source(l *ledger.Ledger, zone sequence.Zone) ledger.ImportSource {
	if c.CSV != "" {
		return &importCSV{path: c.CSV, zone: zone}
	}
	name := c.TableBizType
	if name == "" {
		name = c.BizType
	}
	return &ledger.ImportTable{Ledger: l, Table: c.Table, BizType: name, Zone: zone}
}

func endDryRun(out io.Writer, refusal string) error {
	if refusal == "" {
		fmt.Fprintln(out, "dry run: nothing was written; the import would be done")
		return nil
	}
	fmt.Fprintf(out, "dry run: nothing was written; the import would be refused: %s\n", refusal)
	return errFindings
}

func (c importCommand) audit(ctx context.Context, out io.Writer, l *ledger.Ledger) error {
	a, err := l.Audit(ctx, ledger.AuditFilter{BizType: c.BizType}, 0)
	if err != nil {
		return fmt.Errorf("the import is done, its audit is not: %w", err)
	}
	writeClosure(out, a)
	if !a.Clean() {
		return errFindings
	}
	return nil
}
