package main

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/internal/wire"
	"github.com/lacuna-seq/lacuna/sequence"
)

const defaultActivityMinutes = 15

// poolPatience bounds how long an answer waits for the depths of the pools.
const poolPatience = 500 * time.Millisecond

// ListActivity reads counters. Where the states were counted too long ago they are counted again, in the background:
// only while somebody looks, and by one process.
func (s *operatorService) ListActivity(ctx context.Context, r *connect.Request[lacunav1.ListActivityRequest]) (*connect.Response[lacunav1.ListActivityResponse], error) {
	if name := r.Msg.GetBizType(); name != "" {
		if err := sequence.ValidateBizTypeName(name); err != nil {
			return nil, apiError(err)
		}
	}
	minutes, err := oneTo("minutes", r.Msg.GetMinutes(), defaultActivityMinutes, ledger.MaxActivityMinutes)
	if err != nil {
		return nil, apiError(err)
	}
	a, err := s.ledger.Activity(ctx, minutes)
	if err != nil {
		return nil, apiError(err)
	}
	if a.Stale {
		s.countStock()
	}
	if name := r.Msg.GetBizType(); name != "" {
		a.Types = slices.DeleteFunc(a.Types, func(t ledger.TypeActivity) bool { return t.Name != name })
		if len(a.Types) == 0 {
			_, err := s.ledger.BizType(ctx, name) // says that there is none
			return nil, apiError(err)
		}
	}
	response := &lacunav1.ListActivityResponse{Time: wire.Time(a.Now), PatrolAge: durationpb.New(a.PatrolAge)}
	for _, t := range a.Types {
		response.Activities = append(response.Activities, activityMessage(a, t))
	}
	s.poolDepths(ctx, a.Types, response.GetActivities())
	return connect.NewResponse(response), nil
}

// countStock counts the states, unless this process does so already.
func (s *operatorService) countStock() {
	if !s.counting.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer s.counting.Store(false)
		if _, err := s.ledger.CountStock(s.stopping); err != nil && s.stopping.Err() == nil {
			slog.Warn("the states were not counted; those that were counted before are shown", "error", err)
		}
	}()
}

// poolDepths asks Redis how many numbers each pool holds, until it does not answer.
func (s *operatorService) poolDepths(ctx context.Context, types []ledger.TypeActivity, into []*lacunav1.Activity) {
	ctx, cancel := context.WithTimeout(ctx, poolPatience)
	defer cancel()
	for i, t := range types {
		period := ""
		if t.Reuse == sequence.ReuseSamePeriod {
			period = t.Period
		}
		depth, err := s.pool.Size(ctx, t.Name, period)
		if err != nil {
			return
		}
		into[i].PoolDepth = &depth
	}
}

func activityMessage(a ledger.Activity, t ledger.TypeActivity) *lacunav1.Activity {
	m := &lacunav1.Activity{
		BizType: t.Name, Period: t.Period, FormatMax: t.Format.Max(), CountedTime: wire.Time(a.CountedTime), DeadLetters: t.DeadLetters, Conflicts: t.Conflicts,
	}
	if t.Cursor >= 0 {
		m.Cursor = &t.Cursor
	}
	if t.Overdue > 0 {
		m.OldestOverdue = durationpb.New(t.Overdue)
	}
	for i, moves := range t.Minutes {
		begun := a.Minute.Add(-time.Duration(len(t.Minutes)-1-i) * time.Minute)
		m.Minutes = append(m.Minutes, &lacunav1.ActivityMinute{
			Time: wire.Time(begun), Issued: moves.Issued, Confirmed: moves.Confirmed, Abandoned: moves.Abandoned,
		})
	}
	for _, state := range sequence.States {
		if n := t.States[state]; n > 0 {
			m.States = append(m.States, &lacunav1.StateCount{State: wire.State(state), Count: n})
		}
	}
	return m
}
