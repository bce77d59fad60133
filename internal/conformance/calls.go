package conformance

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/client"
	"github.com/lacuna-seq/lacuna/sequence"
)

func counts(t *testing.T, s *service) {
	s.make(t, "FEW", "{seq:1}") // 1 to 9
	numbers, err := s.NextN(t.Context(), "FEW", 4)
	require.NoError(t, err)
	require.Len(t, numbers, 4)
	_, err = s.NextN(t.Context(), "FEW", 6)
	require.ErrorIs(t, err, sequence.ErrFull)
	numbers, err = s.NextN(t.Context(), "FEW", 6, client.AllowPartial())
	require.NoError(t, err)
	require.Len(t, numbers, 5)
	_, err = s.NextN(t.Context(), "FEW", 1, client.AllowPartial())
	require.ErrorIs(t, err, sequence.ErrFull)
}

func lowestFirst(t *testing.T, s *service) {
	s.make(t, "LOW", "{seq:1}", window(brief))
	numbers, err := s.NextN(t.Context(), "LOW", 9)
	require.NoError(t, err)
	for _, i := range []int{6, 2} {
		s.abandon(t, numbers[i])
		s.Pass(t, 10*time.Millisecond)
	}
	s.Pass(t, brief)
	s.awaitState(t, numbers[2].Ticket, "REPLAYABLE")
	s.awaitState(t, numbers[6].Ticket, "REPLAYABLE")
	require.Equal(t, numbers[2].SeqNo, s.again(t, "LOW").SeqNo)
	require.Equal(t, numbers[6].SeqNo, s.again(t, "LOW").SeqNo)
}

func formats(t *testing.T, s *service) {
	s.make(t, "DATED", "INV{yyyy}-{seq:6}{luhn}")
	s.make(t, "CHECKED", "C-{seq:6}{mod97}", func(b *sequence.BizType) { b.Start = 41 })
	for _, bizType := range []string{"DATED", "CHECKED"} {
		first := s.next(t, bizType)
		for range 3 {
			s.next(t, bizType)
		}
		if bizType == "DATED" {
			f, err := sequence.ParseFormat("INV{yyyy}-{seq:6}{luhn}")
			require.NoError(t, err)
			_, value, err := f.Parse(first.SeqNo)
			require.NoError(t, err)
			require.Equal(t, int64(1), value)
			require.Equal(t, f.Period(time.Now().UTC()), s.number(t, first.Ticket)["period"])
		} else {
			require.True(t, strings.HasPrefix(first.SeqNo, "C-000041"), first.SeqNo)
		}
	}
}

func keyRepeats(t *testing.T, s *service) {
	s.make(t, "KEYED", "K-{seq:6}")
	first := s.next(t, "KEYED", client.ForBizKey("o-1"), client.WithIdempotencyKey("k-1"))
	again := s.next(t, "KEYED", client.ForBizKey("o-1"), client.WithIdempotencyKey("k-1"))
	require.Equal(t, first.Ticket, again.Ticket)
	require.NotEqual(t, first.Ticket, s.next(t, "KEYED", client.WithIdempotencyKey("k-2")).Ticket)
	s.confirm(t, first)
	again = s.next(t, "KEYED", client.ForBizKey("o-1"), client.WithIdempotencyKey("k-1"))
	require.Equal(t, first.Ticket, again.Ticket, "also when it is confirmed")
	for _, header := range []string{"k-1", `"k-1"`} {
		status, answer := s.post(t, "Next", `{"bizType":"KEYED","bizKey":"o-1"}`, "Idempotency-Key: "+header)
		require.Equal(t, http.StatusOK, status, "%v", answer)
		require.Equal(t, first.Ticket, answer["numbers"].([]any)[0].(map[string]any)["ticket"])
	}
	status, _ := s.post(t, "Next", `{"bizType":"KEYED","idempotencyKey":"k-3"}`, "Idempotency-Key: k-4")
	require.Equal(t, http.StatusBadRequest, status)
}

func keyReused(t *testing.T, s *service) {
	s.make(t, "REUSED", "R-{seq:6}")
	s.next(t, "REUSED", client.WithIdempotencyKey("k-1"))
	_, err := s.Next(t.Context(), "REUSED", client.ForBizKey("o-2"), client.WithIdempotencyKey("k-1"))
	require.ErrorIs(t, err, sequence.ErrKeyReused)
	_, err = s.NextN(t.Context(), "REUSED", 2, client.WithIdempotencyKey("k-1"))
	require.ErrorIs(t, err, sequence.ErrKeyReused)
}

func keySpent(t *testing.T, s *service) {
	s.make(t, "SPENT", "S-{seq:6}")
	n := s.next(t, "SPENT", client.WithIdempotencyKey("k-1"))
	s.abandon(t, n)
	_, err := s.Next(t.Context(), "SPENT", client.WithIdempotencyKey("k-1"))
	require.ErrorIs(t, err, sequence.ErrKeySpent)
}

func keyExpires(t *testing.T, s *service) {
	s.make(t, "EXPIRED", "E-{seq:6}", timeout(short))
	first := s.next(t, "EXPIRED", client.WithIdempotencyKey("k-1"))
	s.confirm(t, first)
	s.Pass(t, short+brief)
	second := s.next(t, "EXPIRED", client.WithIdempotencyKey("k-1"))
	require.NotEqual(t, first.Ticket, second.Ticket)
}

