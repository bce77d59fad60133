package issuer

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/lacuna-seq/lacuna/internal/telemetry"
	"github.com/lacuna-seq/lacuna/internal/wait"
	"github.com/lacuna-seq/lacuna/sequence"
)

// Bounds of a call of Settle.
const (
	// MaxSettle is the most commands of one call.
	MaxSettle = 1_000
	// pendingWait is how long a command waits for the record of its own hand-out, or for the
	// decision of a claim.
	pendingWait = time.Second
	// settleTimeout is when a ledger that does not answer counts as away.
	settleTimeout = 2 * time.Second
)

// Result is the answer to one command.
type Result struct {
	Outcome sequence.Outcome
	// Number is the row after the command; zero where there is none or the ledger is away.
	Number sequence.Number
	// Err is nil where the command did, or had already done, what was asked; see sequence.Answer.
	Err error

	left time.Duration // to the number's deadline
}

// Settle carries out confirms and abandons, at most MaxSettle, and answers each in its place. A
// command names a life by its ticket, or none (life 0) while the number has had only one. While
// the ledger is away a command that Temporal took durably is answered ACCEPTED, and repeated to
// the ledger until it is carried out; where Temporal is away too it is ErrUnavailable and nothing
// was taken.
func (i *Issuer) Settle(ctx context.Context, commands []sequence.Command) ([]Result, error) {
	if len(commands) == 0 || len(commands) > MaxSettle {
		return nil, sequence.Invalidf("commands", "%d commands are not from 1 to %d", len(commands), MaxSettle)
	}
	for _, c := range commands {
		if c.Kind != sequence.Confirm && c.Kind != sequence.Abandon {
			return nil, sequence.Invalidf("action", "%s is neither confirm nor abandon", c.Kind)
		}
		if err := validate(c); err != nil {
			return nil, err
		}
	}
	return i.answer(ctx, commands), nil
}

// Bounds of an extension.
const (
	minExtension = time.Millisecond
	maxExtension = sequence.MaxConfirmTimeout
)

// Extend gives the holder of an ALLOCATED number as much time from now on as it asks for, 1 ms to 30 days,
// within what its biz type allows, and answers by when it has to confirm; less than what is left changes
// nothing. The error is as of Settle; while the ledger is away it is ErrUnavailable.
func (i *Issuer) Extend(ctx context.Context, ticket sequence.Ticket, holdFor time.Duration) (confirmBy time.Time, err error) {
	if holdFor < minExtension || holdFor > maxExtension {
		return time.Time{}, sequence.Invalidf("holdFor", "%s is not from %s to %s", holdFor, minExtension, maxExtension)
	}
	command := sequence.Command{Kind: sequence.Extend, Ticket: ticket, For: holdFor}
	if err := validate(command); err != nil {
		return time.Time{}, err
	}
	result := i.answer(ctx, []sequence.Command{command})[0]
	return time.Now().Add(result.left), result.Err
}

// answer decides commands that are well formed and answers each in its place.
func (i *Issuer) answer(ctx context.Context, commands []sequence.Command) []Result {
	results := make([]Result, len(commands))
	open := make([]int, len(commands)) // the commands that have no answer yet
	for j := range open {
		open[j] = j
	}
	deadline := time.Now().Add(pendingWait)
	for pause := 2 * time.Millisecond; len(open) > 0; pause = min(2*pause, 50*time.Millisecond) {
		decisions, err := i.decide(ctx, commands, open)
		if err != nil {
			for _, j := range open {
				results[j] = i.accept(ctx, commands[j], err)
			}
			break
		}
		var pending []int
		for k, j := range open {
			if decisions[k].Outcome == sequence.OutcomePending && time.Now().Before(deadline) && ctx.Err() == nil {
				pending = append(pending, j)
				continue
			}
			results[j] = i.settled(ctx, commands[j], decisions[k])
		}
		if open = pending; len(open) > 0 {
			_ = wait.For(ctx, pause) // the next round answers where ctx has ended
		}
	}
	for j, r := range results {
		i.metrics.settled(commands[j], r)
	}
	return results
}

