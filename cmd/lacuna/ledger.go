package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"connectrpc.com/connect"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/internal/wait"
)

// ledgerCommands are for a ledger that stepped back: after a restore, or a failover to a replica that lagged.
type ledgerCommands struct {
	Check ledgerCheckCommand `cmd:"" help:"Say whether the ledger has stepped back. Exit code 2 where it has."`
	Raise ledgerRaiseCommand `cmd:"" help:"Raise a ledger that stepped back above every value that may have been issued, and issue on."`
}

type ledgerCheckCommand struct {
	api
	output
	BizType string `arg:"" optional:"" name:"biztype" help:"Only this biz type."`
}

// standingLine is a period of a biz type in the list.
type standingLine struct {
	of     *lacunav1.LedgerStanding
	period *lacunav1.PeriodStanding
}

var standingColumns = []column[standingLine]{
	{"biz type", func(l standingLine) string { return l.of.GetBizType() }},
	{"period", func(l standingLine) string { return l.period.GetPeriod() }},
	{"cursor", func(l standingLine) string { return strconv.FormatInt(l.period.GetCursor(), 10) }},
	{"known", func(l standingLine) string { return strconv.FormatInt(l.period.GetKnown(), 10) }},
	{"known by", func(l standingLine) string { return l.period.GetKnownBy() }},
	{"verdict", standingLine.verdict},
}

func (l standingLine) verdict() string {
	switch {
	case l.of.GetSteppedBack() > 0:
		return "STEPPED BACK"
	case l.period.GetKnown() > l.period.GetCursor():
		return "BEHIND"
	}
	return "ok"
}

func linesOf(standings ...*lacunav1.LedgerStanding) (lines []standingLine) {
	for _, s := range standings {
		for _, p := range s.GetPeriods() {
			lines = append(lines, standingLine{s, p})
		}
	}
	return lines
}

// Run prints how each biz type stands, and ends with errFindings where one has stepped back.
func (c ledgerCheckCommand) Run(ctx context.Context, out io.Writer) error {
	response, err := c.operator().CheckLedger(ctx, connect.NewRequest(&lacunav1.CheckLedgerRequest{BizType: c.BizType}))
	if err != nil {
		return fmt.Errorf("check the ledger: %w", err)
	}
	lines := linesOf(response.Msg.GetStandings()...)
	if err := writeAll(out, c.output, standingColumns, lines); err != nil {
		return err
	}
	if c.people() {
		for _, what := range response.Msg.GetAway() {
			fmt.Fprintln(out, "not asked:", what)
		}
	}
	for _, l := range lines {
		if l.verdict() != "ok" {
			return errFindings
		}
	}
	return nil
}

type ledgerRaiseCommand struct {
	api
	acts
	BizType string `placeholder:"ORDER" help:"This biz type."`
	All     bool   `help:"Every biz type that has stepped back."`
	Margin  int64  `default:"-1" placeholder:"N" help:"How many values beyond the highest known one may have been issued too; twice stepMax where nothing is said."`
	AtLeast int64  `placeholder:"N" help:"A value that was certainly allocated, e.g. by the books of the business. One above the cursor also raises a biz type of which nobody knows that it stepped back."`
	Reason  string `required:"" help:"Why, e.g. which backup was restored; it stays with the numbers."`
	DryRun  bool   `help:"Only say what it would do; exit 2 where that is something."`
}

// Run shows what would be done, asks, and does it one biz type after the other.
func (c ledgerRaiseCommand) Run(ctx context.Context, out io.Writer, t *terminal) error {
	if (c.BizType == "") == !c.All {
		return errors.New("raise the ledger: say --biz-type or --all")
	}
	actor, err := c.actor()
	if err != nil {
		return err
	}
	names, err := c.names(ctx)
	if err != nil {
		return err
	}
	var would int64
	var standings []*lacunav1.LedgerStanding
	for _, name := range names {
		plan, err := c.call(ctx, name, actor, true)
		if err != nil {
			return err
		}
		standings, would = append(standings, plan.GetStanding()), would+plan.GetLeft()
		for _, p := range plan.GetStanding().GetPeriods() {
			fmt.Fprintf(out, "%s%s: the cursor is at %d, %d is known (%s); it would be raised to %d\n",
				name, inPeriod(p.GetPeriod()), p.GetCursor(), p.GetKnown(), p.GetKnownBy(), p.GetRaiseTo())
		}
	}
	fmt.Fprintf(out, "%s would wait for a person: dead letters of the cause STEPPED_BACK\n", counted(would, "number"))
	if len(standings) == 0 {
		return nil
	}
	if c.DryRun {
		return errFindings
	}
	if err := c.agreed(t, fmt.Sprintf("Raise %s as %s: nothing of it is issued until that is done", counted(len(names), "biz type"), actor)); err != nil {
		return err
	}
	for _, name := range names {
		if err := c.raise(ctx, out, name, actor); err != nil {
			return err
		}
	}
	return nil
}

func inPeriod(period string) string {
	if period == "" {
		return ""
	}
	return " " + period
}

// names are the biz types that are meant.
func (c ledgerRaiseCommand) names(ctx context.Context) ([]string, error) {
	if c.BizType != "" {
		return []string{c.BizType}, nil
	}
	response, err := c.operator().CheckLedger(ctx, connect.NewRequest(&lacunav1.CheckLedgerRequest{}))
	if err != nil {
		return nil, fmt.Errorf("look which biz types have stepped back: %w", err)
	}
	var names []string
	for _, s := range response.Msg.GetStandings() {
		for _, l := range linesOf(s) {
			if l.verdict() != "ok" {
				names = append(names, s.GetBizType())
				break
			}
		}
	}
	return names, nil
}

// raise repeats the call until the biz type is issued again.
func (c ledgerRaiseCommand) raise(ctx context.Context, out io.Writer, name, actor string) error {
	var doubted, declared int64
	for {
		done, err := c.call(ctx, name, actor, false)
		if err != nil {
			return fmt.Errorf("raise %s, with %d numbers left to a person and %d values declared: repeat it: %w", name, doubted, declared, err)
		}
		doubted, declared = doubted+done.GetDoubted(), declared+done.GetDeclared()
		switch {
		case done.GetDone():
			fmt.Fprintf(out, "%s is issued again: %s left to a person, %s declared\n", name, counted(doubted, "number"), counted(declared, "value"))
			return nil
		case done.GetLeft() > 0:
			fmt.Fprintf(out, "%s: %d done, %d left\n", name, doubted+declared, done.GetLeft())
		default:
			left := done.GetWait().AsDuration()
			fmt.Fprintf(out, "%s: stands still for another %s, so that no process holds a number of before\n", name, left.Round(time.Second/10))
			if err := wait.For(ctx, left); err != nil {
				return err
			}
		}
	}
}

func (c ledgerRaiseCommand) call(ctx context.Context, name, actor string, dryRun bool) (*lacunav1.RaiseLedgerResponse, error) {
	request := &lacunav1.RaiseLedgerRequest{BizType: name, AtLeast: c.AtLeast, Reason: c.Reason, Actor: actor, DryRun: dryRun}
	if c.Margin >= 0 {
		request.Margin = &c.Margin
	}
	response, err := c.operator().RaiseLedger(ctx, connect.NewRequest(request))
	if err != nil {
		return nil, err
	}
	return response.Msg, nil
}
