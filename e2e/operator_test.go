package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
)

func TestBizTypesAreMadeAndChanged(t *testing.T) {
	s := newStack(t)
	put := func(t *testing.T, settings string) (int, map[string]any) {
		t.Helper()
		status, answer := s.post(t, "OperatorService/PutBizType", `{"bizType":`+settings+`}`)
		if bizType, ok := answer["bizType"].(map[string]any); ok {
			return status, bizType
		}
		return status, answer
	}

	t.Run("with defaults for what is left out", func(t *testing.T) {
		status, made := put(t, `{"name":"BAR","format":"R-{seq:8}","safetyWindow":"60s"}`)
		require.Equal(t, http.StatusOK, status, "%v", made)
		require.Equal(t, map[string]any{
			"name": "BAR", "format": "R-{seq:8}", "stepMin": 100.0, "stepMax": 2000.0, "confirmTimeout": "900s", "safetyWindow": "60s",
			"maxReplays": 2.0, "revision": "1", "timeZone": "UTC", "source": "SOURCE_SEGMENT", "start": "1", "reuse": "REUSE_ANY",
			"poolOrder": "POOL_ORDER_LOWEST", "durableIssue": false, "extendLimit": "3600s", "onTimeout": "ON_TIMEOUT_ABANDON",
			"retryDelays": []any{"30s", "120s", "300s"}, "directSignals": true, "track": "TRACK_EVERY", "trackAfter": "5s", "archiveAfter": "0s",
		}, made)
		ticket, _ := s.next(t, "BAR")
		require.Equal(t, "BAR~R-00000001~1", ticket)
	})

	t.Run("by the current revision, and only what is present", func(t *testing.T) {
		for _, settings := range []string{`{"name":"BAR","maxReplays":0}`, `{"name":"BAR","maxReplays":0,"revision":7}`} {
			status, answer := put(t, settings)
			require.Equal(t, http.StatusConflict, status, "%v", answer)
			require.Equal(t, "aborted", answer["code"])
			require.Contains(t, fmt.Sprint(answer["details"]), "revision:1")
		}
		status, changed := put(t, `{"name":"BAR","maxReplays":0,"revision":1}`)
		require.Equal(t, http.StatusOK, status, "%v", changed)
		require.Equal(t, 0.0, changed["maxReplays"])
		require.Equal(t, "60s", changed["safetyWindow"])
		require.Equal(t, "2", changed["revision"])
		status, read := s.post(t, "OperatorService/GetBizType", `{"name":"BAR"}`)
		require.Equal(t, http.StatusOK, status)
		require.Equal(t, changed, read["bizType"])
	})

	t.Run("and followed by a running process", func(t *testing.T) {
		status, _ := put(t, `{"name":"BAR","confirmTimeout":"3600s","revision":2}`)
		require.Equal(t, http.StatusOK, status)
		_, seqNo := s.next(t, "BAR")
		testkit.Eventually(t, func() bool { return s.row(t, "BAR", seqNo).Life == 1 }, "it is not recorded")
		n := s.row(t, "BAR", seqNo)
		require.Equal(t, time.Hour, n.Deadline.Sub(n.IssuedTime))
	})

	t.Run("of every source, with a check and a start", func(t *testing.T) {
		for _, source := range []string{"SEGMENT", "REDIS", "AUTOINC"} {
			status, made := put(t, `{"name":"`+source+`","format":"`+source[:1]+`{seq:7}{luhn}","source":"SOURCE_`+source+`","start":"7"}`)
			require.Equal(t, http.StatusOK, status, "%v", made)
			_, seqNo := s.next(t, source)
			require.Equal(t, source[:1]+"0000007", seqNo[:8])
		}
	})

	t.Run("with all faults at once", func(t *testing.T) {
		status, answer := put(t, `{"name":"BAZ","format":"no","stepMin":0,"stepMax":20000,"confirmTimeout":"0.5s","safetyWindow":"0s","maxReplays":-1,"timeZone":"Mars/Olympus","source":"SOURCE_UNSPECIFIED","start":-1,"reuse":"REUSE_SAME_PERIOD","poolOrder":7}`)
		require.Equal(t, http.StatusBadRequest, status)
		require.Equal(t, "invalid_argument", answer["code"])
		details := fmt.Sprint(answer["details"])
		for _, field := range []string{"format", "stepMin", "stepMax", "confirmTimeout", "safetyWindow", "maxReplays", "timeZone", "source", "start", "reuse", "poolOrder"} {
			require.Equal(t, 1, strings.Count(details, "field:"+field+"]")+strings.Count(details, "field:"+field+" "), "%s in %s", field, details)
		}
	})

	t.Run("and refused where they are not what they seem", func(t *testing.T) {
		for _, settings := range []string{
			`{"name":"bar","format":"R-{seq:8}"}`, `{"name":"QUX"}`, `{"name":"QUX","formats":"R-{seq:8}"}`, `{"name":"BAR","format":"S-{seq:8}","revision":3}`,
			`{"name":"QUX","format":"Q{seq:3}","safetyWindow":"two minutes"}`, `null`, `{"name":"QUX","format":"Q{seq:3}","source":"SOURCE_ORACLE"}`,
			`{"name":"QUX","format":"Q{yyyy}{seq:3}","source":"SOURCE_REDIS"}`, `{"name":"QUX","format":"Q{seq:3}","reuse":"REUSE_NEVER"}`,
			`{"name":"BAR","source":"SOURCE_REDIS","revision":3}`,
		} {
			status, answer := put(t, settings)
			require.Equal(t, http.StatusBadRequest, status, "%s: %v", settings, answer)
			require.Equal(t, "invalid_argument", answer["code"], settings)
		}
		status, _ := s.post(t, "OperatorService/GetBizType", `{"name":"QUX"}`)
		require.Equal(t, http.StatusNotFound, status)
		status, answer := s.post(t, "OperatorService/ListBizTypes", `{}`)
		require.Equal(t, http.StatusOK, status)
		require.Len(t, answer["bizTypes"], 5)
	})
}
