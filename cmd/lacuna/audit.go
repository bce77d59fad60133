package main

import (
	"context"
	"fmt"
	"io"

	"connectrpc.com/connect"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/api/lacuna/v1/lacunav1connect"
)

// gapPages is how many gaps one call asks for.
const gapPages = 10_000

// auditCommand asks whether every value is accounted for.
type auditCommand struct {
	api
	BizType string `arg:"" optional:"" name:"biztype" help:"The biz type; all where none is named."`
	Period  string `placeholder:"202612" help:"Only this period."`
	From    *int64 `placeholder:"value" help:"The first value."`
	To      *int64 `placeholder:"value" help:"The last value."`
	Gaps    bool   `help:"List every open gap: what was issued and is neither in business use nor with a caller."`
	Output  string `enum:"table,text,json,csv" default:"table" placeholder:"table|json|csv" help:"How it is written, text is another word for table. json is an object a line; csv has findings on standard error."`
}

// auditPrinter writes an audit in one of the forms.
type auditPrinter interface {
	// audit writes the sums and the findings.
	audit(*lacunav1.AuditResponse)
	// gaps writes a page of gaps; the first is that of the audit itself.
	gaps(*lacunav1.AuditResponse)
	end() error
}

// Run writes the audit, and its open gaps where they are asked for. Findings end it with errFindings.
func (c auditCommand) Run(ctx context.Context, out io.Writer) error {
	operator := c.operator()
	request := &lacunav1.AuditRequest{BizType: c.BizType, Period: c.Period, Lo: c.From, Hi: c.To, GapsPageSize: 1}
	if c.Gaps {
		request.GapsPageSize = gapPages
	}
	first, err := operator.Audit(ctx, connect.NewRequest(request))
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	p := c.printer(out)
	p.audit(first.Msg)
	if c.Gaps {
		if err := c.pages(ctx, operator, request, first.Msg, p); err != nil {
			return err
		}
	}
	if err := p.end(); err != nil {
		return err
	}
	if !first.Msg.GetClean() {
		return errFindings
	}
	return nil
}

// pages writes page after page of gaps. Those after the first show the ledger as it is when they are read.
func (c auditCommand) pages(ctx context.Context, operator lacunav1connect.OperatorServiceClient, request *lacunav1.AuditRequest, page *lacunav1.AuditResponse, p auditPrinter) error {
	p.gaps(page)
	for page.GetNextGapsPageToken() != "" {
		request.GapsPageToken = page.GetNextGapsPageToken()
		next, err := operator.Audit(ctx, connect.NewRequest(request))
		if err != nil {
			return fmt.Errorf("audit: list the gaps after %s: %w", request.GetGapsPageToken(), err)
		}
		page = next.Msg
		p.gaps(page)
	}
	return nil
}

func (c auditCommand) printer(out io.Writer) auditPrinter {
	switch c.Output {
	case "json":
		return &auditJSON{out: out, list: c.Gaps}
	case "csv":
		return newAuditCSV(out, c.Gaps)
	}
	return &auditText{out: out}
}

// auditClass is a column of an audit.
type auditClass struct {
	name  string // in CSV
	title string // in a table
	of    func(*lacunav1.AuditReport) int64
}

// auditClasses add up to the values.
var auditClasses = []auditClass{
	{"IN_USE", "in use", (*lacunav1.AuditReport).GetInUse},
	{"WITH_CALLER", "with caller", (*lacunav1.AuditReport).GetWithCaller},
	{"IN_WINDOW", "in window", (*lacunav1.AuditReport).GetInWindow},
	{"IN_POOL", "in pool", (*lacunav1.AuditReport).GetInPool},
	{"HELD", "held", (*lacunav1.AuditReport).GetHeld},
	{"DEAD", "dead", (*lacunav1.AuditReport).GetDead},
	{"RETIRED", "retired", (*lacunav1.AuditReport).GetRetired},
	{"SKIPPED", "skipped", (*lacunav1.AuditReport).GetSkipped},
	{"UNACCOUNTED", "unaccounted", (*lacunav1.AuditReport).GetUnaccounted},
	{"UNKNOWN", "unknown", (*lacunav1.AuditReport).GetUnknown},
}
