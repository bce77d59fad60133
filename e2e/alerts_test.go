package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/lacuna-seq/lacuna/internal/access"
	"github.com/lacuna-seq/lacuna/internal/devenv"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
	"github.com/lacuna-seq/lacuna/workflows"
)

// trouble is something that goes wrong, and the alerts that have to tell of it.
type trouble struct {
	name   string
	alerts []string
	begin  func(*testing.T)
	// during is what callers do in it before each scrape; they do their healthy work where there is none.
	during func(*testing.T)
	// end repairs it; nil where nothing can.
	end func(*testing.T)
	// ages says that it has to last for a minute or two before it shows: it goes on behind the others.
	ages bool
	// factor multiplies what is scraped, where the trouble itself is too large for a test: it is made in small, truly, and
	// counted so many times. 0 is 1.
	factor float64
}

// ward is the stack whose troubles are told.
type ward struct {
	*stack
	wire   *testkit.Wire // to the ledger
	redis  *devenv.Redis
	refuse *atomic.Bool // the webhook answers 500
	// wasteful is the token of a caller that is meant to abandon one number a minute.
	wasteful string
	calls    int
}

// troubles has each alert of the rules once. What needs the patrol, or a worker, comes before the troubles in which these
// stand still.
func (w *ward) troubles() []trouble {
	return []trouble{
		{
			name: "Redis is away", alerts: []string{"LacunaPoolAway", "LacunaDeadLetters"},
			begin: func(t *testing.T) {
				w.redis.Kill()
				w.abandon(t, "FRAGILE", 3)
			},
			end: func(t *testing.T) { require.NoError(t, w.redis.Restart(t.Context())) },
		},
		{
			name: "the webhook refuses", alerts: []string{"LacunaAlertsUndelivered"},
			begin: func(t *testing.T) {
				w.refuse.Store(true)
				for _, ticket := range w.take(t, "LONG", 3) { // above the budget of this holder
					testkit.Eventually(t, func() bool {
						_, answer := w.as(t, w.wasteful, "SequenceService/Abandon", `{"ticket":"`+ticket+`"}`)
						return answer["outcome"] == "OUTCOME_ABANDONED" // the token is known soon
					}, "the abandon is not taken")
				}
			},
			end: func(*testing.T) { w.refuse.Store(false) },
		},
		{
			name: "two holders meet", alerts: []string{"LacunaConflict"},
			begin: func(t *testing.T) {
				first, seqNo := w.next(t, "MEET")
				w.awaitState(t, "MEET", seqNo, sequence.Replayable)
				testkit.Eventually(t, func() bool {
					ticket, again := w.next(t, "MEET")
					require.Equal(t, "OUTCOME_CONFIRMED", w.settle(t, "Confirm", ticket))
					return again == seqNo
				}, "it is not issued again")
				require.Equal(t, "already_exists", w.settle(t, "Confirm", first))
			},
			end: func(*testing.T) {}, // the ledger has decided
		},
		w.settledWithoutTheLedger(),
		{
			name: "the patrol stands still", alerts: []string{"LacunaPatrolLate", "LacunaOverdue"}, ages: true,
			begin: func(t *testing.T) {
				require.NoError(t, w.patrol(t).Pause(t.Context(), client.SchedulePauseOptions{Note: "a test"}))
				w.next(t, "QUIET") // it has no run of its own: nobody else sees to it
			},
			end: func(t *testing.T) {
				require.NoError(t, w.patrol(t).Unpause(t.Context(), client.ScheduleUnpauseOptions{}))
			},
		},
		{
			name: "Temporal is away", alerts: []string{"LacunaTemporalAway", "LacunaDeliveriesFail"},
			begin: func(t *testing.T) {
				w.awaitDeliveries(t)
				w.temporal.Kill()
			},
			end: func(t *testing.T) { require.NoError(t, w.temporal.Restart(t.Context())) },
		},
		{
			name: "the ledger steps back", alerts: []string{"LacunaLedgerSteppedBack"},
			begin: func(t *testing.T) {
				w.take(t, "BACK", 5)
				_, err := w.ledger.DB().ExecContext(t.Context(), "UPDATE t_seq_cursor SET value = value - 1 WHERE biz_type = 'BACK'")
				require.NoError(t, err)
			},
			end: func(t *testing.T) {
				out, code := w.operator(t, "ledger", "raise", "--biz-type", "BACK", "--reason", "a test", "--yes")
				require.Equal(t, 0, code, out)
			},
		},
		{
			name: "no worker runs", alerts: []string{"LacunaWorkersAway", "LacunaNobodyPolls"}, ages: true,
			begin: func(*testing.T) { w.worker.Kill() },
			end:   func(t *testing.T) { w.restart(t, w.worker) },
		},
		{
			name: "more numbers wait for runs than a starter remembers", alerts: []string{"LacunaDrops"},
			begin: func(t *testing.T) { w.flood(t, 140_000) },
		},
		{
			name: "no starter runs", alerts: []string{"LacunaStartersAway"},
			begin:  func(*testing.T) { w.starter.Kill() },
			during: func(*testing.T) {},
			end:    func(t *testing.T) { w.restart(t, w.starter) },
		},
		{
			name: "the ledger is slow", alerts: []string{"LacunaNextSlow"},
			begin:  func(*testing.T) { w.wire.Delay(30 * time.Millisecond) },
			during: func(t *testing.T) { w.keyed(t, 20) },
			end:    func(*testing.T) { w.wire.Delay(0) },
		},
		{
			name: "the ledger is away", alerts: []string{"LacunaLedgerAway", "LacunaNextFails"},
			begin: func(*testing.T) {
				w.wire.Refuse(true)
				w.wire.Cut()
			},
			during: func(t *testing.T) { w.keyed(t, 5) },
			end:    func(*testing.T) { w.wire.Refuse(false) },
		},
		{
			name: "a starter is frozen for longer than its lease", alerts: []string{"LacunaLeaseLost"},
			begin: func(t *testing.T) {
				w.starter.Pause()
				testkit.Pass(t, lease+time.Second)
				w.starter.Resume()
			},
			end: func(*testing.T) {}, // it has a new lease
		},
		{
			name: "a format fills up", alerts: []string{"LacunaFormatFilling"},
			begin:  func(t *testing.T) { w.take(t, "NARROW", 85) },
			during: func(*testing.T) {},
		},
		{
			name: "a format is full", alerts: []string{"LacunaFormatFull"},
			begin:  func(t *testing.T) { w.take(t, "NARROW", 14) },
			during: func(*testing.T) {},
		},
	}
}

