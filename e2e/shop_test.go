package e2e

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/devenv"
	"github.com/lacuna-seq/lacuna/internal/testkit"
)

// trade is the demo shop replaying its traffic of 1,000 purchases, three times as fast, with the
// times of DEMO.
type trade struct {
	*devenv.Child
	spec devenv.Spec
	db   *sql.DB
}

func (s *stack) openShop(t *testing.T) *trade {
	t.Helper()
	s.bizType(t, "SHOP", "S-{seq:6}", 10*time.Second, 5*time.Second)
	dsn := testkit.MariaDB(t)
	db, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	shop := &trade{db: db, spec: devenv.Spec{
		Name: "the shop", Path: filepath.Join(s.dir, "demo"), Log: filepath.Join(t.TempDir(), "shop.log"),
		Args: []string{"--events", "../deploy/demo/events-short.csv", "--speed", "3", "--biz-type", "SHOP", "--patience", "10s"},
		Env:  []string{"LACUNA_URL=" + s.starter.url, "LACUNA_SHOP_DSN=" + dsn, "LACUNA_MYSQL_DSN=" + s.dsn, "LACUNA_TOKEN=" + s.token},
	}}
	shop.open(t)
	t.Cleanup(func() { shop.Kill() })
	return shop
}

func (s *trade) open(t *testing.T) {
	t.Helper()
	child, err := devenv.Start(s.spec)
	require.NoError(t, err)
	s.Child = child
}

// sold waits until the shop has that many orders.
func (s *trade) sold(t *testing.T, count int) {
	t.Helper()
	testkit.Eventually(t, func() bool {
		require.NoError(t, s.Err())
		var n int
		return s.db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM orders").Scan(&n) == nil && n >= count
	}, "the shop did not sell %d", count)
}

// report waits for the shop's own verdict: exit code 0 means that every invariant held.
func (s *trade) report(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	select {
	case <-s.Done():
	case <-ctx.Done():
	}
	text, err := os.ReadFile(s.spec.Log)
	require.NoError(t, err)
	t.Logf("%s", text)
	require.NoError(t, ctx.Err(), "the shop did not close")
	require.NoError(t, s.ExitError(), "the shop found an invariant broken")
	require.Contains(t, string(text), "ok      every committed order ends CONFIRMED")
	return string(text)
}

func TestAShopsTraffic(t *testing.T) {
	s := newStack(t)
	shop := s.openShop(t)
	shop.report(t)
	// A machine that stands still for longer than a lease lets what was held begin a life that times out.
	testkit.Within(t, 3*time.Minute, func() bool { return s.count(t, "biz_type = 'SHOP' AND status IN (1, 3)") == 0 }, "every number is confirmed, free, retired, or held to be handed out")
	require.Zero(t, s.count(t, "biz_type = 'SHOP' AND status = 6"))
	s.closure(t)

	require.NoError(t, s.starter.Stop(t.Context()))
	require.Zero(t, s.count(t, "status IN (0, 5)"), "a clean stop hands back what was held")
	s.closure(t)
}

// Kill -9 of each process in the middle of the traffic: no committed order loses its number.
func TestKillsInTheMiddleOfAShopsTraffic(t *testing.T) {
	s := newStack(t)
	shop := s.openShop(t)
	shop.sold(t, 100)
	s.starter.Kill()
	s.restart(t, s.starter)
	shop.sold(t, 250)
	s.worker.Kill()
	s.restart(t, s.worker)
	shop.sold(t, 400)
	s.temporal.Kill()
	again, err := devenv.StartTemporal(t.Context(), testkit.Binaries(t), s.temporal.Config())
	require.NoError(t, err)
	t.Cleanup(again.Kill)
	shop.sold(t, 550)
	shop.Kill()
	shop.open(t)
	text := shop.report(t)
	require.Contains(t, text, "goes on")
	require.Equal(t, 2, strings.Count(text, "The shop opens"))
	s.closure(t)
}
