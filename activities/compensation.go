package activities

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"github.com/lacuna-seq/lacuna/sequence"
)

// Names under which the activities of Compensation are registered. They stand in histories.
const (
	TakeOnName     = "TakeOn"
	ProbeManyName  = "ProbeMany"
	ReplayManyName = "ReplayMany"
	BuryManyName   = "BuryMany"
)

const (
	// takenSlack is how much longer than its timers a Compensation may need before others take its
	// numbers on.
	takenSlack = time.Minute
	// probesAtOnce is how many questions are under way: the business's own traffic comes first.
	probesAtOnce = 8
)

// Numbers are tickets of one biz type.
type Numbers struct {
	BizType string   `json:"bizType"`
	Tickets []string `json:"tickets"`
}

// Compensation is the activities of the workflow that finishes many numbers at once.
type Compensation struct {
	ledger Ledger
	pool   Pool
	runs   Runs
	prober Prober
	log    *slog.Logger
}

// NewCompensation makes them.
func NewCompensation(ledger Ledger, pool Pool, runs Runs, prober Prober, log *slog.Logger) *Compensation {
	return &Compensation{ledger: ledger, pool: pool, runs: runs, prober: prober, log: log.With("component", "compensation")}
}

// Register adds the activities to a worker under their names.
func (c *Compensation) Register(r worker.ActivityRegistry) {
	r.RegisterActivityWithOptions(c.TakeOn, activity.RegisterOptions{Name: TakeOnName})
	r.RegisterActivityWithOptions(c.ProbeMany, activity.RegisterOptions{Name: ProbeManyName})
	r.RegisterActivityWithOptions(c.ReplayMany, activity.RegisterOptions{Name: ReplayManyName})
	r.RegisterActivityWithOptions(c.BuryMany, activity.RegisterOptions{Name: BuryManyName})
}

// Waiting are numbers in their windows.
type Waiting struct {
	Tickets []string `json:"tickets,omitempty"`
	// Wait is the longest time left of their windows.
	Wait time.Duration `json:"wait"`
}

// add counts a number in.
func (w *Waiting) add(ticket string, wait time.Duration) {
	w.Tickets, w.Wait = append(w.Tickets, ticket), max(w.Wait, wait)
}

// TakeOnResult says which of the numbers are to be compensated, and how.
type TakeOnResult struct {
	// Due are those whose window is over.
	Due []string `json:"due,omitempty"`
	// Waiting are those whose window runs.
	Waiting Waiting `json:"waiting"`
	// Others are left to whoever else sees to them, or are at their end.
	Others int `json:"others"`
	// Probe: the business is to be asked before they are replayed.
	Probe bool `json:"probe,omitempty"`
	// RetryDelays are the pauses between attempts.
	RetryDelays []time.Duration `json:"retryDelays"`
}

// TakeOn keeps others from seeing to the numbers, carries out what their runs were told and did not read
// before they closed, and gives those up that were not confirmed in time.
func (c *Compensation) TakeOn(ctx context.Context, in Numbers) (TakeOnResult, error) {
	defer beat(ctx)()
	var result TakeOnResult
	tickets, err := parseTickets(in.Tickets)
	if err != nil {
		return result, err
	}
	taker := activity.GetInfo(ctx).WorkflowExecution.ID
	taken, err := c.apply(ctx, tickets, sequence.Command{Kind: sequence.Take, Taker: taker, For: takenSlack})
	if err != nil {
		return result, err
	}
	var told []sequence.Number // their runs may have been told something
	var toCheck []sequence.Ticket
	var due []sequence.Decision
	asked := make(map[sequence.Ticket]bool, len(tickets))
	for _, d := range taken {
		if d.Outcome != sequence.OutcomeTaken {
			result.Others++
			continue
		}
		asked[d.Number.Ticket()] = true
		if d.MayHaveRun {
			told = append(told, d.Number)
		}
		if !d.MayHaveRun && d.Number.State == sequence.Abandoned {
			due = append(due, d)
		} else {
			toCheck = append(toCheck, d.Number.Ticket())
		}
	}
	if err := c.carryOutTold(ctx, told); err != nil {
		return result, err
	}
	checked, err := c.apply(ctx, toCheck, sequence.Command{Kind: sequence.Check})
	if err != nil {
		return result, err
	}
	for _, d := range append(due, checked...) {
		switch {
		case d.Number.State != sequence.Abandoned || !asked[d.Number.Ticket()]:
			result.Others++
		case d.Wait == 0:
			result.Due = append(result.Due, d.Number.Ticket().String())
		default:
			result.Waiting.add(d.Number.Ticket().String(), d.Wait)
		}
		result.Probe, result.RetryDelays = result.Probe || d.Probe.Asks(), d.RetryDelays
	}
	return result, nil
}