// settledWithoutTheLedger is made in small: 5,001 commands would be as many signals to a development server.
func (w *ward) settledWithoutTheLedger() trouble {
	const count = 60
	var tickets []string
	return trouble{
		name: "callers settle while the ledger is away", alerts: []string{"LacunaQueueDeep"}, factor: 100,
		begin: func(t *testing.T) {
			tickets = w.take(t, "LONG", count)
			testkit.Eventually(t, func() bool { return w.count(t, "biz_type = 'LONG' AND status = 1") == count }, "they are not recorded")
			w.wire.Refuse(true)
			w.wire.Cut()
			w.confirm(t, tickets, "OUTCOME_ACCEPTED")
		},
		during: func(*testing.T) {},
		end:    func(*testing.T) { w.wire.Refuse(false) },
	}
}

// For every alert its trouble is caused on running processes, these are scraped before, in and after it, and the rule as
// Prometheus reads it is evaluated over what they showed: a threshold, a label or a metric that does not fit the trouble
// is an alert that never fires. How long each rule waits is laid out, and not waited for.
func TestEveryAlertTellsOfItsTrouble(t *testing.T) {
	w := newWard(t)
	rules := alertRules(t)
	all := w.troubles()
	var aging []*watched
	for _, trouble := range all {
		begun := w.watch(t, rules, trouble)
		if trouble.ages {
			aging = append(aging, begun)
			continue
		}
		begun.tell(t)
	}
	for _, begun := range slices.Backward(aging) { // each ends while those before it last
		begun.tell(t)
	}
}

// An alert without a trouble is one of which nobody knows whether it fires.
func TestEveryAlertHasATrouble(t *testing.T) {
	var told []string
	for _, trouble := range new(ward).troubles() {
		told = append(told, trouble.alerts...)
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(alertRules(t))), told, "each alert of %s needs one entry in troubles", rulesFile)
}

// watched is a trouble that has begun.
type watched struct {
	trouble
	*ward
	rules  []alertRule
	before scrapes
}

// remembered is how long a phase without trouble lasts: longer than what any rule looks back, and its offset.
const remembered = 12 * time.Minute

