package console

import (
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

// rule is one field of a biz type, as forms and pages show it.
type rule struct {
	// Field is its name in the API, which faults go by.
	Field string
	Label string
	Hint  string
	// Kind is how it is asked: text, number, duration, choice, yes or long.
	Kind    string
	Choices []choice
	// get spells the rule; set reads what get or a person spelled, and gives what is wrong with it in words.
	get func(*lacunav1.BizType) string
	set func(*lacunav1.BizType, string) string
}

// choice is one of several values of a rule.
type choice struct{ Value, Words string }

// ruleGroup is rules that belong together.
type ruleGroup struct {
	Name  string
	Rules []rule
}

// yes and no spell a switch.
const (
	yes = "yes"
	no  = "no"
)

// ruleGroups are all rules, in the order in which they are shown.
var ruleGroups = []ruleGroup{
	{"Numbers", []rule{
		text("format", "Format", "Letters, digits, - and _ around one {seq:6}; a date of {yyyy} or {yy}, {MM}, {dd}; {luhn} or {mod97} at the end. Fixed once a number was allocated.",
			(*lacunav1.BizType).GetFormat, func(b *lacunav1.BizType, s string) { b.Format = &s }),
		text("timeZone", "Time zone", "Where the date is looked up, e.g. Europe/Berlin. Fixed once a number was allocated.",
			(*lacunav1.BizType).GetTimeZone, func(b *lacunav1.BizType, s string) { b.TimeZone = &s }),
		choose("source", "Source", "Where the values come from. Fixed once a number was allocated.", (*lacunav1.BizType).GetSource,
			func(b *lacunav1.BizType, v lacunav1.Source) { b.Source = &v }, lacunav1.Source_value, "SOURCE_",
			choice{"SEGMENT", "the ledger's cursor"}, choice{"REDIS", "a counter in Redis"}, choice{"AUTOINC", "an AUTO_INCREMENT table"}),
		whole("start", "First value", "Of every period. Fixed once a number was allocated, but for periods that begin later.",
			(*lacunav1.BizType).GetStart, func(b *lacunav1.BizType, n int64) { b.Start = &n }),
	}},
	{"Lives", []rule{
		span("confirmTimeout", "Confirm timeout", "The longest wait for a confirm, 1s to 30d.",
			(*lacunav1.BizType).GetConfirmTimeout, func(b *lacunav1.BizType, d *durationpb.Duration) { b.ConfirmTimeout = d }),
		span("extendLimit", "Extend limit", "How much longer a holder may keep a number that asks for more time, 0s to 30d.",
			(*lacunav1.BizType).GetExtendLimit, func(b *lacunav1.BizType, d *durationpb.Duration) { b.ExtendLimit = d }),
		choose("onTimeout", "When nobody confirms", "A dead letter needs durable issue.", (*lacunav1.BizType).GetOnTimeout,
			func(b *lacunav1.BizType, v lacunav1.OnTimeout) { b.OnTimeout = &v }, lacunav1.OnTimeout_value, "ON_TIMEOUT_",
			choice{"ABANDON", "it counts as abandoned"}, choice{"DEAD_LETTER", "it is a dead letter"}),
		span("safetyWindow", "Safety window", "The quarantine between abandonment and reuse, 1s to 30d.",
			(*lacunav1.BizType).GetSafetyWindow, func(b *lacunav1.BizType, d *durationpb.Duration) { b.SafetyWindow = d }),
		choose("reuse", "Reuse", "Never needs durable issue; within its period needs a date in the format.", (*lacunav1.BizType).GetReuse,
			func(b *lacunav1.BizType, v lacunav1.Reuse) { b.Reuse = &v }, lacunav1.Reuse_value, "REUSE_",
			choice{"ANY", "at any time"}, choice{"SAME_PERIOD", "within its period"}, choice{"NEVER", "never"}),
		small("maxReplays", "Replays", "How often a number is issued again before it is retired.",
			(*lacunav1.BizType).GetMaxReplays, func(b *lacunav1.BizType, n int32) { b.MaxReplays = &n }),
		choose("poolOrder", "Pool order", "Which free number goes first.", (*lacunav1.BizType).GetPoolOrder,
			func(b *lacunav1.BizType, v lacunav1.PoolOrder) { b.PoolOrder = &v }, lacunav1.PoolOrder_value, "POOL_ORDER_",
			choice{"LOWEST", "the lowest"}, choice{"OLDEST", "the one given up first"}),
		{
			Field: "retryDelays", Label: "Retry delays", Kind: "text",
			Hint: "The pauses between attempts to bring a number back, with commas: 1 to 10 of 10ms to 1d. Then it is a dead letter.",
			get:  getRetryDelays, set: setRetryDelays,
		},
		{
			Field: "probe", Label: "Probe", Kind: "long",
			Hint: "How the business is asked whether it holds a number: nothing; http://… or https://…; or sql NAME and a query with one ?, as in sql shop SELECT 1 FROM orders WHERE number = ?. A timeout stands in front, as in 5s.",
			get:  getProbe, set: setProbe,
		},
	}},
	{"Issuing", []rule{
		toggle("durableIssue", "Durable issue", "Next answers only after the hand-out is written down.",
			(*lacunav1.BizType).GetDurableIssue, func(b *lacunav1.BizType, v bool) { b.DurableIssue = &v }),
		small("stepMin", "Smallest block", "How many numbers a starter takes at a time at least, 1 to 10,000.",
			(*lacunav1.BizType).GetStepMin, func(b *lacunav1.BizType, n int32) { b.StepMin = &n }),
		small("stepMax", "Largest block", "How many at most, 1 to 10,000.",
			(*lacunav1.BizType).GetStepMax, func(b *lacunav1.BizType, n int32) { b.StepMax = &n }),
	}},
	{"Runs in Temporal", []rule{
		choose("track", "Which numbers have one", "The others are seen to in batches, at a hundredth of the cost.", (*lacunav1.BizType).GetTrack,
			func(b *lacunav1.BizType, v lacunav1.Track) { b.Track = &v }, lacunav1.Track_value, "TRACK_",
			choice{"EVERY", "every number"}, choice{"UNSETTLED", "what is abandoned, or not settled in time"}, choice{"NONE", "none"}),
		span("trackAfter", "Track after", "When a number that is not settled gets one, 100ms to 1h.",
			(*lacunav1.BizType).GetTrackAfter, func(b *lacunav1.BizType, d *durationpb.Duration) { b.TrackAfter = d }),
		toggle("directSignals", "Direct signals", "Services may signal a number's run themselves.",
			(*lacunav1.BizType).GetDirectSignals, func(b *lacunav1.BizType, v bool) { b.DirectSignals = &v }),
	}},
	{"Archive", []rule{
		span("archiveAfter", "Archive after", "How long after their seal numbers move to the archive, 1s to 36500d; 0s is never.",
			(*lacunav1.BizType).GetArchiveAfter, func(b *lacunav1.BizType, d *durationpb.Duration) { b.ArchiveAfter = d }),
	}},
}

func text(field, label, hint string, get func(*lacunav1.BizType) string, set func(*lacunav1.BizType, string)) rule {
	return rule{Field: field, Label: label, Hint: hint, Kind: "text", get: get, set: func(b *lacunav1.BizType, s string) string {
		set(b, strings.TrimSpace(s))
		return ""
	}}
}

func whole(field, label, hint string, get func(*lacunav1.BizType) int64, set func(*lacunav1.BizType, int64)) rule {
	return rule{
		Field: field, Label: label, Hint: hint, Kind: "number", get: func(b *lacunav1.BizType) string { return strconv.FormatInt(get(b), 10) },
		set: func(b *lacunav1.BizType, s string) string {
			n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
			if err != nil {
				return "Is not a whole number."
			}
			set(b, n)
			return ""
		},
	}
}

func small(field, label, hint string, get func(*lacunav1.BizType) int32, set func(*lacunav1.BizType, int32)) rule {
	r := whole(field, label, hint, func(b *lacunav1.BizType) int64 { return int64(get(b)) }, nil)
	r.set = func(b *lacunav1.BizType, s string) string {
		n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 32)
		if err != nil {
			return "Is not a whole number, or far too large."
		}
		set(b, int32(n)) //nolint:gosec // parsed with that size
		return ""
	}
	return r
}

