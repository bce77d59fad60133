package e2e

import (
	"fmt"
	"net/http"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
)

// A count is from 1 to 10,000, as the README says: within it all numbers come in one answer, outside it none is taken.
func TestC55ACountOfAnySize(t *testing.T) {
	s := newStack(t)
	s.put(t, `{"name":"BULK","format":"B-{seq:9}","confirmTimeout":"600s","safetyWindow":"1s","stepMax":10000,"track":"TRACK_NONE","directSignals":false}`)
	handedOut := 0
	for _, tt := range []struct {
		count   string // as JSON
		numbers int    // 0: refused
		field   string // that the refusal names; empty where the text is no number of the message
	}{
		{"0", 0, "count"},
		{"-1", 0, "count"},
		{"10001", 0, "count"},
		{"2147483647", 0, "count"},
		{"2147483648", 0, ""},
		{"1e400", 0, ""},
		{"1.5", 0, ""},
		{`"five"`, 0, ""},
		{"1", 1, ""},
		{"500", 500, ""},
		{"10000", 10_000, ""},
		{`"5"`, 5, ""},  // proto's JSON takes a number in quotes
		{"null", 1, ""}, // and null for what is not there
	} {
		t.Run(tt.count, func(t *testing.T) {
			var status int
			var answer map[string]any
			testkit.Eventually(t, func() bool {
				status, answer = s.call(t, "Next", `{"bizType":"BULK","count":`+tt.count+`}`)
				return status != http.StatusTooManyRequests // a busy machine allocates more slowly than that, and says when to repeat
			}, "the ledger does not catch up")
			if tt.numbers == 0 {
				require.Equal(t, http.StatusBadRequest, status, "%v", answer)
				require.Equal(t, "invalid_argument", answer["code"])
				require.Contains(t, fmt.Sprint(answer["details"]), tt.field)
				return
			}
			require.Equal(t, http.StatusOK, status, "%v", answer)
			require.Len(t, answer["numbers"], tt.numbers)
			handedOut += tt.numbers
		})
	}
	testkit.Eventually(t, func() bool { return s.count(t, "biz_type = 'BULK' AND life > 0") == handedOut }, "what was handed out is not what is recorded")

	t.Run("that is more than there is gives back what it took", func(t *testing.T) {
		s.put(t, `{"name":"TIGHT","format":"T-{seq:3}","confirmTimeout":"600s","safetyWindow":"1s"}`)
		status, answer := s.call(t, "Next", `{"bizType":"TIGHT","count":1500}`)
		require.NotEqual(t, http.StatusOK, status)
		require.Contains(t, fmt.Sprint(answer), "FORMAT_FULL")
		require.Zero(t, s.count(t, "biz_type = 'TIGHT' AND life > 0"), "nobody has them")
		testkit.Eventually(t, func() bool { // what other calls took in advance comes back as well
			status, answer = s.call(t, "Next", `{"bizType":"TIGHT","count":999}`)
			return status == http.StatusOK
		}, "they do not come back: %v", &answer)
		require.Len(t, answer["numbers"], 999)
		testkit.Eventually(t, func() bool { return s.count(t, "biz_type = 'TIGHT' AND life = 1") == 999 }, "they are not recorded")
	})

	for _, p := range []*process{s.starter, s.worker} {
		log, err := os.ReadFile(p.spec.Log)
		require.NoError(t, err)
		require.NotContains(t, string(log), "Error 1390", "too many placeholders in a statement")
		require.NotContains(t, string(log), "larger than max", "a message that gRPC refuses")
	}
	s.closure(t)
}
