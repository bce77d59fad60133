package wire_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/wire"
	"github.com/lacuna-seq/lacuna/sequence"
)

func TestWhatMayBeRepeatedSaysWhen(t *testing.T) {
	for _, tt := range []struct {
		err    error
		status int
		after  string
	}{
		{&sequence.BusyError{What: "the queue is full", RetryAfter: 1200 * time.Millisecond}, http.StatusTooManyRequests, "2"},
		{&sequence.BusyError{What: "the queue is full", RetryAfter: time.Millisecond}, http.StatusTooManyRequests, "1"},
		{&sequence.UnavailableError{What: "the ledger is away"}, http.StatusServiceUnavailable, "1"},
		{sequence.ErrFull, http.StatusBadRequest, ""},
		{errors.New("a secret"), http.StatusInternalServerError, ""},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil)
		r.Header.Set("Content-Type", "application/json")
		require.NoError(t, connect.NewErrorWriter().Write(w, r, wire.Error(tt.err)))
		require.Equal(t, tt.status, w.Code, "%v", tt.err)
		require.Equal(t, tt.after, w.Header().Get("Retry-After"), "%v", tt.err)
		require.NotContains(t, w.Body.String(), "secret")
	}
}
