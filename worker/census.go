package main

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/db/pool"
	"github.com/lacuna-seq/lacuna/internal/telemetry"
	"github.com/lacuna-seq/lacuna/internal/wait"
	"github.com/lacuna-seq/lacuna/sequence"
)

// The rhythm of the census: its figures are of all processes, so that a few workers that count now and then do, and
// what is older than its age is not shown any more.
const (
	censusEvery   = 15 * time.Second
	censusTimeout = 10 * time.Second
	censusAge     = time.Minute
)

// census shows how many numbers stand where. Every worker does, each for itself: take the largest, not the sum.
type census struct {
	ledger *ledger.Ledger
	pool   *pool.Pool
	log    *slog.Logger
	last   atomic.Pointer[taken]
}

// taken is what was counted, and when.
type taken struct {
	ledger.Census
	bizTypes []string
	pools    map[string]int64 // how many numbers the pools hold; nil while Redis is away
	at       time.Time
}

// startCensus counts until ctx ends.
func startCensus(ctx context.Context, l *ledger.Ledger, p *pool.Pool, log *slog.Logger, meter metric.Meter) error {
	c := &census{ledger: l, pool: p, log: log.With("component", "census")}
	if err := c.show(meter); err != nil {
		return err
	}
	go func() {
		for {
			c.round(ctx)
			if wait.For(ctx, censusEvery) != nil {
				return
			}
		}
	}()
	return nil
}

func (c *census) round(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, censusTimeout)
	defer cancel()
	t, err := c.take(ctx)
	if err != nil {
		c.log.DebugContext(ctx, "nobody knows how many numbers stand where", "error", err)
		return
	}
	c.last.Store(&t)
}

func (c *census) take(ctx context.Context) (t taken, err error) {
	if t.Census, err = c.ledger.Census(ctx); err != nil {
		return t, err
	}
	types, err := c.ledger.BizTypes(ctx)
	if err != nil {
		return t, err
	}
	now, err := c.ledger.Now(ctx)
	if err != nil {
		return t, err
	}
	pools := map[string]int64{}
	for _, b := range types {
		t.bizTypes = append(t.bizTypes, b.Name)
		if pools == nil {
			continue
		}
		size, err := c.pool.Size(ctx, b.Name, poolPeriod(b, now))
		if err != nil {
			c.log.DebugContext(ctx, "nobody knows how many numbers the pools hold", "error", err)
			pools = nil
			continue
		}
		pools[b.Name] = size
	}
	t.pools, t.at = pools, time.Now()
	return t, nil
}

// poolPeriod is the period of the pool that is issued from now.
func poolPeriod(b sequence.BizType, now time.Time) string {
	if b.Reuse == sequence.ReuseSamePeriod {
		return b.Period(now)
	}
	return ""
}

func (c *census) show(meter metric.Meter) error {
	var errs [5]error
	numbers, err := meter.Int64ObservableGauge(telemetry.MetricNumbers, metric.WithDescription("Numbers by state, all but CONFIRMED; counted up to 200,000"))
	errs[0] = err
	window, err := meter.Float64ObservableGauge(telemetry.MetricWindowAge, metric.WithUnit("s"), metric.WithDescription("How long ago the number was given up whose safety window ends first"))
	errs[1] = err
	pools, err := meter.Int64ObservableGauge(telemetry.MetricPool, metric.WithDescription("Numbers in the pool"))
	errs[2] = err
	dead, err := meter.Int64ObservableGauge(telemetry.MetricDeadLetters, metric.WithDescription("Dead letters that wait for a person; counted up to 200,000"))
	errs[3] = err
	_, errs[4] = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		last := c.last.Load()
		if last == nil || time.Since(last.at) > censusAge {
			return nil
		}
		for state, n := range last.States {
			o.ObserveInt64(numbers, n, metric.WithAttributes(attribute.String(telemetry.KeyState, state.String())))
		}
		o.ObserveFloat64(window, last.OldestInWindow.Seconds())
		for _, name := range last.bizTypes {
			of := metric.WithAttributes(attribute.String(telemetry.KeyBizType, name))
			o.ObserveInt64(dead, last.DeadLetters[name], of)
			if last.pools != nil {
				o.ObserveInt64(pools, last.pools[name], of)
			}
		}
		return nil
	}, numbers, window, pools, dead)
	return errors.Join(errs[:]...)
}
