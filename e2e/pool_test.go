package e2e

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/testkit"
)

// Redis loses a pool, and then all, while numbers are issued. An operator sees the first and brings every free number
// back; the patrol sees the second by itself. Nobody is given what another holds.
func TestC53APoolThatIsLostComesBackUnderTraffic(t *testing.T) {
	server := testkit.ForgetfulRedis(t)
	s := newStackOn(t, server.URL(0))
	s.put(t, `{"name":"FREE","format":"F-{seq:6}","confirmTimeout":"60s","safetyWindow":"1s","maxReplays":1000}`)
	s.abandon(t, "FREE", 300)
	testkit.Eventually(t, func() bool { return s.count(t, "biz_type = 'FREE' AND status = 4 AND life > 0") >= 300 }, "they did not become free")

	handed := map[string]bool{}
	trade := func(count int) { // takes numbers, confirms half of them and gives up the others
		for i := range count {
			ticket, _ := s.next(t, "FREE")
			require.False(t, handed[ticket], "%s was handed out twice", ticket)
			handed[ticket] = true
			if i%2 == 0 {
				require.Equal(t, "OUTCOME_CONFIRMED", s.settle(t, "Confirm", ticket))
			} else {
				require.Equal(t, "OUTCOME_ABANDONED", s.settle(t, "Abandon", ticket))
			}
		}
	}
	trade(20)
	client := redis.NewClient(&redis.Options{Addr: server.Address()})
	defer client.Close() //nolint:errcheck // a connection of two commands
	require.NoError(t, client.Del(t.Context(), "lacuna:{FREE}:pool").Err())
	require.NoError(t, client.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru").Err())
	trade(20)

	found := s.operate(t, "CheckPool", `{"bizType":"FREE"}`)
	require.Contains(t, found["warning"], "allkeys-lru")
	missing := jsonInt(t, found["pools"].([]any)[0].(map[string]any)["missing"].(map[string]any)["count"])
	require.Greater(t, missing, 100)
	looked := s.operate(t, "RebuildPool", `{"bizType":"FREE","actor":"mia","dryRun":true}`)
	require.NotZero(t, jsonInt(t, looked["corrected"]))
	status, answer := s.post(t, "OperatorService/RebuildPool", `{"bizType":"free","limit":-1,"actor":" "}`)
	require.Equal(t, http.StatusBadRequest, status)
	for _, field := range []string{"bizType", "limit", "actor"} {
		require.Contains(t, answer["message"], field)
	}

	part := s.operate(t, "RebuildPool", `{"bizType":"FREE","actor":"mia","limit":100}`)
	require.Equal(t, 100, jsonInt(t, part["corrected"]))
	require.NotZero(t, jsonInt(t, part["left"]))
	trade(20)
	rest := s.operate(t, "RebuildPool", `{"bizType":"FREE","actor":"mia"}`)
	require.NotZero(t, jsonInt(t, rest["corrected"]))
	require.Nil(t, rest["left"])
	trade(100)
	missed := func() any {
		return s.operate(t, "CheckPool", `{}`)["pools"].([]any)[1].(map[string]any)["missing"].(map[string]any)["count"]
	}
	require.Nil(t, missed(), "all are back")
	s.closure(t)

	require.NoError(t, client.FlushAll(t.Context()).Err())
	trade(20)
	testkit.Eventually(t, func() bool { return missed() == nil }, "the patrol does not bring back what Redis lost")
	trade(20)
	s.closure(t)

	server.Kill()
	status, answer = s.post(t, "OperatorService/CheckPool", `{}`)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, answer["message"], "Redis")
}

// jsonInt reads an int64 as JSON spells it.
func jsonInt(t *testing.T, text any) int {
	t.Helper()
	n, err := strconv.Atoi(text.(string))
	require.NoError(t, err)
	return n
}
