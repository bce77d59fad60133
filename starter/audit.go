package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/internal/wire"
	"github.com/lacuna-seq/lacuna/sequence"
)

// Bounds of an audit.
const (
	defaultGaps = 100
	maxGaps     = 10_000
	maxAudits   = 2 // at once: the rest of the ledger's connections issues numbers
	auditRetry  = 10 * time.Second
)

func (s *operatorService) Audit(ctx context.Context, r *connect.Request[lacunav1.AuditRequest]) (*connect.Response[lacunav1.AuditResponse], error) {
	m := r.Msg
	filter := ledger.AuditFilter{BizType: m.GetBizType(), Period: m.GetPeriod(), Lo: m.Lo, Hi: m.Hi}
	size, err := oneTo("gapsPageSize", m.GetGapsPageSize(), defaultGaps, maxGaps)
	if err != nil {
		return nil, apiError(err)
	}
	ctx, done, err := s.beginAudit(ctx)
	if err != nil {
		return nil, apiError(err)
	}
	defer done()
	var answer *lacunav1.AuditResponse
	if m.GetGapsPageToken() == "" {
		answer, err = s.auditAll(ctx, filter, size)
	} else {
		answer, err = s.furtherGaps(ctx, filter, m.GetGapsPageToken(), size)
	}
	if err != nil && s.stopping.Err() != nil {
		err = &sequence.UnavailableError{What: "the process is stopping: ask another", Cause: err}
	}
	if err != nil {
		return nil, apiError(err)
	}
	return connect.NewResponse(answer), nil
}

// beginAudit takes a place among the audits that run, until done. A stop of the process waits for none.
func (s *operatorService) beginAudit(ctx context.Context) (_ context.Context, done func(), err error) {
	if s.audits.Add(1) > maxAudits {
		s.audits.Add(-1)
		return ctx, nil, &sequence.BusyError{What: strconv.Itoa(maxAudits) + " audits are running in this process", RetryAfter: auditRetry}
	}
	ctx, cancel := context.WithCancel(ctx)
	forget := context.AfterFunc(s.stopping, cancel)
	return ctx, func() {
		forget()
		cancel()
		s.audits.Add(-1)
	}, nil
}

func (s *operatorService) auditAll(ctx context.Context, filter ledger.AuditFilter, size int) (*lacunav1.AuditResponse, error) {
	a, err := s.ledger.Audit(ctx, filter, size)
	if err != nil {
		return nil, err
	}
	answer := &lacunav1.AuditResponse{Clean: proto.Bool(a.Clean()), FindingsLeft: a.FindingsLeft}
	for _, r := range a.Reports {
		answer.Reports = append(answer.Reports, auditReportMessage(r))
	}
	for _, f := range a.Findings {
		answer.Findings = append(answer.Findings, &lacunav1.AuditFinding{
			Kind: findingKindMessage(f.Kind), BizType: f.BizType, Period: f.Period, Lo: f.Lo, Hi: f.Hi, Words: f.Words,
		})
	}
	addGaps(answer, a.Time, a.Gaps, a.MoreGaps)
	return answer, nil
}

func (s *operatorService) furtherGaps(ctx context.Context, filter ledger.AuditFilter, token string, size int) (*lacunav1.AuditResponse, error) {
	after, err := parseGapPosition(token)
	if err != nil {
		return nil, err
	}
	gaps, more, now, err := s.ledger.Gaps(ctx, filter, after, size)
	if err != nil {
		return nil, err
	}
	answer := &lacunav1.AuditResponse{}
	addGaps(answer, now, gaps, more)
	return answer, nil
}

func addGaps(answer *lacunav1.AuditResponse, now time.Time, gaps []ledger.Gap, more bool) {
	answer.Time = wire.Time(now)
	for _, g := range gaps {
		answer.Gaps = append(answer.Gaps, gapMessage(g))
	}
	if more {
		answer.NextGapsPageToken = gapPositionText(gaps[len(gaps)-1].Position())
	}
}

func auditReportMessage(r ledger.AuditReport) *lacunav1.AuditReport {
	m := &lacunav1.AuditReport{
		BizType: r.BizType, Period: r.Period, From: r.From, To: r.To, Values: r.Values(),
		InUse: r.States[sequence.Confirmed], WithCaller: r.States[sequence.Allocated], InWindow: r.States[sequence.Abandoned],
		InPool: r.States[sequence.Replayable], Held: r.States[sequence.Reserved] + r.States[sequence.Replayed],
		Dead: r.States[sequence.Dead], Retired: r.States[sequence.Retired],
		Skipped: r.Skipped, Unaccounted: r.Unaccounted, Unknown: r.UnknownStatus, Gaps: r.Gaps,
	}
	if r.HasCursor {
		m.Cursor = &r.Cursor
	}
	for _, c := range r.RetiredReasons {
		m.RetiredReasons = append(m.RetiredReasons, &lacunav1.ReasonCount{Reason: c.Reason, Count: c.Count})
	}
	return m
}

func gapMessage(g ledger.Gap) *lacunav1.Gap {
	n := g.Number
	m := &lacunav1.Gap{
		BizType: n.BizType, Period: n.Period, Value: n.Value, SeqNo: n.SeqNo, State: wire.State(n.State),
		BizKey: n.BizKey, Reason: n.Reason, Since: wire.Time(g.Since),
	}
	if n.Life > 0 {
		m.Ticket = n.Ticket().String()
	}
	return m
}

func findingKindMessage(k ledger.FindingKind) lacunav1.FindingKind {
	return lacunav1.FindingKind(lacunav1.FindingKind_value[findingKindPrefix+k.String()])
}

const findingKindPrefix = "FINDING_KIND_"

// positionSeparator cannot occur in a biz type, a period or a value.
const positionSeparator = "~"

func gapPositionText(p ledger.GapPosition) string {
	return strings.Join([]string{p.BizType, p.Period, strconv.FormatInt(p.Value, 10)}, positionSeparator)
}

func parseGapPosition(token string) (ledger.GapPosition, error) {
	var p ledger.GapPosition
	parts := strings.Split(token, positionSeparator)
	if len(parts) == 3 {
		value, err := strconv.ParseInt(parts[2], 10, 64)
		p = ledger.GapPosition{BizType: parts[0], Period: parts[1], Value: value}
		if err == nil && sequence.ValidateBizTypeName(p.BizType) == nil && gapPositionText(p) == token {
			return p, nil
		}
	}
	return p, sequence.Invalidf("gapsPageToken", "is not one that an answer gave")
}
