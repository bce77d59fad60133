package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/sequence"
)

// maxRaised bounds what one call of RaiseLedger sees to: some seconds of work.
const maxRaised = 50_000

// Who knows a value.
const (
	knownByLedger    = "LEDGER"
	knownByProcesses = "PROCESSES"
	knownByTemporal  = "TEMPORAL"
	knownByOperator  = "OPERATOR"
)

func (s *operatorService) CheckLedger(ctx context.Context, r *connect.Request[lacunav1.CheckLedgerRequest]) (*connect.Response[lacunav1.CheckLedgerResponse], error) {
	if name := r.Msg.GetBizType(); name != "" {
		if err := sequence.ValidateBizTypeName(name); err != nil {
			return nil, apiError(err)
		}
	}
	types, err := s.ledger.BizTypes(ctx)
	if err != nil {
		return nil, apiError(err)
	}
	response := &lacunav1.CheckLedgerResponse{}
	for _, b := range types {
		if name := r.Msg.GetBizType(); name != "" && name != b.Name {
			continue
		}
		standing, err := s.standing(ctx, b, defaultMargin(b), 0)
		if err != nil {
			return nil, apiError(err)
		}
		response.Standings = append(response.Standings, standing.message())
		for _, what := range standing.away {
			response.Away = append(response.Away, b.Name+": "+what)
		}
	}
	if r.Msg.GetBizType() != "" && len(response.GetStandings()) == 0 {
		return nil, apiError(sequence.Invalidf("bizType", "there is no biz type %s", r.Msg.GetBizType()))
	}
	return connect.NewResponse(response), nil
}

func (s *operatorService) RaiseLedger(ctx context.Context, r *connect.Request[lacunav1.RaiseLedgerRequest]) (*connect.Response[lacunav1.RaiseLedgerResponse], error) {
	m := r.Msg
	limit, limitErr := oneTo("limit", m.GetLimit(), maxRaised, maxRaised)
	var marginErr, leastErr, reasonErr error
	if m.GetMargin() < 0 || m.GetMargin() > ledger.MaxRaiseRows {
		marginErr = sequence.Invalidf("margin", "%d is not from 0 to %d", m.GetMargin(), ledger.MaxRaiseRows)
	}
	if m.GetAtLeast() < 0 {
		leastErr = sequence.Invalidf("atLeast", "%d is no value", m.GetAtLeast())
	}
	actor, reason := callerName(ctx), m.GetReason()
	if !m.GetDryRun() {
		reason, reasonErr = noted(reason, actor, m.GetActor())
	}
	if err := errors.Join(sequence.ValidateBizTypeName(m.GetBizType()), limitErr, marginErr, leastErr, reasonErr); err != nil {
		return nil, apiError(err)
	}
	b, err := s.ledger.BizType(ctx, m.GetBizType())
	if err != nil {
		return nil, apiError(err)
	}
	margin := defaultMargin(b)
	if m.Margin != nil {
		margin = m.GetMargin()
	}
	standing, err := s.standing(ctx, b, margin, m.GetAtLeast())
	if err != nil {
		return nil, apiError(err)
	}
	response := &lacunav1.RaiseLedgerResponse{Standing: standing.message()}
	if m.GetDryRun() {
		response.Left, err = s.ledger.Doubtful(ctx, b.Name)
		if err != nil {
			return nil, apiError(err)
		}
		for _, t := range standing.targets {
			response.Left += t.To - t.Cursor
		}
		return connect.NewResponse(response), nil
	}
	at := standing.newestCursor()
	if len(standing.away) > 0 && m.GetAtLeast() <= at {
		return nil, apiError(&sequence.UnavailableError{
			What: fmt.Sprintf("%s: repeat it when that is back, or say by at_least, above %d, which value was certainly allocated", standing.away[0], at),
		})
	}
	if b.SteppedBack == 0 && m.GetAtLeast() <= at {
		return nil, apiError(sequence.Invalidf("atLeast", "%s has not stepped back as far as anybody knows, or was raised before, and is issued: to raise it all the same, name a value above its cursor, %d", b.Name, at))
	}
	ctx, cancel := s.untilStopped(ctx)
	defer cancel()
	done, err := s.ledger.RaiseNow(ctx, ledger.Raise{BizType: b.Name, Targets: standing.targets, Actor: actor, Reason: reason, Limit: limit})
	if err != nil {
		return nil, apiError(s.why(err))
	}
	if done.Done {
		slog.WarnContext(ctx, "a ledger that stepped back was raised", "actor", actor, "biz_type", b.Name, "reason", reason)
	}
	response.Doubted, response.Declared, response.Left = int64(done.Doubted), done.Declared, done.Left
	response.Wait, response.Done = durationpb.New(done.Wait), done.Done
	return connect.NewResponse(response), nil
}