func settlesInPlace(t *testing.T, s *service) {
	s.make(t, "BATCH", "B-{seq:6}")
	confirm, abandon := s.next(t, "BATCH"), s.next(t, "BATCH")
	status, answer := s.post(t, "Settle", `{"commands":[
		{"ticket":"`+confirm.Ticket+`","action":"ACTION_CONFIRM","bizKey":"o-1"}, {"ticket":"nonsense","action":"ACTION_CONFIRM"},
		{"ticket":"`+abandon.Ticket+`","action":"ACTION_ABANDON"}, {"ticket":"`+confirm.Ticket+`"},
		{"ticket":"`+confirm.Ticket+`","action":"ACTION_ABANDON"}, {"ticket":"BATCH~B-999999~1","action":"ACTION_CONFIRM"}]}`)
	require.Equal(t, http.StatusOK, status, "%v", answer)
	results := answer["results"].([]any)
	require.Len(t, results, 6)
	fault := func(i int) map[string]any { return results[i].(map[string]any)["error"].(map[string]any) }
	require.Equal(t, "OUTCOME_CONFIRMED", results[0].(map[string]any)["outcome"])
	require.Equal(t, "invalid_argument", fault(1)["code"])
	require.Equal(t, "OUTCOME_ABANDONED", results[2].(map[string]any)["outcome"])
	require.Equal(t, "invalid_argument", fault(3)["code"])
	require.Equal(t, "failed_precondition", fault(4)["code"])
	require.Equal(t, "OUTCOME_ALREADY_CONFIRMED", fault(4)["refusal"].(map[string]any)["outcome"])
	require.Equal(t, confirm.Ticket, fault(4)["refusal"].(map[string]any)["currentTicket"])
	require.Equal(t, "not_found", fault(5)["code"])
}

func namesFields(t *testing.T, s *service) {
	s.make(t, "STRICT", "S-{seq:6}")
	for _, tt := range []struct{ method, body, field string }{
		{"Next", `{}`, "bizType"},
		{"Next", `{"bizType":"strict"}`, "bizType"},
		{"Next", `{"bizType":"STRICT","count":0}`, "count"},
		{"Next", `{"bizType":"STRICT","count":10001}`, "count"},
		{"Next", `{"bizType":"STRICT","bizKey":"a\nb"}`, "bizKey"},
		{"Next", `{"bizType":"STRICT","idempotencyKey":"` + strings.Repeat("k", 129) + `"}`, "idempotencyKey"},
		{"Next", `{"biztype":"STRICT"}`, ""},
		{"Next", `not json`, ""},
		{"Confirm", `{}`, "ticket"},
		{"Confirm", `{"ticket":"STRICT~S-000001~01"}`, "ticket"},
		{"Confirm", `{"ticket":"STRICT~S-000001~1","bizType":"STRICT"}`, "ticket"},
		{"Confirm", `{"ticket":"STRICT~S-000001~1","bizKey":"` + strings.Repeat("k", 129) + `"}`, "bizKey"},
		{"Abandon", `{"bizType":"STRICT","seqNo":"S 1"}`, "seqNo"},
		{"Extend", `{"ticket":"STRICT~S-000001~1"}`, "holdFor"},
		{"Extend", `{"ticket":"STRICT~S-000001~1","holdFor":"0s"}`, "holdFor"},
		{"Settle", `{}`, "commands"},
		{"Get", `{"ticket":"nonsense"}`, "ticket"},
		{"Next", `{"bizType":"STRICT","bizKey":"` + strings.Repeat("k", 1<<20) + `"}`, "body"},
	} {
		status, answer := s.post(t, tt.method, tt.body)
		require.Equal(t, http.StatusBadRequest, status, "%s %.60s: %v", tt.method, tt.body, answer)
		require.Equal(t, "invalid_argument", answer["code"], "%s %.60s", tt.method, tt.body)
		require.Contains(t, fmt.Sprint(answer["details"]), tt.field, "%s %.60s", tt.method, tt.body)
	}
	require.Equal(t, "S-000001", s.next(t, "STRICT").SeqNo, "nothing was taken")
}

func notFound(t *testing.T, s *service) {
	s.make(t, "MISSING", "M-{seq:6}")
	for _, tt := range []struct{ method, body string }{
		{"Next", `{"bizType":"NO_SUCH_TYPE"}`},
		{"Confirm", `{"ticket":"MISSING~M-999998~1"}`},
		{"Confirm", `{"ticket":"NO_SUCH_TYPE~M-000001~1"}`},
		{"Abandon", `{"bizType":"MISSING","seqNo":"M-999998"}`},
		{"Extend", `{"ticket":"MISSING~M-999998~1","holdFor":"60s"}`},
		{"Get", `{"bizType":"MISSING","seqNo":"M-999998"}`},
	} {
		status, answer := s.post(t, tt.method, tt.body)
		require.Equal(t, http.StatusNotFound, status, "%s %s: %v", tt.method, tt.body, answer)
		require.Equal(t, "not_found", answer["code"])
	}
	n := s.next(t, "MISSING")
	s.number(t, n.Ticket)
	status, _ := s.post(t, "Get", `{"ticket":"MISSING~`+n.SeqNo+`~2"}`)
	require.Equal(t, http.StatusNotFound, status, "this life was never handed out")
}

func readByGet(t *testing.T, s *service) {
	s.make(t, "READ", "R-{seq:6}")
	n := s.next(t, "READ")
	s.confirm(t, n)
	query := url.Values{"encoding": {"json"}, "message": {`{"ticket":"` + n.Ticket + `"}`}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/lacuna.v1.SequenceService/Get?"+query.Encode(), nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+s.Token)
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close() //nolint:errcheck // it was read
	require.Equal(t, http.StatusOK, response.StatusCode)
	var answer map[string]any
	require.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
	require.Equal(t, n.Ticket, answer["number"].(map[string]any)["ticket"])
}
