package workflows

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/lacuna-seq/lacuna/activities"
	"github.com/lacuna-seq/lacuna/sequence"
)

// CompensationInput starts a run that finishes many numbers of one biz type.
type CompensationInput struct {
	activities.Numbers
}

// CompensationResult counts what became of them.
type CompensationResult struct {
	// Replayed are in the pool.
	Replayed int `json:"replayed"`
	Retired  int `json:"retired"`
	// Found are in use by the business, and confirmed.
	Found int `json:"found"`
	// Dead wait for a person.
	Dead int `json:"dead"`
	// Others were confirmed, have moved on, or are seen to by somebody else.
	Others int `json:"others"`
}

// Compensation finishes at most 2,000 numbers of one biz type whose own runs have closed: it gives up
// those that were not confirmed in time, waits out the windows with one timer, asks the business where it
// is to be asked, and returns them to the pool, with the same pauses after a failure as a lifecycle has,
// and dead letters for what cannot be returned. Each step is guarded by the rows, so that any number of
// runs, and the numbers' own, may work on the same ones.
//
// A run that is cancelled or terminated leaves its numbers to the next one, once the patrol sees that it has
// closed.
func Compensation(ctx workflow.Context, in CompensationInput) (CompensationResult, error) {
	c := compensation{ctx: ctx, bizType: in.BizType}
	var taken activities.TakeOnResult
	if err := c.do("take the numbers on", activities.TakeOnName, in.Numbers, &taken); err != nil {
		return c.result, err
	}
	c.probe, c.delays = taken.Probe, taken.RetryDelays
	c.count(activities.ManyResult{Others: taken.Others})
	if err := c.finish(taken.Due); err != nil {
		return c.result, err
	}
	return c.result, c.finishAfter(taken.Waiting)
}

// compensation is the run's memory.
type compensation struct {
	ctx     workflow.Context
	bizType string
	probe   bool
	delays  []time.Duration
	result  CompensationResult
}

// finishAfter waits until the last of the windows is over.
func (c *compensation) finishAfter(w activities.Waiting) error {
	if len(w.Tickets) == 0 {
		return nil
	}
	if err := c.sleep(w.Wait, fmt.Sprintf("safety window of %d numbers", len(w.Tickets))); err != nil {
		return err
	}
	return c.finish(w.Tickets)
}

// finish brings numbers back whose window is over.
func (c *compensation) finish(tickets []string) error {
	if c.probe {
		probed, _, err := c.climb(sequence.CauseProbeAway, tickets, c.ask)
		if err != nil {
			return err
		}
		tickets = probed
	}
	replayed, left, err := c.climb(sequence.CausePoolAway, tickets, func(tickets []string, result *activities.ManyResult) error {
		in := activities.ReplayManyInput{Numbers: c.numbers(tickets), Probed: c.probe}
		return c.do(fmt.Sprintf("return %d numbers to the pool", len(tickets)), activities.ReplayManyName, in, result)
	})
	if err != nil {
		return err
	}
	c.result.Replayed += len(replayed)
	c.tell()
	if len(left.Unprobed) > 0 {
		c.probe = true
		if err := c.finish(left.Unprobed); err != nil {
			return err
		}
	}
	return c.finishAfter(left.Waiting)
}

// ask asks the business about numbers, a few at a time: each call has to end in its time, however slow the
// business answers.
func (c *compensation) ask(tickets []string, result *activities.ManyResult) error {
	for len(tickets) > 0 {
		some := tickets[:min(len(tickets), activities.MaxProbes)]
		tickets = tickets[len(some):]
		var r activities.ManyResult
		if err := c.do(fmt.Sprintf("ask the business about %d numbers", len(some)), activities.ProbeManyName, c.numbers(some), &r); err != nil {
			return err
		}
		result.Done, result.Failed = append(result.Done, r.Done...), append(result.Failed, r.Failed...)
		result.Found, result.Others = result.Found+r.Found, result.Others+r.Others
		if r.Reason != "" {
			result.Reason = r.Reason
		}
	}
	return nil
}

// climb tries a step until it is done for each number, with the pauses of the biz type between. What is
// not done at the end is left to a person. left are those that another step comes first for.
func (c *compensation) climb(cause sequence.DeadCause, tickets []string, step func([]string, *activities.ManyResult) error) (done []string, left activities.ManyResult, err error) {
	for attempt := 0; len(tickets) > 0; attempt++ {
		var r activities.ManyResult
		if err := step(tickets, &r); err != nil {
			return done, left, err
		}
		c.count(r)
		done, left.Unprobed = append(done, r.Done...), append(left.Unprobed, r.Unprobed...)
		left.Waiting.Tickets, left.Waiting.Wait = append(left.Waiting.Tickets, r.Waiting.Tickets...), max(left.Waiting.Wait, r.Waiting.Wait)
		if tickets = r.Failed; len(tickets) == 0 {
			break
		}
		if attempt == len(c.delays) {
			return done, left, c.bury(tickets, cause, r.Reason, attempt)
		}
		if err := c.sleep(c.delays[attempt], fmt.Sprintf("pause %d of %d: %s", attempt+1, len(c.delays), r.Reason)); err != nil {
			return done, left, err
		}
	}
	return done, left, nil
}

func (c *compensation) bury(tickets []string, cause sequence.DeadCause, reason string, retries int) error {
	in := activities.BuryManyInput{Numbers: c.numbers(tickets), Cause: cause, Reason: reason, Retries: int32(retries)} //nolint:gosec // 10 at most
	var r activities.ManyResult
	err := c.do(fmt.Sprintf("%d dead letters", len(tickets)), activities.BuryManyName, in, &r)
	c.count(r)
	return err
}

func (c *compensation) numbers(tickets []string) activities.Numbers {
	return activities.Numbers{BizType: c.bizType, Tickets: tickets}
}

func (c *compensation) do(summary, name string, in, out any) error {
	return workflow.ExecuteActivity(patientBatch(c.ctx, summary), name, in).Get(c.ctx, out)
}

func (c *compensation) sleep(d time.Duration, why string) error {
	const longest = 200 // of a timer's summary
	if len(why) > longest {
		why = why[:longest]
	}
	return workflow.NewTimerWithOptions(c.ctx, d, workflow.TimerOptions{Summary: why}).Get(c.ctx, nil)
}

// count adds what a step came to.
func (c *compensation) count(r activities.ManyResult) {
	c.result.Retired += r.Retired
	c.result.Found += r.Found
	c.result.Dead += r.Dead
	c.result.Others += r.Others
	c.tell()
}

// tell writes what an operator reads in the run's details.
func (c *compensation) tell() {
	r := c.result
	workflow.SetCurrentDetails(c.ctx, fmt.Sprintf("In the pool: %d\n\nRetired: %d\n\nFound by probe: %d\n\nDead letters: %d\n\nLeft to others: %d",
		r.Replayed, r.Retired, r.Found, r.Dead, r.Others))
}
