package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/alecthomas/kong"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/internal/wait"
)

// Bounds of a requeue.
const (
	ticketsAtOnce = 500             // that one call of the API takes
	callLasts     = 2 * time.Second // so that progress can be told
	failedEvery   = time.Second
)

type deadRequeue struct {
	api
	deadFilter
	acts
	Tickets []string      `arg:"" optional:"" name:"ticket" help:"The tickets; or say which by --biz-type, --cause, --failed-again or --all."`
	All     bool          `help:"All dead letters."`
	Rate    rateFlag      `default:"200/s" placeholder:"N/s" help:"How many a second, 1/s to 10000/s."`
	DryRun  bool          `help:"Only say how many there are."`
	Reason  string        `help:"Why, for the record."`
	Wait    time.Duration `placeholder:"1m" help:"Look so long for some that fail again. An attempt takes the ladder of the biz type: 7.5 min, where nothing else is said."`
}

// rateFlag is so many a second: 200/s, or 200.
type rateFlag int32

// Decode reads a flag.
func (r *rateFlag) Decode(c *kong.DecodeContext) error {
	var text string
	if err := c.Scan.PopValueInto("rate", &text); err != nil {
		return err
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(text, "/s"), 10, 32)
	if err != nil || n < 1 || n > 10_000 {
		return fmt.Errorf("%q is not from 1/s to 10000/s", text)
	}
	*r = rateFlag(n)
	return nil
}

// Run requeues as many as there were when it began, oldest first, and says how far it is. It ends with errFindings
// where some have failed again.
func (c deadRequeue) Run(ctx context.Context, out io.Writer, t *terminal) error {
	if len(c.Tickets) == 0 && c.BizType == "" && c.Cause.cause == 0 && !c.FailedAgain && !c.All {
		return errors.New("requeue dead letters: say which: tickets, --biz-type, --cause, --failed-again or --all")
	}
	actor, err := c.actor()
	if err != nil {
		return err
	}
	// Without tickets there is one part, and as many calls as it needs.
	parts := [][]string{nil}
	if len(c.Tickets) > 0 {
		parts = slices.Collect(slices.Chunk(c.Tickets, ticketsAtOnce))
	}
	counts := make([]int64, len(parts))
	var total int64
	for i, part := range parts {
		if counts[i], err = c.count(ctx, part); err != nil {
			return fmt.Errorf("count the dead letters: %w", err)
		}
		total += counts[i]
	}
	if total == 0 || c.DryRun {
		fmt.Fprintf(out, "%s to requeue\n", counted(total, "dead letter"))
		return nil
	}
	if err := c.agreed(t, fmt.Sprintf("Requeue %s as %s: each goes through a safety window, unless one has passed, and is then issued again", counted(total, "dead letter"), actor)); err != nil {
		return err
	}
	var done int64
	var skipped []string
	for i, part := range parts {
		for left := counts[i]; left > 0; {
			m, err := c.requeue(ctx, part, actor, left)
			if err != nil {
				return fmt.Errorf("requeue dead letters, with %d of %d done: %w", done, total, err)
			}
			done, skipped = done+int64(m.GetRequeued()), append(skipped, m.GetSkipped()...)
			fmt.Fprintf(out, "requeued %d of %d\n", done, total)
			acted := int64(m.GetRequeued()) + int64(len(m.GetSkipped()))
			if left -= acted; acted == 0 { // others were faster
				break
			}
		}
	}
	if len(skipped) > 0 {
		fmt.Fprintf(out, "no dead letters any more when their turn came: %s\n", strings.Join(skipped, " "))
	}
	return c.failedAgain(ctx, out)
}

func (c deadRequeue) count(ctx context.Context, tickets []string) (int64, error) {
	response, err := c.operator().ListDeadLetters(ctx, connect.NewRequest(&lacunav1.ListDeadLettersRequest{Filter: c.message(tickets...), PageSize: 1}))
	var n int64
	if err == nil {
		for _, one := range response.Msg.GetCounts() {
			n += one.GetCount()
		}
	}
	return n, err
}

func (c deadRequeue) requeue(ctx context.Context, tickets []string, actor string, most int64) (*lacunav1.RequeueDeadLettersResponse, error) {
	atOnce := min(most, max(1, int64(c.Rate)*int64(callLasts/time.Second)), 10_000)
	response, err := c.operator().RequeueDeadLetters(ctx, connect.NewRequest(&lacunav1.RequeueDeadLettersRequest{
		Filter: c.message(tickets...), All: c.All, Rate: int32(c.Rate), Limit: int32(atOnce), Actor: actor, Reason: c.Reason, //nolint:gosec // at most 10,000
	}))
	if err != nil {
		return nil, err
	}
	return response.Msg, nil
}

// failedAgain lists what was requeued and is a dead letter once more, for as long as it is asked to wait.
func (c deadRequeue) failedAgain(ctx context.Context, out io.Writer) error {
	filter := c.deadFilter
	filter.FailedAgain = true
	until := time.Now().Add(c.Wait)
	for {
		var failed []*lacunav1.DeadLetter
		parts := [][]string{nil}
		if len(c.Tickets) > 0 {
			parts = slices.Collect(slices.Chunk(c.Tickets, ticketsAtOnce))
		}
		for _, part := range parts {
			if _, err := eachDeadLetter(ctx, c.api, filter.message(part...), 0, func(d *lacunav1.DeadLetter) error {
				failed = append(failed, d)
				return nil
			}); err != nil {
				return fmt.Errorf("look for those that failed again: %w", err)
			}
		}
		if len(failed) > 0 {
			fmt.Fprintf(out, "%s failed again:\n", counted(len(failed), "number"))
			if err := writeAll(out, output{}, deadColumns, failed); err != nil {
				return err
			}
			return errFindings
		}
		if !time.Now().Before(until) {
			fmt.Fprintln(out, "none has failed again so far; `lacuna dead list --failed-again` lists those that will")
			return nil
		}
		if err := wait.For(ctx, min(failedEvery, time.Until(until))); err != nil {
			return err
		}
	}
}
