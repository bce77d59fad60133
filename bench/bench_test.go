// Package bench measures: rates and ratios of one run, on real servers. `make bench` prints them;
// nothing here passes or fails by a time.
package bench

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/db/migrations"
	"github.com/lacuna-seq/lacuna/db/pool"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/issuer"
	"github.com/lacuna-seq/lacuna/sequence"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const owner = "issuer-bench"

func openLedger(b *testing.B) *ledger.Ledger {
	b.Helper()
	l, err := ledger.Open(testkit.MariaDB(b), ledger.WithLogger(slog.New(slog.DiscardHandler)))
	require.NoError(b, err)
	b.Cleanup(func() { _ = l.Close() })
	_, err = migrations.Up(b.Context(), l.DB())
	require.NoError(b, err)
	format, err := sequence.ParseFormat("A-{seq:12}")
	require.NoError(b, err)
	order := sequence.NewBizType("ORDER", format)
	order.StepMin, order.StepMax = sequence.MaxStep, sequence.MaxStep
	require.NoError(b, l.CreateBizType(b.Context(), order))
	require.NoError(b, l.RegisterIssuer(b.Context(), owner, "bench", time.Hour))
	return l
}

// runs takes every lifecycle and does nothing: Temporal's own rate is not measured here.
type runs struct{}

func (runs) Start(context.Context, sequence.Number, time.Duration) error { return nil }

func (runs) Backlog(context.Context) (issuer.Backlog, error) { return issuer.Backlog{Workers: 1}, nil }

func (runs) Wake(context.Context, sequence.Number, sequence.Kind, string) error { return nil }

// BenchmarkNext takes numbers out of memory, in rounds that memory can serve, with one caller for
// each processor: run it with -cpu=1,2 to see that callers do not wait for each other. Between the
// rounds the refill and the record queue catch up, untimed.
func BenchmarkNext(b *testing.B) {
	b.Run("untraced", func(b *testing.B) { benchNext(b, b.Context()) })
	ctx, span := sdktrace.NewTracerProvider().Tracer("bench").Start(b.Context(), "call")
	defer span.End()
	b.Run("traced", func(b *testing.B) { benchNext(b, ctx) })
}

func benchNext(b *testing.B, ctx context.Context) { //nolint:revive // a benchmark comes first
	l := openLedger(b)
	p, err := pool.Open(testkit.Redis(b))
	require.NoError(b, err)
	b.Cleanup(func() { _ = p.Close() })
	i, err := issuer.New(b.Context(), l, p, runs{}, issuer.WithLogger(slog.New(slog.DiscardHandler)))
	require.NoError(b, err)
	b.Cleanup(func() { _ = i.Stop(context.Background()) })
	request := issuer.Request{BizType: "ORDER", BizKey: "o-1", Count: 1}
	const round = 2000
	var timed time.Duration
	var took []time.Duration
	for done := 0; done < b.N; done += round {
		_, err := i.Next(ctx, request) // fills memory where it was cold
		require.NoError(b, err)
		wait := time.NewTimer(300 * time.Millisecond)
		<-wait.C
		callers := runtime.GOMAXPROCS(0)
		part := make([]time.Duration, round)
		var all sync.WaitGroup
		begun := time.Now()
		for c := range callers {
			all.Go(func() {
				for n := c; n < round; n += callers {
					began := time.Now()
					if _, err := i.Next(ctx, request); err != nil {
						b.Error(err)
					}
					part[n] = time.Since(began)
				}
			})
		}
		all.Wait()
		timed += time.Since(begun)
		took = append(took, part...)
	}
	slices.Sort(took)
	b.ReportMetric(0, "ns/op") // the rounds alone count
	b.ReportMetric(timed.Seconds()*1e9/float64(len(took)), "ns/number")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e3, "p99-us")
}

// BenchmarkLedger compares the two writes that every number costs, through the ledger, with the
// barest form of the same: a 500-row INSERT and a 500-row guarded UPDATE.
func BenchmarkLedger(b *testing.B) {
	b.Run("untraced", func(b *testing.B) { benchLedger(b, func(int64) string { return "" }) })
	b.Run("traced", func(b *testing.B) {
		benchLedger(b, func(n int64) string { return fmt.Sprintf("00-0af7651916cd43dd8448eb211c80319c-%016x-01", n) })
	})
}

