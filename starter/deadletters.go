package main

import (
	"context"
	"strings"
	"time"

	"connectrpc.com/connect"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/internal/wait"
	"github.com/lacuna-seq/lacuna/internal/wire"
	"github.com/lacuna-seq/lacuna/sequence"
)

// Bounds of the operator's calls on dead letters.
const (
	defaultActs  = 1_000
	maxActs      = 10_000
	defaultRate  = 200
	maxRate      = 10_000
	ratePeriod   = 100 * time.Millisecond // a batch of a rate
	requeueByAPI = "requeued by an operator"
)

func (s *operatorService) ListDeadLetters(ctx context.Context, r *connect.Request[lacunav1.ListDeadLettersRequest]) (*connect.Response[lacunav1.ListDeadLettersResponse], error) {
	filter, err := filterOf(r.Msg.GetFilter())
	if err != nil {
		return nil, apiError(err)
	}
	size, after, err := pageOf(r.Msg)
	if err != nil {
		return nil, apiError(err)
	}
	letters, err := s.ledger.DeadLetters(ctx, filter, after, size+1)
	if err != nil {
		return nil, apiError(err)
	}
	counts, err := s.ledger.CountDead(ctx, filter)
	if err != nil {
		return nil, apiError(err)
	}
	letters, next := cutPage(letters, size, func(d ledger.DeadLetter) int64 { return d.ID })
	response := &lacunav1.ListDeadLettersResponse{NextPageToken: next}
	for _, d := range letters {
		response.DeadLetters = append(response.DeadLetters, s.deadLetterMessage(d))
	}
	for _, c := range counts {
		response.Counts = append(response.Counts, &lacunav1.DeadLetterCount{BizType: c.BizType, Cause: causeMessage(c.Cause), Count: c.Count})
	}
	return connect.NewResponse(response), nil
}

func (s *operatorService) RequeueDeadLetters(ctx context.Context, r *connect.Request[lacunav1.RequeueDeadLettersRequest]) (*connect.Response[lacunav1.RequeueDeadLettersResponse], error) {
	m := r.Msg
	rate, err := oneTo("rate", m.GetRate(), defaultRate, maxRate)
	if err != nil {
		return nil, apiError(err)
	}
	act := deadLetterAct{kind: sequence.Requeue, done: sequence.OutcomeRequeued, actor: callerName(ctx), note: m.GetActor(), reason: m.GetReason(), all: m.GetAll(), rate: rate, dryRun: m.GetDryRun()}
	if act.reason == "" {
		act.reason = requeueByAPI
	}
	result, err := s.act(ctx, act, m.GetFilter(), m.GetLimit())
	if err != nil {
		return nil, apiError(err)
	}
	return connect.NewResponse(&lacunav1.RequeueDeadLettersResponse{Requeued: result.done, Skipped: result.skipped, Left: result.left}), nil
}

func (s *operatorService) WriteOffDeadLetters(ctx context.Context, r *connect.Request[lacunav1.WriteOffDeadLettersRequest]) (*connect.Response[lacunav1.WriteOffDeadLettersResponse], error) {
	m := r.Msg
	act := deadLetterAct{kind: sequence.WriteOff, done: sequence.OutcomeWrittenOff, actor: callerName(ctx), note: m.GetActor(), reason: m.GetReason(), all: m.GetAll(), rate: maxRate, dryRun: m.GetDryRun()}
	result, err := s.act(ctx, act, m.GetFilter(), m.GetLimit())
	if err != nil {
		return nil, apiError(err)
	}
	return connect.NewResponse(&lacunav1.WriteOffDeadLettersResponse{WrittenOff: result.done, Skipped: result.skipped, Left: result.left}), nil
}

// deadLetterAct is what an operator does to dead letters.
type deadLetterAct struct {
	kind          sequence.Kind
	done          sequence.Outcome
	actor, reason string
	note          string // what the request says of who acts
	all           bool
	rate          int // a second
	dryRun        bool
}

type actResult struct {
	done    int32
	skipped []string
	left    int64
}

