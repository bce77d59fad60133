package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/db/migrations"
)

// checkLedger looks at the ledger itself where LACUNA_MYSQL_DSN is set, and else asks the starter for its health.
func (c doctorCommand) checkLedger(ctx context.Context, s *seen) []checked {
	dsn := os.Getenv("LACUNA_MYSQL_DSN") // no flag: it holds a password, and flags stand in lists of processes
	if dsn == "" {
		return []checked{{What: "ledger", Verdict: skipped, Seen: "LACUNA_MYSQL_DSN is not set"}, c.checkReady(ctx)}
	}
	var remarks bytes.Buffer
	l, err := ledger.Open(dsn, ledger.WithLogger(slog.New(remarksOnly(&remarks))))
	if err != nil {
		return []checked{failure("ledger", fmt.Errorf("LACUNA_MYSQL_DSN: %w", err), "write it as user:password@tcp(host:port)/database")}
	}
	defer l.Close() //nolint:errcheck // every statement has ended
	if err := l.Ping(ctx); err != nil {
		return []checked{failure("ledger", err, "see whether the database lives, and the way to it")}
	}
	all := []checked{ledgerCheck(l.CheckServer(ctx), strings.TrimSpace(remarks.String())), schemaCheck(migrations.Check(ctx, l.DB()))}
	begun := time.Now()
	if now, err := l.Now(ctx); err == nil {
		ahead := now.Sub(begun.Add(time.Since(begun) / 2))
		s.ledger = &ahead
	}
	if age, err := l.PatrolAge(ctx); err == nil {
		s.patrolAge = &age
	}
	return all
}

func ledgerCheck(err error, remarks string) checked {
	switch {
	case err != nil:
		return failure("ledger", err, "")
	case remarks != "":
		return checked{What: "ledger", Verdict: warning, Seen: remarks}
	}
	return checked{What: "ledger", Verdict: ok, Seen: "it answers, and its settings are safe"}
}

func schemaCheck(err error) checked {
	switch {
	case errors.Is(err, migrations.ErrSchema):
		return failure("ledger's tables", err, "lacuna migrate up")
	case err != nil:
		return failure("ledger's tables", err, "")
	}
	return checked{What: "ledger's tables", Verdict: ok, Seen: "all migrations are applied"}
}

// remarksOnly keeps what a log line says, without its time and level.
func remarksOnly(out io.Writer) slog.Handler {
	return slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey || a.Key == "component" {
			return slog.Attr{}
		}
		return a
	}})
}

// checkReady asks the starter's own checks.
func (c doctorCommand) checkReady(ctx context.Context) checked {
	const what = "starter's health"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Ops+"/readyz", nil)
	if err != nil {
		return failure(what, err, "write --ops as http://host:port")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return checked{what, warning, err.Error(), "name the starter's LACUNA_OPS_LISTEN by --ops or LACUNA_OPS"}
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(io.LimitReader(response.Body, 1000))
	if err != nil {
		return failure(what, err, "")
	}
	answer := strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", ", ")
	if response.StatusCode != http.StatusOK {
		return checked{what, wrong, answer, "see to what is away; the starter's log says more"}
	}
	return checked{What: what, Verdict: ok, Seen: answer}
}
