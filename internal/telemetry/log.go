package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"go.opentelemetry.io/otel/trace"

	"github.com/lacuna-seq/lacuna/sequence"
)

func newLogger(o Options) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(o.LogLevel)); err != nil {
		return nil, fmt.Errorf("telemetry: the log level: %w", err)
	}
	if o.LogTo == nil {
		o.LogTo = os.Stderr
	}
	var handler slog.Handler = slog.NewTextHandler(o.LogTo, &slog.HandlerOptions{Level: level})
	if o.LogFormat == "json" {
		handler = slog.NewJSONHandler(o.LogTo, &slog.HandlerOptions{Level: level})
	}
	return slog.New(lineHandler{Handler: handler}), nil
}

// AboutNumber are the attributes of a line about a number that no call's context belongs to.
func AboutNumber(n sequence.Number) slog.Value {
	attrs := []slog.Attr{slog.String(KeyTicket, n.Ticket().String()), slog.String(KeyBizType, n.BizType)}
	if span := trace.SpanContextFromContext(InTrace(context.Background(), n.Trace)); span.IsValid() {
		attrs = append(attrs, slog.String(KeyTraceID, span.TraceID().String()))
	}
	return slog.GroupValue(attrs...)
}

// workflowIDKey is how Temporal's lines name a run; that of a number is its ticket.
const workflowIDKey = "WorkflowID"

// lineHandler completes lines: with the trace of their context, and, where they name a number by its ticket or by its
// run, with its biz type and its ticket. So every line about a number is found by the same keys.
type lineHandler struct {
	slog.Handler
	named named // by the attributes of the logger
}

// named says which of the keys a line has.
type named struct{ ticket, bizType, trace bool }

// see notes the keys of an attribute and gives what follows from it.
func (n *named) see(a slog.Attr) (ticket sequence.Ticket, ok bool) {
	switch a.Key {
	case KeyBizType:
		n.bizType = true
	case KeyTraceID:
		n.trace = true
	case KeyTicket, workflowIDKey:
		n.ticket = n.ticket || a.Key == KeyTicket
		ticket, err := sequence.ParseTicket(a.Value.String())
		return ticket, err == nil
	}
	return ticket, false
}

// complete gives the attributes that are missing beside these.
func (n *named) complete(each func(func(slog.Attr) bool)) (missing []slog.Attr) {
	var ticket sequence.Ticket
	each(func(a slog.Attr) bool {
		if t, ok := n.see(a); ok {
			ticket = t
		}
		return true
	})
	if ticket.Life == 0 {
		return nil
	}
	if !n.ticket {
		missing = append(missing, slog.String(KeyTicket, ticket.String()))
	}
	if !n.bizType {
		missing = append(missing, slog.String(KeyBizType, ticket.BizType))
	}
	n.ticket, n.bizType = true, true
	return missing
}

func (h lineHandler) Handle(ctx context.Context, r slog.Record) error {
	named := h.named
	r.AddAttrs(named.complete(r.Attrs)...)
	if span := trace.SpanContextFromContext(ctx); span.IsValid() && !named.trace {
		r.AddAttrs(slog.String(KeyTraceID, span.TraceID().String()), slog.String(KeySpanID, span.SpanID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

func (h lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	missing := h.named.complete(func(see func(slog.Attr) bool) {
		for _, a := range attrs {
			see(a)
		}
	})
	h.Handler = h.Handler.WithAttrs(append(attrs[:len(attrs):len(attrs)], missing...))
	return h
}

func (h lineHandler) WithGroup(name string) slog.Handler {
	h.Handler = h.Handler.WithGroup(name)
	return h
}
