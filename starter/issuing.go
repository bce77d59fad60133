package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/internal/runlink"
	"github.com/lacuna-seq/lacuna/internal/wire"
	"github.com/lacuna-seq/lacuna/issuer"
	"github.com/lacuna-seq/lacuna/sequence"
)

// issuing is what answers lacuna.v1.SequenceService through package wire: the issuer, and the ledger for what is
// only read.
type issuing struct {
	issuer *issuer.Issuer
	ledger *ledger.Ledger
	runs   runlink.Maker
}

func (s *issuing) Next(ctx context.Context, asked wire.Asked) ([]wire.Issued, error) {
	issued, err := s.issuer.Next(ctx, issuer.Request{
		BizType: asked.BizType, BizKey: asked.BizKey, Count: asked.Count, AllowPartial: asked.AllowPartial, IdempotencyKey: asked.IdempotencyKey,
	})
	if err != nil {
		return nil, err
	}
	out := make([]wire.Issued, len(issued))
	for i, n := range issued {
		out[i] = wire.Issued(n)
	}
	return out, nil
}

// Settle says who commands.
func (s *issuing) Settle(ctx context.Context, commands []sequence.Command) ([]wire.Settled, error) {
	for i := range commands {
		commands[i].Actor = callerName(ctx)
	}
	results, err := s.issuer.Settle(ctx, commands)
	if err != nil {
		return nil, err
	}
	out := make([]wire.Settled, len(results))
	for i, r := range results {
		out[i] = wire.Settled{Outcome: r.Outcome, Err: r.Err}
	}
	return out, nil
}

func (s *issuing) Extend(ctx context.Context, ticket sequence.Ticket, holdFor time.Duration) (time.Time, error) {
	return s.issuer.Extend(ctx, ticket, holdFor)
}

// absent says why there is no such number.
func (s *issuing) absent(ctx context.Context, bizType, seqNo string, notFound error) error {
	b, err := s.ledger.BizType(ctx, bizType)
	if err != nil {
		return err
	}
	if _, _, err := b.Format.Parse(seqNo); err != nil {
		return fmt.Errorf("%w: it is not of the format %s", notFound, b.Format)
	}
	return fmt.Errorf("%w: no such number was allocated yet", notFound)
}

func (s *issuing) History(ctx context.Context, bizType, seqNo string) (h wire.History, err error) {
	n, lives, err := s.ledger.Get(ctx, bizType, seqNo)
	if errors.Is(err, sequence.ErrNotFound) {
		return h, s.absent(ctx, bizType, seqNo, err)
	}
	if err != nil {
		return h, err
	}
	h.Number, h.RunURL = n, s.runs.Of(n.Ticket())
	for _, l := range lives {
		h.Lives = append(h.Lives, wire.Life{
			Ticket: l.Ticket, BatchID: l.BatchID, BizKey: l.BizKey, IssuedTime: l.IssuedTime, AbandonedTime: l.AbandonedTime, Reason: l.Reason,
			RunURL: s.runs.Of(l.Ticket),
		})
	}
	events, err := s.ledger.Events(ctx, bizType, seqNo)
	if err != nil {
		return h, err
	}
	for _, e := range events {
		h.Events = append(h.Events, wire.Event(e))
	}
	conflicts, err := s.ledger.ConflictsOf(ctx, bizType, seqNo)
	for _, c := range conflicts {
		h.Conflicts = append(h.Conflicts, wire.Conflict{
			Asked: c.Asked, Current: c.Current, AskedBizKey: c.AskedBizKey, CurrentBizKey: c.CurrentBizKey, Time: c.DetectedTime,
		})
	}
	return h, err
}
