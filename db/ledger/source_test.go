package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/db/migrations"
	"github.com/lacuna-seq/lacuna/db/pool"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// sources is two processes on one database and one Redis: two ledgers, each with connections of its own.
type sources struct {
	bundle                    // of the first process
	other    *ledger.Ledger   // of the second
	redis    *redis.Client    // to break the counter with
	restart  func(*testing.T) // of the database server
	redisURL string
}

func setupSources(t *testing.T, source sequence.Source) *sources {
	t.Helper()
	s := &sources{redisURL: testkit.Redis(t)}
	server := testkit.OwnMariaDB(t)
	s.dsn = server.DSN("lacuna")
	s.restart = func(t *testing.T) {
		server.Kill()
		require.NoError(t, server.Restart(t.Context()))
	}
	s.Ledger, s.other = s.process(t), s.process(t)
	_, err := migrations.Up(t.Context(), s.DB())
	require.NoError(t, err)
	options, err := redis.ParseURL(s.redisURL)
	require.NoError(t, err)
	s.redis = redis.NewClient(options)
	t.Cleanup(func() { _ = s.redis.Close() })
	require.NoError(t, s.RegisterIssuer(t.Context(), me, "host-1", time.Hour))
	b := order(t)
	b.Source = source
	require.NoError(t, s.CreateBizType(t.Context(), b))
	return s
}