// watch sees that no alert of the trouble fires without it, and begins it.
func (w *ward) watch(t *testing.T, rules map[string]alertRule, tr trouble) *watched {
	t.Helper()
	o := &watched{trouble: tr, ward: w}
	for _, name := range tr.alerts {
		require.Contains(t, rules, name)
		o.rules = append(o.rules, rules[name])
	}
	if o.factor == 0 {
		o.factor = 1
	}
	begun := time.Now()
	o.before = w.scrapeAll(t)
	o.await(t, "before "+tr.name, func(rule alertRule) []phase {
		earlier := o.before
		w.work(t)
		o.before = w.scrapeAll(t)
		return []phase{{earlier, o.before, remembered, false}}
	})
	tr.begin(t)
	t.Logf("%s: healthy before, and made after %s", tr.name, time.Since(begun).Round(100*time.Millisecond))
	return o
}

// tell sees that all alerts of the trouble fire in it, and none when it has ended.
func (o *watched) tell(t *testing.T) {
	t.Helper()
	begun := time.Now()
	healthy := phase{o.before, o.before, remembered, false}
	var in scrapes
	ill := func(rule alertRule) phase {
		return phase{o.before, in, (rule.For + 2*time.Minute).Round(scrapeEvery), true}
	}
	callers := o.during
	if callers == nil {
		callers = o.work
	}
	o.await(t, "in the trouble: "+o.name, func(rule alertRule) []phase {
		callers(t)
		in = o.scrapeAll(t)
		return []phase{healthy, ill(rule)}
	})
	told := time.Since(begun)
	if o.end != nil {
		o.end(t)
		now := o.scrapeAll(t)
		o.await(t, "after the trouble: "+o.name, func(rule alertRule) []phase {
			earlier := now
			o.work(t)
			now = o.scrapeAll(t)
			return []phase{healthy, ill(rule), {earlier, now, remembered, false}}
		})
	}
	t.Logf("%s: told after %s, over after %s", o.name, told.Round(100*time.Millisecond), time.Since(begun).Round(100*time.Millisecond))
}

// patience is how long a rule may take to say what it should: a busy machine has a patrol's round in a minute or two.
const patience = 5 * time.Minute

// await looks until every rule says what it should of the phases that a look gives.
func (o *watched) await(t *testing.T, when string, look func(alertRule) []phase) {
	t.Helper()
	for _, rule := range o.rules {
		var said []error
		testkit.Within(t, patience, func() bool {
			said = []error{rule.tells(t, o.factor, look(rule)...)}
			return said[0] == nil
		}, "%s, %s: %v", rule.Alert, when, &said)
	}
}

