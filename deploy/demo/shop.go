package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lacuna-seq/lacuna/client"
	"github.com/lacuna-seq/lacuna/internal/wait"
)

// tryAgain is how long a shopper waits before trying again.
const tryAgain = 500 * time.Millisecond

// errPayment is why a purchase is rolled back.
var errPayment = errors.New("the payment was refused")

// shop sells.
type shop struct {
	bizType string
	traffic string
	lacuna  *client.Client
	books   books
	ledger  *sql.DB
	screen  *screen

	patience   time.Duration
	prefix     string // of this run's business keys
	duplicates atomic.Int64
}

func openShop(ctx context.Context, s settings) (*shop, error) {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	lacuna, err := client.Dial(s.URL, client.WithLogger(log), client.WithTokenFrom(client.TokenFromEnvironment))
	if err != nil {
		return nil, err
	}
	b, err := openBooks(ctx, s.ShopDSN)
	if err != nil {
		return nil, err
	}
	ledger, err := sql.Open("mysql", s.DSN+"?parseTime=true")
	if err != nil {
		return nil, errors.New("LACUNA_MYSQL_DSN is not of the form user:password@tcp(host:port)/database")
	}
	return &shop{bizType: s.BizType, traffic: filepath.Base(s.Events), lacuna: lacuna, books: b, ledger: ledger, screen: newScreen(os.Stdout), patience: s.Patience},
		client.Migrate(ctx, b.db)
}

func (s *shop) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = s.lacuna.Close(ctx) // what was not said is in the outbox
	_ = s.books.db.Close()
	_ = s.ledger.Close()
}

// trade replays the traffic, waits until its numbers have come to rest, and reports. The error is
// errBroken where an invariant is.
func (s *shop) trade(ctx context.Context, events []event, speed float64) error {
	run, resumed, err := s.books.openRun(ctx, s.traffic)
	if err != nil {
		return err
	}
	s.prefix = fmt.Sprintf("shop-%d/", run)
	done, err := s.books.done(ctx, s.prefix)
	if err != nil {
		return err
	}
	s.screen.say("The shop opens: %d purchases of %s, run %d%s.", len(events), s.traffic, run, resumedText(resumed, len(done)))

	background, stop := context.WithCancel(ctx)
	defer stop()
	var helpers sync.WaitGroup
	helpers.Go(func() { _ = s.lacuna.Relay(background, s.books.db) }) // it returns nil only
	helpers.Go(func() { s.watch(background) })
	s.replay(ctx, events, done, speed)
	if ctx.Err() == nil {
		s.screen.say("The shop closes. Waiting until its numbers have come to rest.")
		err = s.rest(ctx)
	}
	stop()
	helpers.Wait()
	if err != nil || ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}
	if err := s.books.endRun(ctx, run); err != nil {
		return err
	}
	return s.report(ctx)
}

func resumedText(resumed bool, done int) string {
	if !resumed {
		return ""
	}
	return fmt.Sprintf(" goes on, %d are done", done)
}

// replay lets each shopper in at their time and waits for the last one.
func (s *shop) replay(ctx context.Context, events []event, done map[string]bool, speed float64) {
	var shoppers sync.WaitGroup
	defer shoppers.Wait()
	var began time.Time
	var first time.Duration
	for _, e := range events {
		if done[s.prefix+e.key] {
			continue
		}
		if began.IsZero() {
			began, first = time.Now(), e.at
		}
		if wait.For(ctx, time.Until(began.Add(time.Duration(float64(e.at-first)/speed)))) != nil {
			return
		}
		if e.outcome != outcomeLate {
			e.duration = time.Duration(float64(e.duration) / speed)
		}
		shoppers.Go(func() { s.serve(ctx, e) })
	}
}

// serve is one shopper, who tries until the purchase has ended as recorded.
func (s *shop) serve(ctx context.Context, e event) {
	for ctx.Err() == nil {
		err := s.purchase(ctx, e)
		if err == nil {
			return
		}
		s.screen.trouble(err)
		_ = wait.For(ctx, tryAgain) // the loop ends with ctx
	}
}

func (s *shop) purchase(ctx context.Context, e event) error {
	bizKey := s.prefix + e.key
	if e.outcome == outcomeSilent {
		if _, err := s.lacuna.Next(ctx, s.bizType, client.ForBizKey(bizKey)); err != nil {
			return err
		}
		return s.books.loseSale(ctx, bizKey, e.outcome)
	}
	if has, err := s.books.hasOrder(ctx, bizKey); err != nil || has {
		return err // an earlier try may have been committed
	}
	err := s.lacuna.InTx(ctx, s.books.db, s.bizType, func(tx *sql.Tx, n client.Number) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO orders (order_number, ticket, biz_key, created) VALUES (?, ?, ?, UTC_TIMESTAMP(6))`, n.SeqNo, n.Ticket, bizKey)
		if isDuplicate(err) {
			s.duplicates.Add(1)
		}
		if err != nil {
			return err
		}
		if err := wait.For(ctx, e.duration); err != nil {
			return err
		}
		if e.outcome == outcomeRollback {
			return errPayment
		}
		return nil
	}, client.ForBizKey(bizKey))
	if errors.Is(err, errPayment) {
		return s.books.loseSale(ctx, bizKey, e.outcome)
	}
	return err
}