func toggle(field, label, hint string, get func(*lacunav1.BizType) bool, set func(*lacunav1.BizType, bool)) rule {
	return rule{
		Field: field, Label: label, Hint: hint, Kind: "yes",
		get: func(b *lacunav1.BizType) string {
			if get(b) {
				return yes
			}
			return no
		},
		set: func(b *lacunav1.BizType, s string) string {
			set(b, s == yes)
			return ""
		},
	}
}

// enum is an enum of the API.
type enum interface {
	~int32
	String() string
}

func choose[E enum](field, label, hint string, get func(*lacunav1.BizType) E, set func(*lacunav1.BizType, E), values map[string]int32, prefix string, choices ...choice) rule {
	return rule{
		Field: field, Label: label, Hint: hint, Kind: "choice", Choices: choices,
		get: func(b *lacunav1.BizType) string { return strings.TrimPrefix(get(b).String(), prefix) },
		set: func(b *lacunav1.BizType, s string) string {
			v, known := values[prefix+s]
			if !known {
				return "Is none of the choices."
			}
			set(b, E(v))
			return ""
		},
	}
}

func span(field, label, hint string, get func(*lacunav1.BizType) *durationpb.Duration, set func(*lacunav1.BizType, *durationpb.Duration)) rule {
	return rule{
		Field: field, Label: label, Hint: hint, Kind: "duration", get: func(b *lacunav1.BizType) string { return spellSpan(get(b).AsDuration()) },
		set: func(b *lacunav1.BizType, s string) string {
			d, ok := readSpan(s)
			if !ok {
				return notSpan
			}
			set(b, durationpb.New(d))
			return ""
		},
	}
}

