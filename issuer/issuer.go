package issuer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/lacuna-seq/lacuna/internal/batching"
	"github.com/lacuna-seq/lacuna/internal/courier"
	"github.com/lacuna-seq/lacuna/internal/telemetry"
	"github.com/lacuna-seq/lacuna/sequence"
)

// Ledger is what an issuer needs of the ledger; db/ledger says what each call means and returns.
type Ledger interface {
	Apply(ctx context.Context, commands []sequence.Command) ([]sequence.Decision, error)
	Allocate(ctx context.Context, bizType, owner, batchID string, count int) ([]sequence.Number, error)
	Held(ctx context.Context, batchID string) ([]sequence.Number, error)
	BizType(ctx context.Context, name string) (sequence.BizType, error)
	BizTypes(ctx context.Context) ([]sequence.BizType, error)
	Now(ctx context.Context) (time.Time, error)
	OldestOverdue(ctx context.Context) (map[sequence.State]time.Duration, error)
	PatrolAge(ctx context.Context) (time.Duration, error)
	Keyed(ctx context.Context, key sequence.IdempotencyKey) (sequence.KeyedAnswer, error)
	IssueKeyed(ctx context.Context, issues []sequence.KeyedIssue) ([]sequence.KeyedResult, error)
	BatchesHeldBy(ctx context.Context, issuer string) (map[string]int, error)
	RegisterIssuer(ctx context.Context, id, host string, lease time.Duration) error
	RenewLease(ctx context.Context, id string, lease time.Duration) error
	EndIssuer(ctx context.Context, id string) error
}

// Pool is what an issuer needs of the pool; db/pool says what each call means and returns.
type Pool interface {
	Pop(ctx context.Context, bizType, period string, count int) ([]sequence.PoolEntry, error)
	Push(ctx context.Context, entries []sequence.PoolEntry) error
	Remove(ctx context.Context, entries []sequence.PoolEntry) error
}

// Lifecycles starts and wakes the runs of numbers. An error means that nothing was taken.
type Lifecycles interface {
	// Start starts the run of the number's present life, asleep until left has passed. A run that
	// exists already is no error.
	Start(ctx context.Context, n sequence.Number, left time.Duration) error
	// Wake signals the run, and starts it if it is missing. ErrRunClosed where it has closed.
	Wake(ctx context.Context, n sequence.Number, kind sequence.Kind, bizKey string) error
	// Backlog is how far behind the workers are.
	Backlog(ctx context.Context) (Backlog, error)
}

// Backlog is what Temporal knows of those who work on the runs.
type Backlog struct {
	Age     time.Duration // how long the oldest task has waited for a worker
	Workers int           // how many processes ask for tasks
}

// ErrRunClosed is a wake that met a closed run: nothing was taken, and nothing had to be.
var ErrRunClosed = errors.New("the run of this life has closed")

// Issuer hands out numbers and settles them. It is safe for concurrent use.
type Issuer struct {
	host    string
	ledger  Ledger
	pool    Pool
	runs    Lifecycles
	log     *slog.Logger
	metrics *metrics
	tracer  trace.Tracer

	lease      atomic.Pointer[lease]
	leaseLasts time.Duration
	leasesLost atomic.Int64
	clock      atomic.Pointer[clock]

	buffers  sync.Map // biz type -> *buffer
	batches  *batches
	records  *recorder
	keyed    *batching.Coalescer[sequence.KeyedIssue, sequence.KeyedResult]
	keyedOut sync.WaitGroup // keyed calls whose numbers are not written down yet
	settle   *batching.Coalescer[sequence.Command, sequence.Decision]
	starts   *courier.Courier[start]
	wakes    *courier.Courier[wake]
	accepted *repeater
	storm    *storm
	tracker  *tracker
	overdue  *overdue
	rules    atomic.Pointer[map[string]sequence.BizType] // of all biz types, as they were last read

	stopped    atomic.Bool
	background context.Context //nolint:containedctx // the issuer's own life: what outlasts every call
	cancel     context.CancelFunc
	upkeep     sync.WaitGroup
}

// Option changes how an Issuer works.
type Option func(*options)

type options struct {
	log    *slog.Logger
	meter  metric.Meter
	tracer trace.Tracer
	lease  time.Duration
}

// WithLogger sends the issuer's lines to log.
func WithLogger(log *slog.Logger) Option { return func(o *options) { o.log = log } }

// WithMeter counts with meter; see metrics.go for the names.
func WithMeter(meter metric.Meter) Option { return func(o *options) { o.meter = meter } }

