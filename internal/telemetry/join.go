package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Join makes the span of work that is done for many callers at once. It is part of the first caller's trace that is
// sampled, and linked to the others'; each caller's own span is linked to it. Where no caller is traced there is none.
func Join(tracer trace.Tracer, name string) func(context.Context, []context.Context) (context.Context, func(error)) {
	return func(ctx context.Context, callers []context.Context) (context.Context, func(error)) {
		first, links := traced(callers)
		if first == nil {
			return ctx, func(error) {}
		}
		ctx, span := tracer.Start(trace.ContextWithSpan(ctx, first), name, trace.WithLinks(links...),
			trace.WithAttributes(attribute.Int(KeySize, len(callers))))
		back := trace.Link{SpanContext: span.SpanContext()}
		for _, caller := range callers {
			if s := trace.SpanFromContext(caller); s.IsRecording() && s.SpanContext().SpanID() != first.SpanContext().SpanID() {
				s.AddLink(back)
			}
		}
		return ctx, func(err error) {
			if err != nil {
				span.RecordError(err)
				span.SetStatus(codes.Error, err.Error())
			}
			span.End()
		}
	}
}

// traced gives the first caller's span that is sampled, nil where none is, and links to the further ones.
func traced(callers []context.Context) (first trace.Span, links []trace.Link) {
	for _, caller := range callers {
		span := trace.SpanFromContext(caller)
		switch {
		case !span.SpanContext().IsSampled():
		case first == nil:
			first = span
		default:
			links = append(links, trace.Link{SpanContext: span.SpanContext()})
		}
	}
	return first, links
}
