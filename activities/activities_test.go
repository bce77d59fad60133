package activities_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	"github.com/lacuna-seq/lacuna/activities"
	"github.com/lacuna-seq/lacuna/sequence"
)

const ticket = "ORDER~A-000001~1"

// now is the ledger's clock.
var now = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// stores are a ledger and a pool in memory with one number, whose clock stands still. The stores
// themselves are tested on real servers.
type stores struct {
	inUse    bool  // what the business says
	noAnswer error // it says nothing

	mu      sync.Mutex
	row     sequence.Number
	batches [][]sequence.Command
	pool    map[string]int // how often each seq no was pushed

	// before is called with every call's context, outside the lock; an error is the call's answer.
	beforeApply, beforePush, beforeRemove func(ctx context.Context) error
}

func (s *stores) Apply(ctx context.Context, commands []sequence.Command) ([]sequence.Decision, error) {
	s.mu.Lock()
	s.batches = append(s.batches, commands)
	s.mu.Unlock()
	if err := call(ctx, s.beforeApply); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	decisions := make([]sequence.Decision, len(commands))
	for i, c := range commands {
		if c.Ticket.SeqNo != s.row.SeqNo {
			decisions[i].Outcome = sequence.OutcomeNotFound
			continue
		}
		rules := sequence.BizType{Name: "ORDER", ConfirmTimeout: 15 * time.Minute, SafetyWindow: 2 * time.Minute, MaxReplays: 2}
		decisions[i] = sequence.Decide(rules, s.row, c, now)
		s.row = decisions[i].Number
	}
	return decisions, nil
}

func (s *stores) Push(ctx context.Context, entries []sequence.PoolEntry) error {
	if err := call(ctx, s.beforePush); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		s.pool[e.SeqNo]++
	}
	return nil
}

func (s *stores) Remove(ctx context.Context, entries []sequence.PoolEntry) error {
	if err := call(ctx, s.beforeRemove); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		delete(s.pool, e.SeqNo)
	}
	return nil
}

func (s *stores) Ask(context.Context, sequence.Probe, sequence.Ticket) (bool, error) {
	return s.inUse, s.noAnswer
}

func call(ctx context.Context, before func(context.Context) error) error {
	if before == nil {
		return nil
	}
	return before(ctx)
}

// setup gives the activities over stores that hold one number in the state that prepare leaves it
// in; before that it is ALLOCATED for another minute.
func setup(t *testing.T, prepare ...func(n *sequence.Number)) (*stores, *activities.Activities, *testsuite.TestActivityEnvironment) {
	t.Helper()
	s := &stores{pool: map[string]int{}, row: sequence.Number{
		BizType: "ORDER", SeqNo: "A-000001", Value: 1, Life: 1, BatchID: "batch-1", State: sequence.Allocated,
		IssuedTime: now.Add(-14 * time.Minute), Deadline: now.Add(time.Minute),
	}}
	for _, f := range prepare {
		f(&s.row)
	}
	a := activities.New(s, s, s, slog.New(slog.DiscardHandler))
	t.Cleanup(a.Close)
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(slog.New(slog.DiscardHandler))
	env := suite.NewTestActivityEnvironment()
	a.Register(env)
	return s, a, env
}

func away(context.Context) error { return &sequence.UnavailableError{What: "the ledger is away"} }

var errRefused = errors.New("connection refused")

// abandoned puts the number into its window, which ends after left.
func abandoned(left time.Duration) func(n *sequence.Number) {
	return func(n *sequence.Number) {
		n.State, n.Deadline = sequence.Abandoned, now.Add(left)
		n.AbandonedTime = n.Deadline.Add(-2 * time.Minute)
	}
}

func in(state sequence.State) func(n *sequence.Number) {
	return func(n *sequence.Number) { n.State, n.AbandonedTime = state, now.Add(-time.Hour) }
}

func ofLife(life int32) func(n *sequence.Number) {
	return func(n *sequence.Number) { n.Life = life }
}
