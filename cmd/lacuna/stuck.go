package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/internal/runlink"
	"github.com/lacuna-seq/lacuna/sequence"
)

// runbook is where the rows of a runbook stand.
const runbook = "docs/operations.md"

// stuckCommand lists what does not go on by itself.
type stuckCommand struct {
	api
	output
	BizType string        `placeholder:"ORDER" help:"Only numbers of this biz type."`
	Overdue time.Duration `default:"1m" help:"How long after its deadline a number counts as stuck; the patrol sees to it within seconds."`
	Limit   int           `default:"50" help:"How many numbers and runs of each kind are looked at."`
	UI      string        `name:"temporal-ui-url" env:"LACUNA_TEMPORAL_UI_URL" placeholder:"http://host:port" help:"The Temporal UI, for links to runs."`
}

// stuck is something that needs a hand.
type stuck struct {
	Kind  string `json:"kind"`
	What  string `json:"what"`
	Why   string `json:"why"`
	Do    string `json:"do"`
	Where string `json:"runbook"` // the section of the runbook
}

var stuckColumns = []column[stuck]{
	{"kind", func(s stuck) string { return s.Kind }},
	{"what", func(s stuck) string { return s.What }},
	{"why", func(s stuck) string { return s.Why }},
	{"do", func(s stuck) string { return s.Do }},
	{"runbook", func(s stuck) string { return s.Where }},
}

// Run prints what needs a hand, and says what it could not look at.
func (c stuckCommand) Run(ctx context.Context, out io.Writer) error {
	runs, err := dialTemporal(ctx)
	var notLooked []string
	switch {
	case err != nil:
		notLooked = append(notLooked, fmt.Sprintf("runs in Temporal (%s)", err))
	case runs == nil:
		notLooked = append(notLooked, fmt.Sprintf("runs in Temporal (%s)", noTemporal))
	default:
		defer runs.Close()
	}
	var all []stuck
	for _, look := range []func(context.Context, *temporalServer) ([]stuck, error){c.patrol, c.dead, c.overdue, c.failing} {
		found, err := look(ctx, runs)
		if errors.Is(err, errNoReports) {
			notLooked = append(notLooked, err.Error())
		} else if err != nil {
			return err
		}
		all = append(all, found...)
	}
	if err := writeAll(out, c.output, stuckColumns, all); err != nil {
		return err
	}
	beside := io.Writer(os.Stderr)
	if c.people() {
		beside = out
		if len(all) == 0 {
			fmt.Fprintln(out, "nothing needs a hand")
		}
	}
	for _, what := range notLooked {
		fmt.Fprintf(beside, "not looked at: %s\n", what)
	}
	if len(all) > 0 {
		return errFindings
	}
	return nil
}

// patrol tells of a patrol that does not come round: without it most of the rest does not go on.
func (c stuckCommand) patrol(ctx context.Context, _ *temporalServer) ([]stuck, error) {
	response, err := c.operator().GetStatus(ctx, connect.NewRequest(&lacunav1.GetStatusRequest{}))
	if err != nil {
		return nil, fmt.Errorf("ask how old the patrol's last round is: %w", err)
	}
	if away := response.Msg.GetAway(); away != "" {
		return nil, fmt.Errorf("ask how old the patrol's last round is: %s: see whether the database lives; `lacuna doctor` says more", away)
	}
	if age := response.Msg.GetPatrolAge().AsDuration(); age > patrolLate {
		return []stuck{{"patrol", "lacuna-patrol", "last through " + roughly(age) + " ago", "lacuna doctor", runbook + "#buttons-of-the-temporal-ui"}}, nil
	}
	return nil, nil
}

// dead tells of dead letters by cause, and of those that failed again.
func (c stuckCommand) dead(ctx context.Context, _ *temporalServer) (all []stuck, err error) {
	for _, again := range []bool{false, true} {
		response, err := c.operator().ListDeadLetters(ctx, connect.NewRequest(&lacunav1.ListDeadLettersRequest{
			Filter: &lacunav1.DeadLetterFilter{BizType: c.BizType, FailedAgain: again}, PageSize: 1,
		}))
		if err != nil {
			return nil, fmt.Errorf("count the dead letters: %w", err)
		}
		for _, n := range response.Msg.GetCounts() {
			all = append(all, deadStuck(n, again))
		}
	}
	return all, nil
}

