package issuer

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/lacuna-seq/lacuna/internal/telemetry"
	"github.com/lacuna-seq/lacuna/sequence"
)

// metrics are the issuer's instruments. Labels are biz types that exist, kinds and outcomes, never
// a number. What the issue path counts it counts in its own atomics, read at a scrape.
type metrics struct {
	nextDuration metric.Float64Histogram
	claims       metric.Int64Counter
	records      metric.Int64Counter
	commands     metric.Int64Counter
	batches      metric.Int64Histogram
	deliveries   metric.Int64Counter
	observed     metric.Registration
}

func newMetrics(meter metric.Meter) (*metrics, error) {
	var m metrics
	var errs [6]error
	m.nextDuration, errs[0] = meter.Float64Histogram(telemetry.MetricNextDuration, metric.WithUnit("s"),
		metric.WithDescription("Time of one call of Next"),
		metric.WithExplicitBucketBoundaries(0.00001, 0.0001, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.05, 0.1, 0.5, 1))
	m.claims, errs[1] = meter.Int64Counter(telemetry.MetricClaims, metric.WithDescription("Numbers popped from the pool, by what became of their claim"))
	m.records, errs[2] = meter.Int64Counter(telemetry.MetricRecords, metric.WithDescription("Hand-outs written to the ledger"))
	m.commands, errs[3] = meter.Int64Counter(telemetry.MetricCommands, metric.WithDescription("Confirms and abandons, by outcome"))
	m.batches, errs[4] = meter.Int64Histogram(telemetry.MetricBatchSize, metric.WithDescription("Commands that shared one transaction"),
		metric.WithExplicitBucketBoundaries(1, 2, 5, 10, 25, 50, 100, 250, 500))
	m.deliveries, errs[5] = meter.Int64Counter(telemetry.MetricDeliveries, metric.WithDescription("Tries to start or wake a lifecycle, by result"))
	return &m, errors.Join(errs[:]...)
}

