package telemetry

import (
	"database/sql"
	"database/sql/driver"
	"fmt"

	"connectrpc.com/connect"
	"connectrpc.com/otelconnect"
	"github.com/XSAM/otelsql"
	"github.com/redis/go-redis/extra/redisotel/v9"
	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/attribute"
)

// The libraries' own instrumentation, each switched on in one place.

// OpenDB opens a connection pool whose statements are traced and counted.
func (t *Telemetry) OpenDB(connector driver.Connector) *sql.DB {
	return otelsql.OpenDB(connector,
		otelsql.WithTracerProvider(children{of: t.Tracers}), otelsql.WithMeterProvider(t.Meters),
		otelsql.WithAttributes(attribute.String("db.system.name", "mysql")),
		// A batch's statement is long and its arguments are numbers: neither belongs in a span.
		otelsql.WithSpanOptions(otelsql.SpanOptions{DisableQuery: true, OmitConnResetSession: true, OmitRows: true, DisableErrSkip: true}))
}

// Redis traces a client's commands.
func (t *Telemetry) Redis(c *redis.Client) error {
	return redisotel.InstrumentTracing(c, redisotel.WithTracerProvider(children{of: t.Tracers}), redisotel.WithDBStatement(false))
}

// Connect is the interceptor of API servers and clients. A caller's trace goes on in the server's.
func (t *Telemetry) Connect() (connect.Interceptor, error) {
	i, err := otelconnect.NewInterceptor(otelconnect.WithTracerProvider(t.Tracers), otelconnect.WithMeterProvider(t.Meters),
		otelconnect.WithPropagator(Propagator()), otelconnect.WithTrustRemote())
	if err != nil {
		return nil, fmt.Errorf("telemetry: the API's interceptor: %w", err)
	}
	return i, nil
}
