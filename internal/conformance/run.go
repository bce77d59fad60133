package conformance

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/client"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// Target is a service that is held to the behaviours.
type Target struct {
	URL   string
	Token string // of somebody who may take, settle and read numbers of every biz type
	// Make makes a biz type.
	Make func(t *testing.T, b sequence.BizType)
	// Pass lets time pass for the service.
	Pass func(t *testing.T, d time.Duration)
}

// Run holds a target, a new one for each behaviour or always the same, to all behaviours, side by side, and
// returns when all have ended.
func Run(t *testing.T, target func(t *testing.T) Target) {
	t.Run("behaviours", func(t *testing.T) {
		for name, behaviour := range behaviours {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := &service{Target: target(t)}
				c, err := client.Dial(s.URL, client.WithToken(s.Token))
				require.NoError(t, err)
				s.Client = c
				behaviour(t, s)
				require.NoError(t, c.Close(t.Context()))
			})
		}
	})
}

// service is a target as behaviours use it.
type service struct {
	Target
	*client.Client
}

// Times of a biz type: long where no time is to pass, short where it is.
const (
	long  = time.Hour
	short = 2 * time.Second
	brief = time.Second
)

// make makes a biz type whose times are long, and changes it.
func (s *service) make(t *testing.T, name, format string, change ...func(*sequence.BizType)) {
	t.Helper()
	f, err := sequence.ParseFormat(format)
	require.NoError(t, err)
	b := sequence.NewBizType(name, f)
	b.ConfirmTimeout, b.SafetyWindow = long, long
	for _, c := range change {
		c(&b)
	}
	s.Make(t, b)
}

// single leaves a biz type of width 1 a single value: it is issued again, or nothing is.
func single(b *sequence.BizType) { b.Start = b.Format.Max() }

func window(d time.Duration) func(*sequence.BizType) {
	return func(b *sequence.BizType) { b.SafetyWindow = d }
}

func timeout(d time.Duration) func(*sequence.BizType) {
	return func(b *sequence.BizType) { b.ConfirmTimeout = d }
}

// next takes a number.
func (s *service) next(t *testing.T, bizType string, opts ...client.NextOption) client.Number {
	t.Helper()
	n, err := s.Next(t.Context(), bizType, opts...)
	require.NoError(t, err)
	return n
}

// again takes numbers until there is one.
func (s *service) again(t *testing.T, bizType string) (n client.Number) {
	t.Helper()
	testkit.Eventually(t, func() bool {
		var err error
		n, err = s.Next(t.Context(), bizType)
		if err != nil {
			require.ErrorIs(t, err, sequence.ErrFull)
		}
		return err == nil
	}, "no number of %s was issued again", bizType)
	return n
}

func (s *service) confirm(t *testing.T, n client.Number) {
	t.Helper()
	outcome, err := s.Confirm(t.Context(), n.Ticket)
	require.NoError(t, err)
	require.Equal(t, sequence.OutcomeConfirmed, outcome)
}

func (s *service) abandon(t *testing.T, n client.Number) {
	t.Helper()
	outcome, err := s.Abandon(t.Context(), n.Ticket)
	require.NoError(t, err)
	require.Equal(t, sequence.OutcomeAbandoned, outcome)
}

// post calls a method with JSON.
func (s *service) post(t *testing.T, method, body string, header ...string) (status int, answer map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/lacuna.v1.SequenceService/"+method, bytes.NewBufferString(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+s.Token)
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &answer), "%s", text)
	return response.StatusCode, answer
}

// number reads a number by its ticket, as soon as its hand-out is written down.
func (s *service) number(t *testing.T, ticket string) map[string]any {
	t.Helper()
	var number map[string]any
	testkit.Eventually(t, func() bool {
		status, answer := s.post(t, "Get", `{"ticket":"`+ticket+`"}`)
		if status == http.StatusNotFound {
			return false
		}
		require.Equal(t, http.StatusOK, status, "%v", answer)
		number = answer["number"].(map[string]any)
		return true
	}, "%s cannot be read", ticket)
	return number
}

func (s *service) awaitState(t *testing.T, ticket, state string) {
	t.Helper()
	testkit.Eventually(t, func() bool { return s.number(t, ticket)["state"] == "STATE_"+state }, "%s did not become %s", ticket, state)
}
