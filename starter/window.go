package main

import (
	"context"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/internal/wire"
	"github.com/lacuna-seq/lacuna/sequence"
)

// Bounds of window advice.
const (
	defaultAdviceDays = 7
	maxAdviceWindows  = 20
)

func (s *operatorService) AdviseWindow(ctx context.Context, r *connect.Request[lacunav1.AdviseWindowRequest]) (*connect.Response[lacunav1.AdviseWindowResponse], error) {
	if err := sequence.ValidateBizTypeName(r.Msg.GetBizType()); err != nil {
		return nil, apiError(err)
	}
	days, err := oneTo("days", r.Msg.GetDays(), defaultAdviceDays, ledger.MaxDelayDays)
	if err != nil {
		return nil, apiError(err)
	}
	windows, err := windowsOf(r.Msg.GetWindows())
	if err != nil {
		return nil, apiError(err)
	}
	b, err := s.ledger.BizType(ctx, r.Msg.GetBizType())
	if err != nil {
		return nil, apiError(err)
	}
	seen, err := s.ledger.Delays(ctx, b.Name, days)
	if err != nil {
		return nil, apiError(err)
	}
	return connect.NewResponse(adviceMessage(b, seen, sequence.AdviseWindow(b, seen, windows))), nil
}

func windowsOf(asked []*durationpb.Duration) ([]time.Duration, error) {
	if len(asked) > maxAdviceWindows {
		return nil, sequence.Invalidf("windows", "%d are more than %d", len(asked), maxAdviceWindows)
	}
	windows := make([]time.Duration, len(asked))
	for i, d := range asked {
		if err := setDuration(&windows[i], d, "windows"); err != nil {
			return nil, err
		}
		if windows[i] < sequence.MinSafetyWindow || windows[i] > sequence.MaxSafetyWindow {
			return nil, sequence.Invalidf("windows", "%s is not from %s to %s", windows[i], sequence.MinSafetyWindow, sequence.MaxSafetyWindow)
		}
	}
	return windows, nil
}

func adviceMessage(b sequence.BizType, seen *sequence.Delays, advice sequence.WindowAdvice) *lacunav1.AdviseWindowResponse {
	m := &lacunav1.AdviseWindowResponse{
		Since: wire.Time(seen.Since), Until: wire.Time(seen.Until),
		ConfirmTimeout: durationpb.New(b.ConfirmTimeout), SafetyWindow: durationpb.New(b.SafetyWindow),
		Confirms: summaryMessage(&seen.Confirmed), LateConfirms: summaryMessage(&seen.Late), Abandonments: summaryMessage(&seen.Abandoned),
		NoneAfter: durationOrNone(advice.NoneAfter), OnePerMillion: durationOrNone(advice.OnePerMillion), Remarks: advice.Remarks,
		ConfirmDelays: bucketMessages(&seen.Confirmed), LateDelays: bucketMessages(&seen.Late), AbandonmentDelays: bucketMessages(&seen.Abandoned),
	}
	for _, c := range advice.Choices {
		m.Choices = append(m.Choices, &lacunav1.WindowChoice{Window: durationpb.New(c.Window), LateAfter: c.LateAfter, Held: c.Held})
	}
	return m
}

func summaryMessage(c *sequence.DelayCounts) *lacunav1.DelaySummary {
	return &lacunav1.DelaySummary{
		Count: c.Count(), P50: durationOrNone(c.Quantile(0.5)), P99: durationOrNone(c.Quantile(0.99)),
		P999: durationOrNone(c.Quantile(0.999)), Max: durationOrNone(c.Quantile(1)),
	}
}

// bucketMessages leaves out what is empty.
func bucketMessages(c *sequence.DelayCounts) (buckets []*lacunav1.DelayBucket) {
	for i, count := range c {
		if count > 0 {
			buckets = append(buckets, &lacunav1.DelayBucket{UpTo: durationpb.New(sequence.DelayBound(i)), Count: count})
		}
	}
	return buckets
}

// durationOrNone leaves a duration out that is not known.
func durationOrNone(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d)
}
