package e2e

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// What both programs say of a number carries its ticket, its biz type and the trace of its life, or of the call.
func TestLinesAboutNumbers(t *testing.T) {
	mariadb := testkit.OwnMariaDB(t)
	s := newStackOnBoth(t, mariadb.DSN("lacuna"), testkit.Redis(t), append(newCollector(t).env(), "LACUNA_LOG_FORMAT=json")...)
	const life, call = "0af7651916cd43dd8448eb211c803101", "0af7651916cd43dd8448eb211c803102"
	in := func(trace string) http.Header {
		return http.Header{"Traceparent": {"00-" + trace + "-b7ad6b7169203331-01"}}
	}
	next := func() (ticket, seqNo string) {
		_, answer := s.postWith(t, in(life), "SequenceService/Next", `{"bizType":"DEMO"}`)
		number := answer["numbers"].([]any)[0].(map[string]any)
		return number["ticket"].(string), number["seqNo"].(string)
	}
	says := func(p *process, message, ticket, trace string) {
		t.Helper()
		testkit.Within(t, 3*time.Minute, func() bool { // a step of a run is tried for a while before it says so
			return slices.ContainsFunc(lines(t, p), func(l map[string]any) bool {
				return strings.Contains(l["msg"].(string), message) && l["ticket"] == ticket && l["biz_type"] == "DEMO" && l["trace_id"] == trace
			})
		}, "%s does not say %q of %s in %s", p.Name(), message, ticket, trace)
	}

	first, seqNo := next()
	status, _ := s.postWith(t, in(life), "SequenceService/Confirm", `{"ticket":"`+first+`","bizKey":"o-1"}`)
	require.Equal(t, http.StatusOK, status)
	status, _ = s.postWith(t, in(call), "SequenceService/Confirm", `{"ticket":"`+first+`","bizKey":"o-2"}`)
	require.Equal(t, http.StatusConflict, status)
	says(s.starter, "two holders met", first, call)
	require.Equal(t, sequence.Confirmed, s.row(t, "DEMO", seqNo).State)

	overdue, _ := next()
	s.awaitRun(t, overdue)
	mariadb.Kill() // its run wakes to find the ledger away
	status, _ = s.postWith(t, in(call), "SequenceService/Get", `{"ticket":"`+first+`"}`)
	require.Equal(t, http.StatusServiceUnavailable, status)
	says(s.starter, "", first, call)
	says(s.worker, "the row could not be settled at once", overdue, life)
	require.NoError(t, mariadb.Restart(t.Context()))

	testkit.Eventually(t, func() bool { status, _ = s.call(t, "Next", `{"bizType":"DEMO"}`); return status == http.StatusOK }, "numbers are not issued again")
	s.temporal.Kill()
	late, _ := next()
	says(s.starter, "a delivery failed", late, life)

	for _, p := range []*process{s.starter, s.worker} {
		for _, line := range lines(t, p) {
			for _, key := range []string{"ticket", "WorkflowID"} {
				if named, _ := line[key].(string); strings.HasPrefix(named, "DEMO~") {
					require.Equal(t, "DEMO", line["biz_type"], "%v", line)
					require.Equal(t, named, line["ticket"], "%v", line)
				}
			}
		}
	}
}

// lines are those of a program's log.
func lines(t *testing.T, p *process) (all []map[string]any) {
	t.Helper()
	file, err := os.Open(p.spec.Log)
	require.NoError(t, err)
	defer file.Close() //nolint:errcheck // it was read
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		line := map[string]any{}
		if strings.HasPrefix(scanner.Text(), "{") { // the last one may be half written
			_ = json.Unmarshal(scanner.Bytes(), &line)
			if _, whole := line["msg"].(string); whole {
				all = append(all, line)
			}
		}
	}
	return all
}