func validate(c sequence.Command) error {
	if err := sequence.ValidateBizTypeName(c.Ticket.BizType); err != nil {
		return err
	}
	if err := sequence.ValidateSeqNo(c.Ticket.SeqNo); err != nil {
		return err
	}
	return sequence.ValidateBizKey(c.BizKey)
}

// decide joins the open commands to the next transaction. The batch outlives its callers.
func (i *Issuer) decide(ctx context.Context, commands []sequence.Command, open []int) ([]sequence.Decision, error) {
	ask := make([]sequence.Command, len(open))
	for k, j := range open {
		ask[k] = commands[j]
	}
	ctx, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	return i.settle.Do(ctx, ask...)
}

// applySettles is the coalescer's flush.
func (i *Issuer) applySettles(ctx context.Context, commands []sequence.Command) ([]sequence.Decision, error) {
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	i.metrics.batch("settle", len(commands))
	if i.storm.rages() {
		for j := range commands {
			commands[j].Untracked = commands[j].Kind == sequence.Abandon
		}
	}
	return i.ledger.Apply(ctx, commands)
}

// settled answers a decided command and wakes the run that it concerns. The caller's trace is linked to that of the
// number's life.
func (i *Issuer) settled(ctx context.Context, c sequence.Command, d sequence.Decision) Result {
	telemetry.LinkTo(ctx, d.Number.Trace)
	switch d.Outcome {
	case sequence.OutcomeRescued, sequence.OutcomeConfirmed, sequence.OutcomeAbandoned:
		i.tracker.forget(d.Number)
		w := wake{number: d.Number, kind: c.Kind, bizKey: c.BizKey, rescued: d.Outcome == sequence.OutcomeRescued, pool: d.Pool, cause: trace.SpanContextFromContext(ctx)}
		// A run that is not woken follows its row at its own deadline.
		w.noRun = !d.Number.Tracked || c.Kind == sequence.Confirm && i.storm.rages()
		if w.rescued || !w.noRun {
			i.wakes.Send(w)
		}
	case sequence.OutcomeConflict:
		i.log.ErrorContext(ctx, "two holders met at one number", "ticket", c.Ticket.String(), "asked", c.Ticket.String(), "asked_biz_key", c.BizKey,
			"current", d.Number.Ticket().String(), "current_biz_key", d.Number.BizKey, "state", d.Number.State.String())
	default:
	}
	return Result{Outcome: d.Outcome, Number: d.Number, Err: sequence.Answer(c, d), left: d.Wait}
}

// accept hands a command to Temporal, since the ledger is away.
func (i *Issuer) accept(ctx context.Context, c sequence.Command, cause error) Result {
	if !errors.Is(cause, sequence.ErrUnavailable) && !errors.Is(cause, context.DeadlineExceeded) && !errors.Is(cause, context.Canceled) {
		return Result{Err: cause}
	}
	away := &sequence.UnavailableError{What: "the ledger is away", Cause: cause}
	// Where no number has a run, nothing would look for one before the number is issued again.
	noRuns := (*i.rules.Load())[c.Ticket.BizType].Track == sequence.TrackNone
	if noRuns || c.Kind == sequence.Extend || c.Ticket.Life == 0 || !i.accepted.hasRoom() {
		return Result{Err: away}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	n := sequence.Number{BizType: c.Ticket.BizType, SeqNo: c.Ticket.SeqNo, Life: c.Ticket.Life}
	if err := i.runs.Wake(ctx, n, c.Kind, c.BizKey); err != nil {
		if !errors.Is(err, ErrRunClosed) {
			away.What = "the ledger and Temporal are away"
		}
		away.Cause = errors.Join(cause, err)
		return Result{Err: away}
	}
	i.accepted.add(c)
	return Result{Outcome: sequence.OutcomeAccepted}
}