// WithTracer traces with tracer what outlives the calls.
func WithTracer(tracer trace.Tracer) Option { return func(o *options) { o.tracer = tracer } }

// WithLease makes a lease last for d, at least MinLease, instead of DefaultLease.
func WithLease(d time.Duration) Option { return func(o *options) { o.lease = max(d, MinLease) } }

// New registers a new issuer with the ledger and starts its background work; Stop ends it. The
// error is a sequence.UnavailableError while the ledger is away.
func New(ctx context.Context, ledger Ledger, pool Pool, runs Lifecycles, opts ...Option) (*Issuer, error) {
	o := options{log: slog.Default(), meter: noop.Meter{}, tracer: tracenoop.Tracer{}, lease: DefaultLease}
	for _, opt := range opts {
		opt(&o)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	i := &Issuer{host: host, ledger: ledger, pool: pool, runs: runs, tracer: o.tracer, log: o.log.With("component", "issuer"), leaseLasts: o.lease, batches: newBatches()}
	if err := i.readClock(ctx); err != nil {
		return nil, err
	}
	if err := i.beginLease(ctx); err != nil {
		return nil, err
	}
	if err := i.readSettings(ctx); err != nil {
		return nil, err
	}
	if i.metrics, err = newMetrics(o.meter); err != nil {
		return nil, err
	}
	i.background, i.cancel = context.WithCancel(context.WithoutCancel(ctx))
	i.starts = courier.New(startOptions, i.log.With("queue", "starts"), i.deliverStart)
	i.wakes = courier.New(wakeOptions, i.log.With("queue", "wakes"), i.deliverWake)
	i.settle = batching.New(i.applySettles, batching.Options{Join: telemetry.Join(o.tracer, "settle")})
	i.keyed = batching.New(i.issueKeyed, batching.Options{MaxSize: keyedBatch, Join: telemetry.Join(o.tracer, "record under keys")})
	i.storm = newStorm(i)
	i.overdue = &overdue{}
	i.tracker = newTracker(i)
	i.accepted = newRepeater(i)
	i.records = newRecorder(i)
	i.upkeep.Go(i.keepLease)
	i.upkeep.Go(i.keepSettings)
	i.upkeep.Go(i.storm.watch)
	if err := i.metrics.observe(o.meter, i); err != nil {
		return nil, errors.Join(err, i.Stop(ctx))
	}
	return i, nil
}

// ID names this issuer in the ledger. It is new at every start, and after a lease that was over.
func (i *Issuer) ID() string { return i.lease.Load().id }

// queueBudget is how long a stop goes on delivering what waits for Temporal. What is left finds its
// own way: a run that is not woken wakes at its deadline, and one that is missing is started by the patrol.
const queueBudget = 5 * time.Second

// leaveQueues delivers what waits for Temporal, within its budget.
func (i *Issuer) leaveQueues(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, queueBudget)
	defer cancel()
	if err := errors.Join(i.starts.Close(ctx), i.wakes.Close(ctx)); err != nil {
		i.log.WarnContext(ctx, "not all runs were started or woken before the stop; they are seen to when they are due", "error", err)
	}
}

// Stop hands nothing more out, writes down what was handed out, gives what is held back to the
// pool, delivers what waits for Temporal for a while, and ends the issuer in the ledger. When ctx ends first
// it returns an error that says what is left; that stays held in the ledger under this issuer.
func (i *Issuer) Stop(ctx context.Context) error {
	if !i.stopped.CompareAndSwap(false, true) {
		return nil
	}
	defer i.cancel()
	err := i.records.drain(ctx)
	held := i.takeAllHeld()
	// A call that was under way may have taken a number before the buffers were emptied.
	err = errors.Join(err, i.records.drain(ctx))
	i.cancel()
	i.upkeep.Wait()
	held = append(held, i.takeAllHeld()...)
	if len(held) > 0 {
		if backErr := i.handBack(ctx, held); backErr != nil {
			err = errors.Join(err, fmt.Errorf("%d numbers stay held: %w", len(held), backErr))
		}
	}
	i.keyedOut.Wait()
	i.records.close()
	i.leaveQueues(ctx)
	i.settle.Close()
	i.keyed.Close()
	if err == nil {
		err = i.ledger.EndIssuer(ctx, i.ID())
	}
	if err != nil {
		return fmt.Errorf("stop issuer %s: %w", i.ID(), err)
	}
	return nil
}