const notSpan = "Is not a time: write it as 90s, 15m, 2h30m or 7d."

// spellSpan is a duration as readSpan reads it, e.g. 15m.
func spellSpan(d time.Duration) string {
	if days := d / (24 * time.Hour); days > 0 && d%(24*time.Hour) == 0 {
		return strconv.FormatInt(int64(days), 10) + "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// readSpan reads Go's durations, and days.
func readSpan(s string) (time.Duration, bool) {
	s = strings.ReplaceAll(s, " ", "")
	if days, isDays := strings.CutSuffix(s, "d"); isDays {
		n, err := strconv.ParseInt(days, 10, 32)
		return time.Duration(n) * 24 * time.Hour, err == nil && n >= 0 && n <= 100_000
	}
	d, err := time.ParseDuration(s)
	return d, err == nil
}

func getRetryDelays(b *lacunav1.BizType) string {
	words := make([]string, len(b.GetRetryDelays()))
	for i, d := range b.GetRetryDelays() {
		words[i] = spellSpan(d.AsDuration())
	}
	return strings.Join(words, ", ")
}

func setRetryDelays(b *lacunav1.BizType, s string) string {
	var delays []*durationpb.Duration
	for part := range strings.SplitSeq(s, ",") {
		d, ok := readSpan(part)
		if !ok {
			return "One of them is not a time: write them as 30s, 2m, 5m."
		}
		delays = append(delays, durationpb.New(d))
	}
	b.RetryDelays = delays
	return ""
}

// getProbe spells a probe in one line: 5s sql shop SELECT …, or 5s https://…; empty for none.
func getProbe(b *lacunav1.BizType) string {
	p := b.GetProbe()
	timeout := spellSpan(p.GetTimeout().AsDuration())
	switch {
	case p.GetHttp() != nil:
		return timeout + " " + p.GetHttp().GetUrl()
	case p.GetSql() != nil:
		return timeout + " sql " + p.GetSql().GetDsn() + " " + p.GetSql().GetQuery()
	}
	return ""
}

func setProbe(b *lacunav1.BizType, s string) string {
	b.Probe = &lacunav1.Probe{}
	rest := strings.Join(strings.Fields(s), " ")
	if rest == "" {
		return ""
	}
	if first, after, _ := strings.Cut(rest, " "); first != "" && first[0] >= '0' && first[0] <= '9' {
		d, ok := readSpan(first)
		if !ok {
			return notSpan
		}
		b.Probe.Timeout, rest = durationpb.New(d), after
	}
	if query, isSQL := strings.CutPrefix(rest, "sql "); isSQL {
		name, query, _ := strings.Cut(query, " ")
		b.Probe.By = &lacunav1.Probe_Sql{Sql: &lacunav1.SQLProbe{Dsn: name, Query: query}}
		return ""
	}
	b.Probe.By = &lacunav1.Probe_Http{Http: &lacunav1.HTTPProbe{Url: rest}}
	return ""
}

// same reports whether two biz types have the same rule.
func (r rule) same(a, b *lacunav1.BizType) bool { return r.get(a) == r.get(b) }

// clone copies a biz type.
func clone(b *lacunav1.BizType) *lacunav1.BizType { return proto.Clone(b).(*lacunav1.BizType) }