// defaultMargin is two of the largest blocks: of what was allocated right before the ledger went, another process
// may not have told.
func defaultMargin(b sequence.BizType) int64 { return 2 * int64(b.StepMax) }

// standing is how a biz type stands against what is known of it.
type standing struct {
	bizType sequence.BizType
	targets []ledger.RaiseTarget
	knownBy map[string]string // of each period
	away    []string
}

func (s *operatorService) standing(ctx context.Context, b sequence.BizType, margin, atLeast int64) (standing, error) {
	st := standing{bizType: b, knownBy: map[string]string{}}
	cursors, err := s.ledger.Cursors(ctx, b.Name)
	if err != nil {
		return st, err
	}
	highest := map[string]int64{}
	know := func(by string, marks ...sequence.Mark) {
		for _, m := range marks {
			if m.Value > b.Format.Max() {
				continue // a counter that somebody set by hand: there is no such number
			}
			if was, ok := highest[m.Period]; !ok || m.Value > was {
				highest[m.Period], st.knownBy[m.Period] = m.Value, by
			}
		}
	}
	know(knownByLedger, cursors...)
	known, err := s.ledger.Known(ctx, b.Name)
	if err != nil {
		st.away = append(st.away, fmt.Sprintf("Redis cannot be asked what the processes have seen (%v)", err))
	}
	know(knownByProcesses, known...)
	now, err := s.ledger.Now(ctx)
	if err != nil {
		return st, err
	}
	last := b.Period(now)
	if b.SteppedBack > 0 {
		know(knownByLedger, sequence.Mark{BizType: b.Name, Period: last, Value: b.Start - 1}) // nobody may have been told of its first block
	}
	for _, m := range append(cursors, known...) {
		last = max(last, m.Period)
	}
	run, found, err := s.openRuns.highest(ctx, b, last, max(highest[last], b.Start-1))
	if err != nil {
		st.away = append(st.away, fmt.Sprintf("Temporal cannot be asked for the highest number that has a run (%v)", err))
	}
	if found {
		know(knownByTemporal, sequence.Mark{BizType: b.Name, Period: last, Value: run})
	}
	if atLeast > 0 {
		know(knownByOperator, sequence.Mark{BizType: b.Name, Period: last, Value: min(atLeast, b.Format.Max())})
	}
	marks := make([]sequence.Mark, 0, len(highest))
	for period, value := range highest {
		marks = append(marks, sequence.Mark{BizType: b.Name, Period: period, Value: value})
	}
	st.targets = ledger.PlanRaise(b, cursors, marks, margin)
	return st, nil
}

// newestCursor is where the cursor of the last period is.
func (st standing) newestCursor() int64 {
	if len(st.targets) == 0 {
		return st.bizType.Start - 1
	}
	return st.targets[len(st.targets)-1].Cursor
}

func (st standing) message() *lacunav1.LedgerStanding {
	m := &lacunav1.LedgerStanding{BizType: st.bizType.Name, SteppedBack: st.bizType.SteppedBack}
	for _, t := range st.targets {
		m.Periods = append(m.Periods, &lacunav1.PeriodStanding{
			Period: t.Period, Cursor: t.Cursor, Known: t.Known, KnownBy: st.knownBy[t.Period], RaiseTo: t.To,
		})
	}
	return m
}