func (s *sources) process(t *testing.T) *ledger.Ledger {
	t.Helper()
	p, err := pool.Open(s.redisURL)
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	l, err := ledger.Open(s.dsn, ledger.WithCounter(p))
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// adds up checks that every value up to the cursor has one row, or lies in one declared skip.
func (s *sources) addsUp(t *testing.T) {
	t.Helper()
	cursor := s.count(t, "SELECT value FROM t_seq_cursor WHERE biz_type = 'ORDER'")
	rows := s.count(t, "SELECT COUNT(DISTINCT value) FROM t_seq_issue_log WHERE biz_type = 'ORDER'")
	skipped := s.count(t, "SELECT COALESCE(SUM(hi - lo + 1), 0) FROM t_seq_skip WHERE biz_type = 'ORDER'")
	require.Equal(t, cursor, rows+skipped, "rows %d, skipped %d", rows, skipped)
	require.Equal(t, cursor, s.count(t, "SELECT MAX(value) FROM t_seq_issue_log"))
}

// Every source keeps the same promises.
func TestSources(t *testing.T) {
	for _, source := range sequence.Sources {
		t.Run(strings.ToLower(source.String()), func(t *testing.T) {
			t.Parallel()
			s := setupSources(t, source)
			t.Run("gives blocks one after the other", func(t *testing.T) {
				for i, first := range []string{"A-000001", "A-000011", "A-000021"} {
					block := s.allocate(t, fmt.Sprint("first-", i), 10)
					require.Len(t, block, 10)
					require.Equal(t, first, block[0].SeqNo)
				}
				s.addsUp(t)
			})
			t.Run("gives each value once, to two processes at once", func(t *testing.T) { s.together(t) })
			t.Run("goes on above the cursor after numbers were purged and the server was killed (C66)", func(t *testing.T) {
				cursor := s.count(t, "SELECT value FROM t_seq_cursor WHERE biz_type = 'ORDER'")
				s.exec(t, "DELETE FROM t_seq_issue_log WHERE value > ?", cursor-3)
				s.restart(t)
				block := s.allocate(t, "restarted", 5)
				require.Equal(t, int64(cursor+1), block[0].Value)
			})
			t.Run("gives what is left at the end of the format, then ErrFull", func(t *testing.T) {
				small := order(t)
				small.Name, small.Source, small.Start = "SMALL", source, 90
				small.Format = must(sequence.ParseFormat("S{seq:2}"))
				require.NoError(t, s.CreateBizType(t.Context(), small))
				block, err := s.Allocate(t.Context(), "SMALL", me, "small-1", 7)
				require.NoError(t, err)
				require.Equal(t, "S90", block[0].SeqNo)
				block, err = s.Allocate(t.Context(), "SMALL", me, "small-2", 7)
				require.NoError(t, err)
				require.Len(t, block, 3)
				require.Equal(t, "S99", block[2].SeqNo)
				_, err = s.Allocate(t.Context(), "SMALL", me, "small-3", 1)
				require.ErrorIs(t, err, sequence.ErrFull)
			})
			t.Run("knows no biz type that does not exist", func(t *testing.T) {
				_, err := s.Allocate(t.Context(), "NONE", me, "none", 1)
				require.ErrorIs(t, err, sequence.ErrNotFound)
			})
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// together allocates in two processes at once, a few callers each.
func (s *sources) together(t *testing.T) {
	var mu sync.Mutex
	seen := map[int64]bool{}
	var all sync.WaitGroup
	for caller := range 4 {
		l := []*ledger.Ledger{s.Ledger, s.other}[caller%2]
		all.Go(func() {
			for range 15 {
				block, err := l.Allocate(t.Context(), "ORDER", me, uuid.NewString(), 7)
				require.NoError(t, err)
				mu.Lock()
				for _, n := range block {
					require.False(t, seen[n.Value], "%d was given twice", n.Value)
					seen[n.Value] = true
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	s.addsUp(t)
}

// A counter that goes on ahead, e.g. because replies were lost, leaves free numbers behind, or a declared
// skip where that would be too many; one that went beyond the format leaves the cursor alone.
func TestACounterThatJumps(t *testing.T) {
	s := setupSources(t, sequence.SourceRedis)
	s.allocate(t, "first", 10)
	const key = "lacuna:{ORDER}:counter"
	require.NoError(t, s.redis.Set(t.Context(), key, 110, 0).Err())
	block := s.allocate(t, "jumped", 5)
	require.Equal(t, int64(111), block[0].Value)
	require.Equal(t, 100, s.count(t, "SELECT COUNT(*) FROM t_seq_issue_log WHERE status = 4 AND life = 0 AND value BETWEEN 11 AND 110 AND reason = ?", sequence.ReasonJump))
	due, err := s.Overdue(t.Context(), sequence.Replayable, sequence.Number{}, 10)
	require.NoError(t, err)
	require.Empty(t, due)
	s.exec(t, "UPDATE t_seq_issue_log SET deadline = deadline - INTERVAL 1 MINUTE WHERE status = 4")
	due, err = s.Overdue(t.Context(), sequence.Replayable, sequence.Number{}, 1000)
	require.NoError(t, err)
	require.Len(t, due, 100, "the patrol pushes them a grace after they were passed over")
	s.addsUp(t)

	require.NoError(t, s.redis.Set(t.Context(), key, 300_000, 0).Err())
	require.Equal(t, int64(300_001), s.allocate(t, "far", 5)[0].Value)
	require.Equal(t, 300_000-115, s.count(t, "SELECT hi - lo + 1 FROM t_seq_skip WHERE biz_type = 'ORDER' AND reason = ?", sequence.ReasonJump))
	s.addsUp(t)

	require.NoError(t, s.redis.Set(t.Context(), key, 5_000_000, 0).Err(), "beyond A-999999")
	require.Equal(t, int64(300_006), s.allocate(t, "beyond", 5)[0].Value)
	s.addsUp(t)
}

// While Redis is away a REDIS type takes its blocks off the cursor, and the counter is raised when
// it is back.
func TestACounterThatIsAway(t *testing.T) {
	s := setupSources(t, sequence.SourceRedis)
	away, err := ledger.Open(s.dsn, ledger.WithCounter(brokenCounter{}))
	require.NoError(t, err)
	defer away.Close() //nolint:errcheck // the server goes with the test
	s.allocate(t, "first", 10)
	block, err := away.Allocate(t.Context(), "ORDER", me, "away", 10)
	require.NoError(t, err)
	require.Equal(t, int64(11), block[0].Value)
	require.Equal(t, int64(21), s.allocate(t, "back", 10)[0].Value)
	s.addsUp(t)
}

// The counter knows of blocks that nobody has told, e.g. of before processes remembered any.
func TestARaiseAsksTheCounter(t *testing.T) {
	s := setupSources(t, sequence.SourceRedis)
	s.allocate(t, "first", 20)
	s.forget(t, 4)
	known, err := s.process(t).Known(t.Context(), "ORDER")
	require.NoError(t, err)
	require.Equal(t, []sequence.Mark{{BizType: "ORDER", Value: 20}}, known)
	away, err := ledger.Open(s.dsn, ledger.WithCounter(brokenCounter{}))
	require.NoError(t, err)
	defer away.Close() //nolint:errcheck // the server goes with the test
	_, err = away.Known(t.Context(), "ORDER")
	require.ErrorIs(t, err, sequence.ErrUnavailable)
}

type brokenCounter struct{}

func (brokenCounter) Last(context.Context, string) (int64, error) {
	return 0, &sequence.UnavailableError{What: "the counter is away"}
}

func (brokenCounter) Take(context.Context, string, int64, int) (int64, error) {
	return 0, &sequence.UnavailableError{What: "the pool is away", Cause: errors.New("connection refused")}
}

// An AUTO_INCREMENT table that was lost and made again is raised above the cursor.
func TestAnAutoincTableThatWasLost(t *testing.T) {
	s := setupSources(t, sequence.SourceAutoinc)
	s.allocate(t, "first", 10)
	for _, loss := range []string{"DROP TABLE t_seq_autoinc_ORDER", "TRUNCATE TABLE t_seq_autoinc_ORDER"} {
		s.exec(t, loss)
		cursor := s.count(t, "SELECT value FROM t_seq_cursor WHERE biz_type = 'ORDER'")
		require.Equal(t, int64(cursor+1), s.allocate(t, loss, 5)[0].Value, loss)
	}
	s.addsUp(t)
	require.Zero(t, s.count(t, "SELECT COUNT(*) FROM t_seq_autoinc_ORDER"))
}

func TestAServerThatLeavesIDsOutIsRefused(t *testing.T) {
	b := setup(t)
	require.NoError(t, b.CheckServer(t.Context()))
	uneven, err := ledger.Open(b.dsn + "?auto_increment_increment=2")
	require.NoError(t, err)
	defer uneven.Close() //nolint:errcheck // the server goes with the test
	require.ErrorContains(t, uneven.CheckServer(t.Context()), "auto_increment_increment is 2")
}

// Two processes use a new biz type for the first time together, fifty times (C44).
func TestANewBizTypeIsUsedTogether(t *testing.T) {
	for _, source := range sequence.Sources {
		t.Run(strings.ToLower(source.String()), func(t *testing.T) {
			s := setupSources(t, source)
			for round := range 50 {
				b := order(t)
				b.Name, b.Source = fmt.Sprint("NEW_", round), source
				require.NoError(t, s.CreateBizType(t.Context(), b))
				var mu sync.Mutex
				seen := map[int64]bool{}
				var all sync.WaitGroup
				for caller := range 20 {
					l := []*ledger.Ledger{s.Ledger, s.other}[caller%2]
					all.Go(func() {
						block, err := l.Allocate(t.Context(), b.Name, me, uuid.NewString(), 1)
						require.NoError(t, err)
						mu.Lock()
						defer mu.Unlock()
						seen[block[0].Value] = true
					})
				}
				all.Wait()
				require.Len(t, seen, 20)
			}
		})
	}
}

// A counter that is moved back under two running processes gives no value twice.
func TestACounterThatIsMovedBack(t *testing.T) {
	s := setupSources(t, sequence.SourceRedis)
	const key = "lacuna:{ORDER}:counter"
	ctx, cancel := context.WithCancel(t.Context())
	var moving sync.WaitGroup
	moving.Go(func() {
		for value := 0; ctx.Err() == nil; value++ {
			if value%3 == 0 {
				_ = s.redis.Del(ctx, key).Err()
				continue
			}
			_ = s.redis.Set(ctx, key, value%50, 0).Err()
		}
	})
	for range 5 {
		s.together(t)
	}
	cancel()
	moving.Wait()
	s.addsUp(t)

	require.NoError(t, s.redis.FlushAll(t.Context()).Err(), "Redis loses everything")
	cursor := s.count(t, "SELECT value FROM t_seq_cursor WHERE biz_type = 'ORDER'")
	require.Equal(t, int64(cursor+1), s.allocate(t, "after", 1)[0].Value)
	counter, err := s.redis.Get(t.Context(), key).Int()
	require.NoError(t, err)
	require.Equal(t, cursor+1, counter, "it was raised above the highest allocated value")
}