// carryOutTold settles what the runs of the numbers were told: one that was terminated may have accepted
// a confirm that it never read.
func (c *Compensation) carryOutTold(ctx context.Context, numbers []sequence.Number) error {
	var mu sync.Mutex
	var commands []sequence.Command
	err := atOnce(nudgesAtOnce, numbers, func(n sequence.Number) error {
		told, err := c.runs.Commands(ctx, n)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		for _, t := range told {
			// A number that was recovered was handed out at a time that nobody knows.
			if n.Reason != sequence.ReasonRecovered && t.At.Before(n.IssuedTime.Add(-guessLimit)) {
				continue
			}
			kind, err := kindOf(t.Kind)
			if err != nil {
				return err
			}
			commands = append(commands, sequence.Command{Kind: kind, Ticket: n.Ticket(), BizKey: t.BizKey})
		}
		return nil
	})
	if err != nil || len(commands) == 0 {
		return err
	}
	decisions, err := c.ledger.Apply(ctx, commands)
	if err != nil {
		return ledgerAway(err)
	}
	var rescued []sequence.PoolEntry
	for _, d := range decisions {
		if d.Outcome == sequence.OutcomeRescued {
			rescued = append(rescued, d.Pool)
		}
	}
	forget(ctx, c.pool, c.log, rescued)
	return nil
}

// ManyResult says what became of each number in a batch.
type ManyResult struct {
	// Done may go on to the next step, or are in the pool.
	Done []string `json:"done,omitempty"`
	// Failed are to be tried again; Reason is why the last of them failed.
	Failed []string `json:"failed,omitempty"`
	Reason string   `json:"reason,omitempty"`
	// Waiting are those whose window was raised in the meantime, and Unprobed those whose biz type was given
	// a probe.
	Waiting  Waiting  `json:"waiting"`
	Unprobed []string `json:"unprobed,omitempty"`
	// Found are in use by the business, and confirmed; Retired are not issued again; Dead are left to a
	// person; Others have moved on.
	Found   int `json:"found"`
	Retired int `json:"retired"`
	Dead    int `json:"dead"`
	Others  int `json:"others"`
}

// MaxProbes is how many numbers one call of ProbeMany may ask about: with the longest timeout that a probe
// may have, the last is asked within seven minutes.
const MaxProbes = 50

// ProbeMany asks the business about each number, at most MaxProbes, and confirms those that it holds.
func (c *Compensation) ProbeMany(ctx context.Context, in Numbers) (ManyResult, error) {
	defer beat(ctx)()
	var result ManyResult
	tickets, err := parseTickets(in.Tickets)
	if err != nil {
		return result, err
	}
	checked, err := c.apply(ctx, tickets, sequence.Command{Kind: sequence.Check})
	if err != nil {
		return result, err
	}
	var mu sync.Mutex
	var held []sequence.Ticket
	places := make([]int, len(tickets))
	for i := range places {
		places[i] = i
	}
	err = atOnce(probesAtOnce, places, func(i int) error {
		ticket, how := tickets[i], checked[i].Probe
		inUse, err := false, error(nil)
		if how.Asks() {
			inUse, err = c.prober.Ask(ctx, how, ticket)
		}
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err != nil:
			result.Failed, result.Reason = append(result.Failed, ticket.String()), err.Error()
		case inUse:
			held = append(held, ticket)
		default:
			result.Done = append(result.Done, ticket.String())
		}
		return nil
	})
	if err != nil {
		return result, err
	}
	found, err := c.apply(ctx, held, sequence.Command{Kind: sequence.Found})
	if err != nil {
		return result, err
	}
	for _, d := range found {
		if d.Outcome == sequence.OutcomeFound {
			result.Found++
		} else {
			result.Others++
		}
	}
	slices.Sort(result.Done)
	slices.Sort(result.Failed)
	return result, nil
}

