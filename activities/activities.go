package activities

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"github.com/lacuna-seq/lacuna/internal/batching"
	"github.com/lacuna-seq/lacuna/sequence"
)

// Names under which the activities are registered. They stand in histories: never change them.
const (
	SettleName     = "Settle"
	ProbeName      = "Probe"
	ReplayName     = "Replay"
	DeadLetterName = "DeadLetter"
	RequeueName    = "Requeue"
)

// Ledger is what the activities need of the ledger.
type Ledger interface {
	// Apply decides every command under its row's lock, in order, and answers each in its place. A
	// number without a row is OutcomeNotFound. An error means that nothing is known of some of
	// the commands; it is sequence.ErrUnavailable while the ledger is away.
	Apply(ctx context.Context, commands []sequence.Command) ([]sequence.Decision, error)
}

// Pool is what the activities need of the pool.
type Pool interface {
	// Push puts numbers into their pools; a number that is there already stays there once.
	Push(ctx context.Context, entries []sequence.PoolEntry) error
	// Remove takes numbers out of their pools where they are there.
	Remove(ctx context.Context, entries []sequence.PoolEntry) error
}

// Prober asks the business whether it holds a number; package probe is one.
type Prober interface {
	// Ask: an error is no answer, and never means "no".
	Ask(ctx context.Context, how sequence.Probe, ticket sequence.Ticket) (inUse bool, err error)
}

// Time limits of one joined call. They end the call, not the activity, which asks again.
const (
	applyTimeout = 20 * time.Second
	pushTimeout  = 5 * time.Second
)

// Activities takes one number through its life. It is safe for concurrent use.
type Activities struct {
	pool   Pool
	prober Prober
	log    *slog.Logger
	apply  *batching.Coalescer[sequence.Command, sequence.Decision]
	push   *batching.Coalescer[sequence.PoolEntry, struct{}]
}

// Option changes how Activities work.
type Option func(*options)

type options struct {
	join func(name string) batching.Join
}

// WithJoin makes the context of what many activities do together; join is called with what that is.
func WithJoin(join func(name string) batching.Join) Option { return func(o *options) { o.join = join } }

// New starts the coalescers; Close ends them.
func New(ledger Ledger, pool Pool, prober Prober, log *slog.Logger, opts ...Option) *Activities {
	o := options{join: func(string) batching.Join { return nil }}
	for _, opt := range opts {
		opt(&o)
	}
	return &Activities{
		pool:   pool,
		prober: prober,
		log:    log.With("component", "activities"),
		apply: batching.New(func(ctx context.Context, commands []sequence.Command) ([]sequence.Decision, error) {
			ctx, cancel := context.WithTimeout(ctx, applyTimeout)
			defer cancel()
			return ledger.Apply(ctx, commands)
		}, batching.Options{Join: o.join("apply")}),
		push: batching.New(func(ctx context.Context, entries []sequence.PoolEntry) ([]struct{}, error) {
			ctx, cancel := context.WithTimeout(ctx, pushTimeout)
			defer cancel()
			return make([]struct{}, len(entries)), pool.Push(ctx, entries)
		}, batching.Options{Join: o.join("push")}),
	}
}

// Close carries out what is queued. The worker calls it after its activities have ended.
func (a *Activities) Close() {
	a.apply.Close()
	a.push.Close()
}

// Command is a confirm or an abandon that came to the lifecycle as a signal.
type Command struct {
	Kind   string `json:"kind"` // "confirm" or "abandon"
	BizKey string `json:"bizKey,omitempty"`
}

// SettleInput asks to settle one life of one number.
type SettleInput struct {
	Ticket   string    `json:"ticket"`
	Commands []Command `json:"commands,omitempty"` // in the order in which they are carried out
}

// SettleResult says where the number stands after it.
type SettleResult struct {
	// Outcome is what the final check came to: UNCHANGED, EXPIRED, DEAD, PENDING, NOT_FOUND or SUPERSEDED.
	Outcome sequence.Outcome `json:"outcome"`
	// State is the row's, and means this life only while Outcome is UNCHANGED, EXPIRED or DEAD.
	State sequence.State `json:"state"`
	// Wait is the time left to the row's deadline while it is Allocated or Abandoned.
	Wait time.Duration `json:"wait"`
	// Probe: the business is to be asked before the number is replayed.
	Probe bool `json:"probe,omitempty"`
	// Commands are the outcomes of the commands, in their order.
	Commands []sequence.Outcome `json:"commands,omitempty"`
	Reason   string             `json:"reason,omitempty"`
}

// Settle carries out the commands, then expires the number if it is still not confirmed and its
// time is over. Repeating it is harmless. It fails, retryably, while the ledger is away.
func (a *Activities) Settle(ctx context.Context, in SettleInput) (SettleResult, error) {
	ticket, err := sequence.ParseTicket(in.Ticket)
	if err != nil {
		return SettleResult{}, invalidInput(err)
	}
	commands := make([]sequence.Command, 0, len(in.Commands)+1)
	for _, c := range in.Commands {
		kind, err := kindOf(c.Kind)
		if err != nil {
			return SettleResult{}, invalidInput(err)
		}
		commands = append(commands, sequence.Command{Kind: kind, Ticket: ticket, BizKey: c.BizKey})
	}
	decisions, err := a.apply.Do(ctx, append(commands, sequence.Command{Kind: sequence.Check, Ticket: ticket})...)
	if err != nil {
		return SettleResult{}, ledgerAway(err)
	}
	for i, d := range decisions {
		if d.SteppedBack && d.Outcome == sequence.OutcomePending { // nobody can tell before the ledger is raised
			return SettleResult{}, ledgerAway(sequence.Answer(append(commands, sequence.Command{Ticket: ticket})[i], d))
		}
	}
	last := decisions[len(decisions)-1]
	result := SettleResult{Outcome: last.Outcome, State: last.Number.State, Wait: last.Wait, Reason: last.Number.Reason, Probe: last.Probe.Asks()}
	for _, d := range decisions[:len(decisions)-1] {
		result.Commands = append(result.Commands, d.Outcome)
		if d.Outcome == sequence.OutcomeRescued {
			forget(ctx, a.pool, a.log, []sequence.PoolEntry{d.Pool})
		}
	}
	return result, nil
}

// forget takes numbers out of the pool that are not free any more. It only saves a claim that would find
// that out, so a failure is none.
func forget(ctx context.Context, pool Pool, log *slog.Logger, entries []sequence.PoolEntry) {
	if err := pool.Remove(ctx, entries); err != nil {
		log.DebugContext(ctx, "numbers that are not free any more may still be in the pool", "count", len(entries), "error", err)
	}
}

func kindOf(name string) (sequence.Kind, error) {
	for _, kind := range []sequence.Kind{sequence.Confirm, sequence.Abandon} {
		if kind.String() == name {
			return kind, nil
		}
	}
	return 0, errors.New("the command is neither confirm nor abandon")
}

// Register adds the activities to a worker under their names.
func (a *Activities) Register(r worker.ActivityRegistry) {
	r.RegisterActivityWithOptions(a.Settle, activity.RegisterOptions{Name: SettleName})
	r.RegisterActivityWithOptions(a.Probe, activity.RegisterOptions{Name: ProbeName})
	r.RegisterActivityWithOptions(a.DeadLetter, activity.RegisterOptions{Name: DeadLetterName})
	r.RegisterActivityWithOptions(a.Requeue, activity.RegisterOptions{Name: RequeueName})
	r.RegisterActivityWithOptions(a.Replay, activity.RegisterOptions{Name: ReplayName})
}
