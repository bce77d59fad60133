package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"github.com/lacuna-seq/lacuna/internal/telemetry"
	"github.com/lacuna-seq/lacuna/sequence"
)

func TestLines(t *testing.T) {
	var out bytes.Buffer
	log := start(t, &out).Log
	line := func(t *testing.T) map[string]any {
		t.Helper()
		require.Equal(t, 1, bytes.Count(out.Bytes(), []byte{'\n'}))
		fields := map[string]any{}
		require.NoError(t, json.Unmarshal(out.Bytes(), &fields))
		out.Reset()
		delete(fields, "time")
		delete(fields, "level")
		return fields
	}
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	traced := trace.ContextWithSpanContext(t.Context(), span)
	const ticket = "ORDER~A-000001~1"

	t.Run("carry the trace of their context", func(t *testing.T) {
		log.With("a", "b").InfoContext(traced, "hello")
		require.Equal(t, map[string]any{"msg": "hello", "a": "b", "trace_id": "01000000000000000000000000000000", "span_id": "0200000000000000"}, line(t))
	})
	t.Run("carry the biz type of the ticket that they name", func(t *testing.T) {
		log.Info("hello", "ticket", ticket)
		require.Equal(t, map[string]any{"msg": "hello", "ticket": ticket, "biz_type": "ORDER"}, line(t))
		log.With("ticket", ticket).Info("hello", "biz_key", "o-1")
		require.Equal(t, map[string]any{"msg": "hello", "ticket": ticket, "biz_type": "ORDER", "biz_key": "o-1"}, line(t))
	})
	t.Run("carry the ticket of the run that they name", func(t *testing.T) {
		log.With("WorkflowID", ticket, "trace_id", "abc").InfoContext(traced, "hello")
		require.Equal(t, map[string]any{"msg": "hello", "WorkflowID": ticket, "ticket": ticket, "biz_type": "ORDER", "trace_id": "abc"}, line(t))
		log.With("WorkflowID", ticket).Info("hello", "ticket", ticket)
		require.Equal(t, map[string]any{"msg": "hello", "WorkflowID": ticket, "ticket": ticket, "biz_type": "ORDER"}, line(t))
	})
	t.Run("stay as they are where they name no number", func(t *testing.T) {
		log.With("WorkflowID", "lacuna-patrol-2026").Info("hello", "ticket", "nonsense")
		require.Equal(t, map[string]any{"msg": "hello", "WorkflowID": "lacuna-patrol-2026", "ticket": "nonsense"}, line(t))
	})
	t.Run("of a number outside any call carry its trace", func(t *testing.T) {
		n := sequence.Number{BizType: "ORDER", SeqNo: "A-000001", Life: 1, Trace: elsewhere}
		log.LogAttrs(context.Background(), 0, "hello", telemetry.AboutNumber(n).Group()...)
		require.Equal(t, map[string]any{"msg": "hello", "ticket": ticket, "biz_type": "ORDER", "trace_id": elsewhere[3:35]}, line(t))
	})
}
