package telemetry

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/lacuna-seq/lacuna/sequence"
)

// Steps counts what the ledger has decided and committed, and shows each step of a traced life in its trace, with a
// link to the transaction that made it.
func (t *Telemetry) Steps() (func(context.Context, []sequence.Decision), error) {
	counter, err := t.Meters.Meter("lacuna").Int64Counter(MetricSteps,
		metric.WithDescription("Steps of numbers that were committed, and conflicts, by outcome"))
	if err != nil {
		return nil, fmt.Errorf("telemetry: %s: %w", MetricSteps, err)
	}
	tracer := t.Tracers.Tracer("lacuna")
	return func(ctx context.Context, decisions []sequence.Decision) {
		type kind struct {
			bizType string
			outcome sequence.Outcome
		}
		counts := make(map[kind]int64, 1)
		for _, d := range decisions {
			if !d.Changed && d.Outcome != sequence.OutcomeConflict {
				continue
			}
			counts[kind{d.Number.BizType, d.Outcome}]++
			if t.traces && d.Number.Trace != "" {
				showStep(ctx, tracer, d)
			}
		}
		for k, n := range counts {
			counter.Add(ctx, n, metric.WithAttributes(attribute.String(KeyBizType, k.bizType), attribute.String(KeyOutcome, k.outcome.String())))
		}
	}, nil
}

func showStep(ctx context.Context, tracer trace.Tracer, d sequence.Decision) {
	LinkTo(ctx, d.Number.Trace)
	_, span := Follow(ctx, tracer, "number "+d.Outcome.String(), d.Number.Trace, trace.SpanContextFromContext(ctx), trace.WithAttributes(
		attribute.String(KeyTicket, d.Number.Ticket().String()), attribute.String(KeyBizType, d.Number.BizType),
		attribute.String(KeyState, d.Number.State.String())))
	span.End()
}