func deadStuck(n *lacunav1.DeadLetterCount, again bool) stuck {
	flags := fmt.Sprintf("--biz-type %s --cause %s", n.GetBizType(), causeName(n.GetCause()))
	s := stuck{Kind: "dead", What: fmt.Sprintf("%d of %s", n.GetCount(), n.GetBizType()), Why: causeName(n.GetCause()), Where: runbook + "#dead_letter"}
	switch {
	case again:
		s.Kind, s.Do = "failed again", "lacuna dead list "+flags+" --failed-again"
		s.Why += ", after a requeue"
	case n.GetCause() == lacunav1.DeadCause_DEAD_CAUSE_NOT_CONFIRMED:
		s.Do = "ask the business, then lacuna confirm TICKET, or lacuna dead requeue TICKET; lacuna dead list " + flags
	default:
		s.Do = "repair, then lacuna dead requeue " + flags
	}
	return s
}

// overdue tells of numbers that nobody sees to, each with what its run does.
func (c stuckCommand) overdue(ctx context.Context, runs *temporalServer) (all []stuck, err error) {
	request := &lacunav1.ListNumbersRequest{BizType: c.BizType, OverdueFor: durationpb.New(c.Overdue)}
	_, more, err := eachNumber(ctx, c.api, request, c.Limit, func(n *lacunav1.Number) error {
		seen := runSeen{}
		if runs != nil && n.GetTicket() != "" {
			if seen, err = runs.look(ctx, n.GetTicket()); err != nil {
				return err
			}
		}
		all = append(all, c.overdueStuck(n, seen, runs))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for overdue numbers: %w", err)
	}
	if more {
		all = append(all, stuck{"overdue", "and more", fmt.Sprintf("over %d numbers are", c.Limit), fmt.Sprintf("lacuna stuck --limit %d", 10*c.Limit), ""})
	}
	return all, nil
}

func (c stuckCommand) overdueStuck(n *lacunav1.Number, seen runSeen, runs *temporalServer) stuck {
	s := stuck{
		Kind: "overdue", What: n.GetTicket(), Where: runbook + "#buttons-of-the-temporal-ui",
		Why: strings.ToLower(stateName(n.GetState())) + ", due at " + stamp(n.GetDeadline()), Do: "lacuna doctor: the patrol or the worker is behind",
	}
	if s.What == "" {
		s.What = n.GetBizType() + " " + n.GetSeqNo()
	}
	if seen.words != "" {
		s.Why += "; " + seen.words
	}
	if seen.fails {
		s.Do = "mend the worker; then, if it does not go on, Reset to the last workflow task: " + c.page(n.GetTicket(), runs)
	}
	if seen.closed {
		s.Do = "lacuna doctor: the patrol finishes it by a Compensation, within two rounds; its run: " + c.page(n.GetTicket(), runs)
	}
	return s
}

// failing tells of runs whose workflow task fails again and again, also of numbers that are not overdue yet.
func (c stuckCommand) failing(ctx context.Context, runs *temporalServer) (all []stuck, err error) {
	if runs == nil {
		return nil, nil
	}
	ids, err := runs.failing(ctx, c.BizType, c.Limit)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		all = append(all, stuck{"run fails", id, "its workflow task fails again and again", "mend the worker: " + c.page(id, runs), runbook + "#upgrading-with-open-runs"})
	}
	return all, nil
}

// page is where to look at a run: in the UI, or by Temporal's own command.
func (c stuckCommand) page(id string, runs *temporalServer) string {
	if ticket, err := sequence.ParseTicket(id); err == nil && c.UI != "" {
		return runlink.Maker{UI: c.UI, Namespace: runs.namespace}.Of(ticket)
	}
	return fmt.Sprintf("temporal workflow describe --namespace %s --workflow-id '%s'", runs.namespace, id)
}
