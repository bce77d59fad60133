package sequence

import (
	"fmt"
	"slices"
	"time"
)

// What a recommendation needs to be one.
const (
	AdviceMinConfirms = 1_000
	AdviceMinSpan     = 24 * time.Hour
)

// closeToTimeout is the share of the confirm timeout that one confirm in a thousand may take before
// that is remarked on.
const closeToTimeout = 0.8

// Delays are those of one biz type, over a span of the database's time.
type Delays struct {
	// Since is when counting began, within the days that were asked for; the zero time where nothing
	// was counted yet.
	Since, Until               time.Time
	Confirmed, Late, Abandoned DelayCounts
}

// Span is how long was counted.
func (d *Delays) Span() time.Duration {
	if d.Since.IsZero() {
		return 0
	}
	return max(0, d.Until.Sub(d.Since))
}

// Confirms is how many confirms came, in time or late.
func (d *Delays) Confirms() int64 { return d.Confirmed.Count() + d.Late.Count() }

// WindowChoice is what a safety window would have come to.
type WindowChoice struct {
	Window time.Duration
	// LateAfter is how many late confirms may have come after it. Each would have been a conflict if its
	// number had been issued again by then, so it is an upper bound of the conflicts.
	LateAfter int64
	// Held is how many numbers it would have kept from being issued again, on average: abandonments a
	// second times the window. Late confirms made it fewer.
	Held float64
}

// WindowAdvice weighs safety windows by what was seen.
type WindowAdvice struct {
	Choices []WindowChoice // in ascending order, the present window among them
	// NoneAfter is the shortest of them that no late confirm came after, OnePerMillion the shortest that
	// at most one in a million confirms came after. 0 where there is none, or too little was seen.
	NoneAfter, OnePerMillion time.Duration
	// Remarks say in words what a person should know besides.
	Remarks []string
}

// AdviseWindow weighs the windows, and the present one, by the delays that were seen. Without windows it
// weighs some around the present one, and one that outlasts the latest confirm.
func AdviseWindow(rules BizType, seen *Delays, windows []time.Duration) WindowAdvice {
	if len(windows) == 0 {
		windows = ladder(rules.SafetyWindow, seen.Late.Quantile(1))
	}
	windows = append(slices.Clone(windows), rules.SafetyWindow)
	slices.Sort(windows)
	var advice WindowAdvice
	for _, w := range slices.Compact(windows) {
		choice := WindowChoice{Window: w, LateAfter: seen.Late.After(w)}
		if span := seen.Span(); span > 0 {
			choice.Held = float64(seen.Abandoned.Count()) * w.Seconds() / span.Seconds()
		}
		advice.Choices = append(advice.Choices, choice)
	}
	advice.recommend(seen)
	advice.remark(rules, seen)
	return advice
}

// ladder is a quarter to four times the present window, and one that outlasts the latest confirm, in whole
// seconds.
func ladder(present, latest time.Duration) []time.Duration {
	steps := []time.Duration{present / 4, present / 2, 2 * present, 4 * present}
	if latest > 0 {
		steps = append(steps, latest)
	}
	for i, step := range steps {
		whole := (step + time.Second - 1).Truncate(time.Second)
		steps[i] = min(max(whole, MinSafetyWindow), MaxSafetyWindow)
	}
	return steps
}

func (a *WindowAdvice) recommend(seen *Delays) {
	if seen.Confirms() < AdviceMinConfirms || seen.Span() < AdviceMinSpan {
		return
	}
	for _, choice := range slices.Backward(a.Choices) {
		if choice.LateAfter == 0 {
			a.NoneAfter = choice.Window
		}
		if choice.LateAfter <= seen.Confirms()/1_000_000 {
			a.OnePerMillion = choice.Window
		}
	}
}

func (a *WindowAdvice) remark(rules BizType, seen *Delays) {
	say := func(format string, args ...any) { a.Remarks = append(a.Remarks, fmt.Sprintf(format, args...)) }
	switch {
	case seen.Confirms() < AdviceMinConfirms || seen.Span() < AdviceMinSpan:
		say("too little was seen to recommend a window: %d confirms in %s; it takes %d confirms and a day",
			seen.Confirms(), seen.Span().Round(time.Minute), AdviceMinConfirms)
	case a.NoneAfter == 0 && seen.Late[DelayBuckets-1] > 0:
		say("no window is long enough: confirms came later than any window may last (%s); find out where they waited", MaxSafetyWindow)
	case a.NoneAfter == 0:
		say("none of these windows is long enough: the latest confirm came %s after its number was given up; weigh longer ones",
			seen.Late.Quantile(1).Round(time.Millisecond))
	}
	if n := seen.Late.After(rules.SafetyWindow); n > 0 {
		say("%d of %d late confirms came after the present window of %s, or up to 10 %% before its end", n, seen.Late.Count(), rules.SafetyWindow)
	}
	if slow := seen.Confirmed.Quantile(0.999); slow > time.Duration(closeToTimeout*float64(rules.ConfirmTimeout)) {
		say("one confirm in a thousand takes about %s or longer, and the confirm timeout is %s: what takes longer than that counts as given up; raise it",
			slow.Round(time.Millisecond), rules.ConfirmTimeout)
	}
}