// observe reads the issuer's own counts at every scrape.
func (m *metrics) observe(meter metric.Meter, i *Issuer) error {
	var errs [13]error
	overdue, err := meter.Float64ObservableGauge(telemetry.MetricOverdue, metric.WithDescription("For how long the number is overdue that is so for longest, by state"))
	errs[6] = err
	patrolAge, err := meter.Float64ObservableGauge(telemetry.MetricPatrolAge, metric.WithDescription("How long ago the patrol last finished a round in which no step failed"))
	errs[7] = err
	issued, err := meter.Int64ObservableCounter(telemetry.MetricIssued, metric.WithDescription("Numbers handed out, by where they came from"))
	errs[0] = err
	held, err := meter.Int64ObservableGauge(telemetry.MetricHeld, metric.WithDescription("Numbers in this process's memory"))
	errs[1] = err
	queued, err := meter.Int64ObservableGauge(telemetry.MetricQueued, metric.WithDescription("Things that wait in this process"))
	errs[2] = err
	dropped, err := meter.Int64ObservableCounter(telemetry.MetricDropped, metric.WithDescription("Starts and wakes that a full queue dropped; the patrol sees to their numbers"))
	errs[3] = err
	used, err := meter.Float64ObservableGauge(telemetry.MetricFormatUsed, metric.WithDescription("Part of the format's values that is allocated, of the period that runs, 0 to 1"))
	errs[5] = err
	leasesLost, err := meter.Int64ObservableCounter(telemetry.MetricLeasesLost, metric.WithDescription("Leases that were over before they could be renewed; what was held under them is recovered"))
	errs[8] = err
	leaseLeft, err := meter.Float64ObservableGauge(telemetry.MetricLeaseLeft, metric.WithUnit("s"), metric.WithDescription("How long this process may still hand out numbers without hearing from the ledger; 0 once it may not"))
	errs[9] = err
	pollers, err := meter.Int64ObservableGauge(telemetry.MetricPollers, metric.WithDescription("Workers that Temporal has seen ask for the tasks of lifecycles within 90 s"))
	errs[10] = err
	backlogAge, err := meter.Float64ObservableGauge(telemetry.MetricBacklogAge, metric.WithUnit("s"), metric.WithDescription("How long the oldest task of the lifecycles has waited for a worker"))
	errs[11] = err
	behind, err := meter.Int64ObservableGauge(telemetry.MetricLedgerBehind, metric.WithDescription("By how many numbers the ledger was found behind what was seen of it, 1 at least; 0 where it was not"))
	errs[12] = err
	queue := func(name string) metric.MeasurementOption {
		return metric.WithAttributes(attribute.String(telemetry.KeyQueue, name))
	}
	m.observed, errs[4] = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		i.buffers.Range(func(name, value any) bool {
			b := value.(*buffer)                                             //nolint:forcetypeassert // the map holds buffers only
			bizType := attribute.String(telemetry.KeyBizType, name.(string)) //nolint:forcetypeassert // its keys are names
			claimed := metric.WithAttributes(bizType, attribute.String(telemetry.KeySource, "pool"))
			fresh := metric.WithAttributes(bizType, attribute.String(telemetry.KeySource, strings.ToLower(b.rules.Load().Source.String())))
			o.ObserveInt64(issued, b.issuedClaimed.Load(), claimed)
			o.ObserveInt64(issued, b.issuedFresh.Load(), fresh)
			o.ObserveInt64(held, int64(b.claimed.left()), claimed)
			o.ObserveInt64(held, int64(b.fresh.left()), fresh)
			if value := b.used.Load(); value > 0 { // this process has allocated
				o.ObserveFloat64(used, float64(value)/float64(b.rules.Load().Format.Max()), metric.WithAttributes(bizType))
			}
			return true
		})
		for name, rules := range *i.rules.Load() {
			o.ObserveInt64(behind, rules.SteppedBack, metric.WithAttributes(attribute.String(telemetry.KeyBizType, name)))
		}
		if oldest := i.overdue.oldest.Load(); oldest != nil {
			for state, age := range *oldest {
				o.ObserveFloat64(overdue, age.Seconds(), metric.WithAttributes(attribute.String(telemetry.KeyState, state.String())))
			}
		}
		if age := i.overdue.patrol.Load(); age != nil {
			o.ObserveFloat64(patrolAge, age.Seconds())
		}
		o.ObserveFloat64(leaseLeft, max(0, i.lease.Load().left(time.Now())).Seconds())
		if backlog := i.storm.backlog.Load(); i.storm.asked.Load() {
			o.ObserveInt64(pollers, int64(backlog.Workers))
			o.ObserveFloat64(backlogAge, backlog.Age.Seconds())
		}
		o.ObserveInt64(leasesLost, i.leasesLost.Load())
		o.ObserveInt64(queued, i.records.depth(), queue("records"))
		o.ObserveInt64(queued, i.starts.Waiting(), queue("starts"))
		o.ObserveInt64(queued, i.wakes.Waiting(), queue("wakes"))
		o.ObserveInt64(queued, int64(i.accepted.waiting()), queue("accepted"))
		o.ObserveInt64(queued, int64(i.tracker.waiting()), queue("untracked"))
		o.ObserveInt64(dropped, i.tracker.dropped.Load(), queue("untracked"))
		o.ObserveInt64(dropped, i.starts.Dropped(), queue("starts"))
		o.ObserveInt64(dropped, i.wakes.Dropped(), queue("wakes"))
		return nil
	}, issued, held, used, queued, dropped, overdue, patrolAge, leasesLost, leaseLeft, pollers, backlogAge, behind)
	return errors.Join(errs[:]...)
}

// The background calls below have no caller whose context could carry a trace.

func (m *metrics) next(took time.Duration) {
	m.nextDuration.Record(context.Background(), took.Seconds())
}

func (m *metrics) batch(kind string, size int) {
	m.batches.Record(context.Background(), int64(size), metric.WithAttributes(attribute.String(telemetry.KeyKind, kind)))
}

func (m *metrics) claimed(bizType string, won, lost int) {
	add := func(n int, result string) {
		m.claims.Add(context.Background(), int64(n), metric.WithAttributes(
			attribute.String(telemetry.KeyBizType, bizType), attribute.String(telemetry.KeyResult, result)))
	}
	add(won, "won")
	add(lost, "lost")
}

func (m *metrics) recorded(bizType string, outcome sequence.Outcome) {
	m.records.Add(context.Background(), 1, metric.WithAttributes(
		attribute.String(telemetry.KeyBizType, bizType), attribute.String(telemetry.KeyOutcome, outcome.String())))
}

// settled counts a command. A biz type that the ledger does not know is folded into one label.
func (m *metrics) settled(c sequence.Command, r Result) {
	bizType, outcome := r.Number.BizType, r.Outcome.String()
	if bizType == "" {
		bizType = telemetry.UnknownBizType
	}
	if r.Outcome == 0 {
		outcome = "UNAVAILABLE"
	}
	m.commands.Add(context.Background(), 1, metric.WithAttributes(
		attribute.String(telemetry.KeyBizType, bizType), attribute.String(telemetry.KeyKind, c.Kind.String()),
		attribute.String(telemetry.KeyOutcome, outcome)))
}

func (m *metrics) delivered(what string, err error) {
	result := "done"
	if err != nil {
		result = "failed"
	}
	m.deliveries.Add(context.Background(), 1, metric.WithAttributes(
		attribute.String(telemetry.KeyKind, what), attribute.String(telemetry.KeyResult, result)))
}