// act does it to at most limit letters, oldest first. It ends early where its caller leaves or the
// process stops, and says what it has done until then: the rest is left.
func (s *operatorService) act(ctx context.Context, a deadLetterAct, m *lacunav1.DeadLetterFilter, asked int32) (actResult, error) {
	var result actResult
	filter, err := filterOf(m)
	if err != nil {
		return result, err
	}
	limit, err := oneTo("limit", asked, defaultActs, maxActs)
	if err != nil {
		return result, err
	}
	if err := a.validate(m); err != nil {
		return result, err
	}
	if a.reason, err = noted(a.reason, a.actor, a.note); err != nil {
		return result, err
	}
	if !a.dryRun {
		if err := s.actOn(ctx, a, filter, limit, &result); err != nil {
			return result, err
		}
	}
	counts, err := s.ledger.CountDead(ctx, filter)
	for _, c := range counts {
		result.left += c.Count
	}
	if a.dryRun {
		result.done = int32(min(result.left, int64(limit))) //nolint:gosec // limit is small
		result.left -= int64(result.done)
	}
	return result, err
}

func (a deadLetterAct) validate(m *lacunav1.DeadLetterFilter) error {
	if len(m.GetTickets()) == 0 && m.GetBizType() == "" && m.GetCause() == 0 && !m.GetFailedAgain() && !a.all {
		return sequence.Invalidf("filter", "is empty: say which dead letters are meant, or all")
	}
	return nil
}

func (s *operatorService) actOn(ctx context.Context, a deadLetterAct, filter ledger.DeadFilter, limit int, result *actResult) error {
	batch := min(max(1, a.rate*int(ratePeriod)/int(time.Second)), ledger.MaxBatch)
	pause := time.Duration(batch) * time.Second / time.Duration(a.rate)
	var after int64
	for limit > 0 {
		begun := time.Now()
		letters, err := s.ledger.DeadLetters(ctx, filter, after, min(batch, limit))
		if err != nil || len(letters) == 0 {
			return err
		}
		commands := make([]sequence.Command, len(letters))
		for i, d := range letters {
			commands[i] = sequence.Command{Kind: a.kind, Ticket: d.Number.Ticket(), Actor: a.actor, Reason: a.reason}
		}
		decisions, err := s.ledger.Apply(ctx, commands)
		if err != nil {
			return err
		}
		for i, d := range decisions {
			if d.Outcome == a.done {
				result.done++
			} else {
				result.skipped = append(result.skipped, commands[i].Ticket.String())
			}
		}
		after, limit = letters[len(letters)-1].ID, limit-len(letters)
		if s.stopping.Err() != nil || limit == 0 || wait.For(ctx, pause-time.Since(begun)) != nil {
			return nil
		}
	}
	return nil
}

func (s *operatorService) deadLetterMessage(d ledger.DeadLetter) *lacunav1.DeadLetter {
	n := d.Number
	return &lacunav1.DeadLetter{
		Ticket: n.Ticket().String(), BizType: n.BizType, SeqNo: n.SeqNo, BatchId: n.BatchID, BizKey: n.BizKey,
		Cause: causeMessage(d.Cause), Reason: d.Reason, DeadTime: wire.Time(d.Time), StateBefore: wire.State(n.State),
		Retries: n.RetryTimes, Requeues: int32(d.Requeues), RunUrl: s.runs.Of(n.Ticket()), //nolint:gosec // a count of rows
	}
}

func causeMessage(c sequence.DeadCause) lacunav1.DeadCause {
	return lacunav1.DeadCause(lacunav1.DeadCause_value[causePrefix+c.String()])
}

func filterOf(m *lacunav1.DeadLetterFilter) (ledger.DeadFilter, error) {
	f := ledger.DeadFilter{BizType: m.GetBizType(), FailedAgain: m.GetFailedAgain()}
	if f.BizType != "" {
		if err := sequence.ValidateBizTypeName(f.BizType); err != nil {
			return f, err
		}
	}
	if m.GetCause() != 0 {
		cause, err := sequence.ParseDeadCause(strings.TrimPrefix(m.GetCause().String(), causePrefix))
		if err != nil {
			return f, err
		}
		f.Cause = cause
	}
	if len(m.GetTickets()) > ledger.MaxBatch {
		return f, sequence.Invalidf("tickets", "%d are more than %d", len(m.GetTickets()), ledger.MaxBatch)
	}
	for _, text := range m.GetTickets() {
		ticket, err := sequence.ParseTicket(text)
		if err != nil {
			return f, err
		}
		f.Tickets = append(f.Tickets, ticket)
	}
	return f, nil
}