// ReplayManyInput asks to return numbers to the pool.
type ReplayManyInput struct {
	Numbers
	// Probed: the business was asked about each, and holds none.
	Probed bool `json:"probed,omitempty"`
}

// ReplayMany moves the rows to REPLAYABLE and pushes the numbers to the pool in one go. Those whose push
// failed are to be tried again; a ledger that is away fails it as a whole, retryably.
func (c *Compensation) ReplayMany(ctx context.Context, in ReplayManyInput) (ManyResult, error) {
	defer beat(ctx)()
	var result ManyResult
	tickets, err := parseTickets(in.Tickets)
	if err != nil {
		return result, err
	}
	decisions, err := c.apply(ctx, tickets, sequence.Command{Kind: sequence.Replay, Probed: in.Probed})
	if err != nil {
		return result, err
	}
	var free []sequence.PoolEntry
	var pushed []string
	for i, d := range decisions {
		switch d.Outcome {
		case sequence.OutcomeReplayable, sequence.OutcomeAlreadyReplayable:
			free, pushed = append(free, d.Pool), append(pushed, tickets[i].String())
		case sequence.OutcomeNotDue:
			result.Waiting.add(tickets[i].String(), d.Wait)
		case sequence.OutcomeUnprobed:
			result.Unprobed = append(result.Unprobed, tickets[i].String())
		case sequence.OutcomeRetired:
			result.Retired++
		default:
			result.Others++
		}
	}
	pushCtx, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	if err := c.pool.Push(pushCtx, free); err != nil {
		result.Failed, result.Reason = append(result.Failed, pushed...), err.Error()
		return result, nil
	}
	result.Done = pushed
	return result, nil
}

// BuryManyInput leaves numbers to a person.
type BuryManyInput struct {
	Numbers
	Cause   sequence.DeadCause `json:"cause"`
	Reason  string             `json:"reason"`
	Retries int32              `json:"retries"`
}

// BuryMany makes the rows DEAD and copies them to the dead letters.
func (c *Compensation) BuryMany(ctx context.Context, in BuryManyInput) (ManyResult, error) {
	defer beat(ctx)()
	var result ManyResult
	tickets, err := parseTickets(in.Tickets)
	if err != nil {
		return result, err
	}
	decisions, err := c.apply(ctx, tickets, sequence.Command{Kind: sequence.Bury, Cause: in.Cause, Reason: bounded(in.Reason), Retries: in.Retries})
	if err != nil {
		return result, err
	}
	var dead []sequence.PoolEntry
	for _, d := range decisions {
		if d.Outcome == sequence.OutcomeDead || d.Outcome == sequence.OutcomeAlreadyDead {
			result.Dead++
			dead = append(dead, d.Pool)
		} else {
			result.Others++
		}
	}
	forget(ctx, c.pool, c.log, dead)
	return result, nil
}

// apply asks the same of many numbers.
func (c *Compensation) apply(ctx context.Context, tickets []sequence.Ticket, like sequence.Command) ([]sequence.Decision, error) {
	commands := make([]sequence.Command, len(tickets))
	for i, t := range tickets {
		commands[i] = like
		commands[i].Ticket = t
	}
	decisions, err := c.ledger.Apply(ctx, commands)
	if err != nil {
		return nil, ledgerAway(err)
	}
	return decisions, nil
}

func parseTickets(texts []string) ([]sequence.Ticket, error) {
	tickets := make([]sequence.Ticket, len(texts))
	for i, text := range texts {
		t, err := sequence.ParseTicket(text)
		if err != nil {
			return nil, invalidInput(err)
		}
		tickets[i] = t
	}
	return tickets, nil
}