func newWard(t *testing.T) *ward {
	t.Helper()
	dsn := testkit.MariaDB(t)
	config, err := mysql.ParseDSN(dsn)
	require.NoError(t, err)
	w := &ward{wire: testkit.Proxy(t, config.Addr), redis: testkit.OwnRedis(t), refuse: new(atomic.Bool)}
	config.Addr = w.wire.Address()
	hook := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, _ *http.Request) {
		if w.refuse.Load() {
			answer.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(hook.Close)
	w.stack = newStackOnBoth(t, dsn, w.redis.URL(0), "LACUNA_MYSQL_DSN="+config.FormatDSN(), "LACUNA_ALERT_URL="+hook.URL, "LACUNA_PATROL_EVERY=1s")
	for _, settings := range []string{
		`{"name":"WORK","format":"W-{seq:9}","confirmTimeout":"600s","safetyWindow":"1s"}`,
		`{"name":"LONG","format":"L-{seq:6}","confirmTimeout":"600s","safetyWindow":"1s"}`,
		`{"name":"MEET","format":"M-{seq:6}","confirmTimeout":"1s","safetyWindow":"1s"}`,
		`{"name":"BACK","format":"B-{seq:6}","confirmTimeout":"600s","safetyWindow":"1s"}`,
		`{"name":"QUIET","format":"Q-{seq:6}","confirmTimeout":"1s","safetyWindow":"1s","track":"TRACK_NONE","directSignals":false}`,
		`{"name":"FRAGILE","format":"F-{seq:6}","confirmTimeout":"60s","safetyWindow":"1s","retryDelays":["0.2s","0.4s","0.8s"]}`,
		`{"name":"FLOOD","format":"X-{seq:9}","confirmTimeout":"7200s","safetyWindow":"1s","track":"TRACK_UNSETTLED","trackAfter":"3600s","directSignals":false,"stepMax":10000}`,
		`{"name":"NARROW","format":"N-{seq:2}","confirmTimeout":"600s","safetyWindow":"1s","stepMin":5,"stepMax":5}`,
	} {
		w.put(t, settings)
	}
	w.wasteful = w.newToken(t, access.Token{Name: "wasteful", Role: access.RoleCaller, BizTypes: []string{"LONG"}, AbandonBudget: 1})
	return w
}

func (w *ward) patrol(t *testing.T) client.ScheduleHandle {
	t.Helper()
	return w.client.ScheduleClient().GetHandle(t.Context(), workflows.PatrolScheduleID)
}

// work is what callers do on a day like any other: one number a call, from memory, and most are confirmed.
func (w *ward) work(t *testing.T) {
	t.Helper()
	var tickets []string
	for range 20 {
		status, answer := w.call(t, "Next", `{"bizType":"WORK"}`)
		if status == http.StatusOK {
			tickets = append(tickets, answer["numbers"].([]any)[0].(map[string]any)["ticket"].(string))
		}
	}
	if len(tickets) > 0 {
		w.confirm(t, tickets, "")
	}
}

// keyed calls wait for the ledger; with it away they are refused.
func (w *ward) keyed(t *testing.T, count int) {
	t.Helper()
	for range count {
		w.calls++
		w.postWith(t, http.Header{"Idempotency-Key": []string{fmt.Sprint("call-", w.calls)}}, "SequenceService/Next", `{"bizType":"WORK"}`)
	}
}

func (w *ward) take(t *testing.T, bizType string, count int) (tickets []string) {
	t.Helper()
	status, answer := w.call(t, "Next", fmt.Sprintf(`{"bizType":%q,"count":%d}`, bizType, count))
	require.Equal(t, http.StatusOK, status, "%v", answer)
	for _, n := range answer["numbers"].([]any) {
		tickets = append(tickets, n.(map[string]any)["ticket"].(string))
	}
	return tickets
}

// confirm confirms all, each with the outcome, or with any where it is empty.
func (w *ward) confirm(t *testing.T, tickets []string, outcome string) {
	t.Helper()
	commands := make([]map[string]string, len(tickets))
	for i, ticket := range tickets {
		commands[i] = map[string]string{"ticket": ticket, "action": "ACTION_CONFIRM"}
	}
	body, err := json.Marshal(map[string]any{"commands": commands})
	require.NoError(t, err)
	status, answer := w.call(t, "Settle", string(body))
	require.Equal(t, http.StatusOK, status, "%v", answer)
	for _, r := range answer["results"].([]any) {
		if outcome != "" {
			require.Equal(t, outcome, r.(map[string]any)["outcome"])
		}
	}
}

// awaitDeliveries waits until numbers get runs of their own, and Temporal is not behind: a server that is, is spared them,
// and a starter that cannot ask it any more spares it on.
func (w *ward) awaitDeliveries(t *testing.T) {
	t.Helper()
	look := func() (done float64, calm bool) {
		calm = true
		for series, value := range scrapeTarget(t, w.starter) {
			switch {
			case strings.HasPrefix(series, "lacuna_temporal_deliveries_total{") && strings.Contains(series, `kind="start"`) && strings.Contains(series, `result="done"`):
				done += value
			case strings.HasPrefix(series, "lacuna_backlog_age_seconds"), strings.HasPrefix(series, "lacuna_queued{") && strings.Contains(series, `queue="starts"`):
				calm = calm && value < 1
			}
		}
		return done, calm
	}
	before, _ := look()
	testkit.Within(t, patience, func() bool {
		w.work(t)
		done, calm := look()
		return done > before && calm
	}, "no run is started, or Temporal is behind")
}

// flood takes so many numbers and settles none.
func (w *ward) flood(t *testing.T, count int) {
	t.Helper()
	for left := count; left > 0; left -= 10_000 {
		testkit.Eventually(t, func() bool {
			status, _ := w.call(t, "Next", `{"bizType":"FLOOD","count":10000}`)
			return status == http.StatusOK // what is not recorded yet may fill its queue for a moment
		}, "the flood stands still")
	}
}