func benchLedger(b *testing.B, traceOf func(value int64) string) {
	l := openLedger(b)
	const rows = ledger.MaxBatch
	var through, bare time.Duration
	batch := 0
	for b.Loop() {
		batch++
		begun := time.Now()
		numbers, err := l.Allocate(b.Context(), "ORDER", owner, fmt.Sprint("batch-", batch), rows)
		require.NoError(b, err)
		commands := make([]sequence.Command, rows)
		for i, n := range numbers {
			commands[i] = sequence.Command{Kind: sequence.Record, Ticket: n.NextTicket(), Owner: owner, BatchID: n.BatchID, BizKey: fmt.Sprint("o-", n.Value), Trace: traceOf(n.Value)}
		}
		_, err = l.Apply(b.Context(), commands)
		require.NoError(b, err)
		through += time.Since(begun)
		bare += bareWrites(b, l, batch)
	}
	b.ReportMetric(float64(rows*batch)/through.Seconds(), "numbers/s")
	b.ReportMetric(float64(rows*batch)/bare.Seconds(), "bare-numbers/s")
	b.ReportMetric(bare.Seconds()/through.Seconds(), "ratio")
}

func bareWrites(b *testing.B, l *ledger.Ledger, batch int) time.Duration {
	b.Helper()
	values := make([]string, ledger.MaxBatch)
	ids := make([]string, ledger.MaxBatch)
	for i := range values {
		value := batch*ledger.MaxBatch + i
		values[i] = fmt.Sprintf("('BARE', 'A-%012d', %d, 'batch-%d', 0, '%s')", value, value, batch, owner)
	}
	begun := time.Now()
	result, err := l.DB().ExecContext(b.Context(), "INSERT INTO t_seq_issue_log (biz_type, seq_no, value, batch_id, status, owner) VALUES "+strings.Join(values, ","))
	require.NoError(b, err)
	first, err := result.LastInsertId()
	require.NoError(b, err)
	for i := range ids {
		ids[i] = fmt.Sprint(first + int64(i))
	}
	_, err = l.DB().ExecContext(b.Context(), `UPDATE t_seq_issue_log SET status = 1, life = life + 1, version = version + 1, owner = '', biz_key = 'o-1',
		issued_time = UTC_TIMESTAMP(6), deadline = UTC_TIMESTAMP(6) + INTERVAL 900 SECOND WHERE id IN (`+strings.Join(ids, ",")+`) AND status = 0 AND version = 0`)
	require.NoError(b, err)
	return time.Since(begun)
}

// BenchmarkSettle confirms numbers, 64 callers at a time, one command a call.
func BenchmarkSettle(b *testing.B) {
	l := openLedger(b)
	p, err := pool.Open(testkit.Redis(b))
	require.NoError(b, err)
	b.Cleanup(func() { _ = p.Close() })
	i, err := issuer.New(b.Context(), l, p, runs{}, issuer.WithLogger(slog.New(slog.DiscardHandler)))
	require.NoError(b, err)
	b.Cleanup(func() { _ = i.Stop(context.Background()) })
	const count = 20_000
	var tickets []sequence.Ticket
	for len(tickets) < count {
		issued, err := i.Next(b.Context(), issuer.Request{BizType: "ORDER", Count: 1000})
		require.NoError(b, err)
		for _, n := range issued {
			ticket, err := sequence.ParseTicket(n.Ticket)
			require.NoError(b, err)
			tickets = append(tickets, ticket)
		}
	}
	var next atomic.Int64
	took := make([]time.Duration, count)
	b.SetParallelism(32)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			n := next.Add(1) - 1
			begun := time.Now()
			if _, err := i.Settle(b.Context(), []sequence.Command{{Kind: sequence.Confirm, Ticket: tickets[n%count]}}); err != nil {
				b.Error(err)
			}
			took[n%count] = time.Since(begun)
		}
	})
	done := took[:min(next.Load(), count)]
	slices.Sort(done)
	b.ReportMetric(float64(done[len(done)*99/100])/1e6, "p99-ms")
}
