package main

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"golang.org/x/time/rate"

	"github.com/lacuna-seq/lacuna/internal/access"
	"github.com/lacuna-seq/lacuna/internal/telemetry"
)

// gate lets calls in, in two steps. identify, around a service, says who calls before anything of the call is
// read; the gate itself, an interceptor, holds what is called to rules.
type gate struct {
	who     func(authorization string) (*access.Holder, error)
	log     *slog.Logger
	refused metric.Int64Counter
	say     *rate.Sometimes // a caller who is denied over and over must not fill the log
}

func newGate(who func(string) (*access.Holder, error), log *slog.Logger, meter metric.Meter) (*gate, error) {
	refused, err := meter.Int64Counter(telemetry.MetricRefused, metric.WithDescription("Calls that were not let in, by why"))
	return &gate{who: who, log: log.With("component", "access"), refused: refused, say: &rate.Sometimes{Interval: time.Second}}, err
}

// anybody lets everybody in as an admin.
func anybody(string) (*access.Holder, error) { return anonymous, nil }

var anonymous = access.AnonymousAdmin()

type holderKey struct{}

// holderOf is who calls; nil where identify was not asked.
func holderOf(ctx context.Context) *access.Holder {
	h, _ := ctx.Value(holderKey{}).(*access.Holder)
	return h
}

// callerName is the name that is kept of whoever calls.
func callerName(ctx context.Context) string {
	if h := holderOf(ctx); h != nil {
		return h.Name
	}
	return ""
}

// as makes a context whose calls, of inside, are the holder's.
func as(ctx context.Context, h *access.Holder) context.Context {
	return context.WithValue(ctx, holderKey{}, h)
}

// identify answers calls without a valid token, and those above a token's rate, and lets the others in.
func (g *gate) identify(next http.Handler) http.Handler {
	return g.admit(next, func(r *http.Request) (*access.Holder, error) { return g.who(r.Header.Get("Authorization")) })
}

// inside is identify for calls that this process makes for somebody who it knows already: they say so by as.
func (g *gate) inside(next http.Handler) http.Handler {
	return g.admit(next, func(r *http.Request) (*access.Holder, error) {
		if h := holderOf(r.Context()); h != nil {
			return h, nil
		}
		return nil, access.ErrUnknown
	})
}

func (g *gate) admit(next http.Handler, who func(*http.Request) (*access.Holder, error)) http.Handler {
	errorWriter := connect.NewErrorWriter()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, err := who(r)
		why := "unauthenticated"
		if err == nil {
			err, why = h.Call(time.Now()), "rate"
		}
		if err != nil {
			g.count(r.Context(), why)
			answer := apiError(err)
			logFault(r.Context(), g.log, answer, "procedure", r.URL.Path)
			_ = errorWriter.Write(w, r, answer) // the caller may have gone
			return
		}
		next.ServeHTTP(w, r.WithContext(as(r.Context(), h)))
	})
}

// WrapUnary denies what the caller may not do, before anything of it is done.
func (g *gate) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
		h := holderOf(ctx)
		if h == nil {
			return nil, apiError(errors.New("a service is served without asking who calls"))
		}
		of := rules[r.Spec().Procedure]
		if err := authorize(h, of, r.Any()); err != nil {
			g.deny(ctx, h, r.Spec().Procedure, err)
			return nil, apiError(err)
		}
		response, err := next(ctx, r)
		if err == nil && of.abandoned != nil {
			h.Abandoned(of.abandoned(r.Any(), response.Any()), time.Now())
		}
		return response, err
	}
}

// authorize holds a request to the rule of its procedure.
func authorize(h *access.Holder, of rule, request any) error {
	if of.right == 0 {
		return &access.DeniedError{Name: h.Name, Role: h.Role}
	}
	if err := h.May(of.right, ""); err != nil || of.touches == nil || !h.Bound() {
		return err
	}
	return of.touches(request, func(bizType string) error { return h.May(of.right, bizType) })
}

func (g *gate) deny(ctx context.Context, h *access.Holder, procedure string, err error) {
	g.count(ctx, "denied")
	g.say.Do(func() {
		g.log.WarnContext(ctx, "a call was denied", "token", h.Name, "procedure", procedure, "error", err)
	})
}

func (g *gate) count(ctx context.Context, why string) {
	g.refused.Add(ctx, 1, metric.WithAttributes(attribute.String(telemetry.KeyResult, why)))
}

// WrapStreamingClient changes nothing: the starter calls nobody.
func (g *gate) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// WrapStreamingHandler denies streams: there is no rule for what would come in one.
func (g *gate) WrapStreamingHandler(connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, c connect.StreamingHandlerConn) error {
		err := &access.DeniedError{Name: callerName(ctx)}
		g.count(ctx, "denied")
		g.log.WarnContext(ctx, "a stream was denied", "token", err.Name, "procedure", c.Spec().Procedure)
		return apiError(err)
	}
}
