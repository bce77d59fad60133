// Package alert tells people of what needs them: dead letters, conflicts, callers that abandon too much, and a ledger that stepped back. What they were not
// told of yet stands in the ledger, so that no alert is lost with a process, and one process tells of it.
//
// In a storm there is one alert per kind, biz type and minute, with a count and samples. An alert that
// cannot be sent keeps nobody from working: it is counted, and sent later. The worker runs it.
package alert

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/internal/runlink"
	"github.com/lacuna-seq/lacuna/internal/telemetry"
	"github.com/lacuna-seq/lacuna/internal/wait"
)

const (
	// lookEvery is how often the ledger is asked.
	lookEvery = time.Second
	// quiet is how long after an alert the next one of its kind and biz type follows at the earliest.
	quiet = time.Minute
	// failedPause is how long after an alert that could not be sent it is tried again.
	failedPause = 10 * time.Second
	// maxSamples is how many numbers an alert names.
	maxSamples = 5
)

// Ledger is what alerts need of the ledger; db/ledger says what each call means.
type Ledger interface {
	Untold(ctx context.Context, samples int) ([]ledger.Untold, error)
	ClaimAlert(ctx context.Context, u ledger.Untold, lasts time.Duration) (bool, error)
	Told(ctx context.Context, u ledger.Untold) error
	NotTold(ctx context.Context, u ledger.Untold, again time.Duration) error
}

// Channel takes an alert to people.
type Channel interface {
	Send(ctx context.Context, a Alert) error
}

// Alert is what people are told: that there is something, and examples.
type Alert struct {
	Kind    ledger.AlertKind `json:"kind"` // DEAD_LETTER, CONFLICT, ABANDON_BUDGET or STEPPED_BACK
	BizType string           `json:"biz_type"`
	Token   string           `json:"token,omitempty"` // the name, of ABANDON_BUDGET, which is of no biz type
	Count   int64            `json:"count"`
	Reason  string           `json:"reason,omitempty"` // of ABANDON_BUDGET and STEPPED_BACK
	Numbers []Number         `json:"numbers"`          // the oldest, 5 at most
}

// Number is one of an alert's numbers.
type Number struct {
	BizType string    `json:"biz_type"`
	SeqNo   string    `json:"seq_no"`
	BatchID string    `json:"batch_id"`
	Ticket  string    `json:"ticket"`
	BizKey  string    `json:"biz_key,omitempty"`
	Cause   string    `json:"cause,omitempty"`
	Reason  string    `json:"reason"`
	Time    time.Time `json:"time"`
	RunURL  string    `json:"run_url,omitempty"`
}

// Sender watches the ledger.
type Sender struct {
	ledger  Ledger
	channel Channel
	runs    runlink.Maker
	log     *slog.Logger
	sent    metric.Int64Counter
}

// NewSender makes a Sender; Run runs it.
func NewSender(l Ledger, channel Channel, runs runlink.Maker, log *slog.Logger, meter metric.Meter) (*Sender, error) {
	sent, err := meter.Int64Counter(telemetry.MetricAlerts, metric.WithDescription("Alerts, by kind and whether they could be sent"))
	return &Sender{ledger: l, channel: channel, runs: runs, log: log.With("component", "alerts"), sent: sent}, err
}

// Run tells people until ctx ends.
func (s *Sender) Run(ctx context.Context) {
	for wait.For(ctx, lookEvery) == nil {
		if err := s.round(ctx); err != nil && ctx.Err() == nil {
			s.log.DebugContext(ctx, "the ledger could not be asked what to alert of", "error", err)
		}
	}
}

func (s *Sender) round(ctx context.Context) error {
	untold, err := s.ledger.Untold(ctx, maxSamples)
	if err != nil {
		return err
	}
	for _, u := range untold {
		mine, err := s.ledger.ClaimAlert(ctx, u, quiet)
		if err != nil {
			return err
		}
		if !mine {
			continue
		}
		err = s.channel.Send(ctx, s.alertOf(u))
		result := "sent"
		if err != nil {
			result = "failed"
		}
		s.sent.Add(ctx, 1, metric.WithAttributes(attribute.String(telemetry.KeyKind, string(u.Kind)), attribute.String(telemetry.KeyResult, result)))
		if err != nil {
			s.log.ErrorContext(ctx, "an alert could not be sent; trying again", "kind", u.Kind, "biz_type", u.BizType, "count", u.Count, "error", err)
			err = s.ledger.NotTold(ctx, u, failedPause)
		} else {
			err = s.ledger.Told(ctx, u)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Sender) alertOf(u ledger.Untold) Alert {
	if u.Kind == ledger.AlertAbandonBudget {
		a := Alert{Kind: u.Kind, Token: u.BizType, Count: u.Count}
		if len(u.Samples) > 0 {
			a.Reason = u.Samples[0].Reason
		}
		return a
	}
	a := Alert{Kind: u.Kind, BizType: u.BizType, Count: u.Count}
	if u.Kind == ledger.AlertSteppedBack {
		if len(u.Samples) > 0 {
			a.Reason = u.Samples[0].Reason
		}
		return a
	}
	for _, n := range u.Samples {
		a.Numbers = append(a.Numbers, Number{
			BizType: n.Ticket.BizType, SeqNo: n.Ticket.SeqNo, BatchID: n.BatchID, Ticket: n.Ticket.String(), BizKey: n.BizKey,
			Cause: n.Cause, Reason: n.Reason, Time: n.Time, RunURL: s.runs.Of(n.Ticket),
		})
	}
	return a
}

// Text says an alert in a few lines.
func (a Alert) Text() string {
	if a.Kind == ledger.AlertAbandonBudget {
		return fmt.Sprintf("Lacuna: the holder of token %s abandons more numbers than it is meant to: %d; %s", a.Token, a.Count, a.Reason)
	}
	if a.Kind == ledger.AlertSteppedBack {
		return fmt.Sprintf("Lacuna: the ledger has stepped back: nothing of %s is issued or brought back; %d numbers behind at least; %s: run lacuna ledger check", a.BizType, a.Count, a.Reason)
	}
	text := fmt.Sprintf("Lacuna: dead letters of %s that need a person: %d", a.BizType, a.Count)
	if a.Kind == ledger.AlertConflict {
		text = fmt.Sprintf("Lacuna: numbers of %s at which two holders met: %d", a.BizType, a.Count)
	}
	for _, n := range a.Numbers {
		text += fmt.Sprintf("\nbiz_type %s, seq_no %s, batch_id %s, ticket %s: ", n.BizType, n.SeqNo, n.BatchID, n.Ticket)
		if n.Cause != "" {
			text += n.Cause + ": "
		}
		text += n.Reason
		if n.RunURL != "" {
			text += "\n" + n.RunURL
		}
	}
	if more := a.Count - int64(len(a.Numbers)); more > 0 {
		text += fmt.Sprintf("\nand %d more", more)
	}
	return text
}
