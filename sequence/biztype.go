package sequence

import (
	"errors"
	"slices"
	"time"
)

// Defaults of a biz type's settings. The window is the slowest path of a request (transaction
// 15 s, client retry 10 s, message delay 30 s, clock skew 1 s), rounded up to 60 s and doubled.
const (
	DefaultConfirmTimeout = 15 * time.Minute
	DefaultSafetyWindow   = 120 * time.Second
	DefaultStepMin        = 100
	DefaultStepMax        = 2000
	DefaultMaxReplays     = 2
	DefaultExtendLimit    = time.Hour
)

// DefaultRetryDelays are the pauses after the attempts to bring a number back to the pool: an outage of
// seconds is over at the first, a restart at the second, a failover at the third.
func DefaultRetryDelays() []time.Duration {
	return []time.Duration{30 * time.Second, 2 * time.Minute, 5 * time.Minute}
}

// Bounds of a biz type's settings.
const (
	MaxStep           = 10_000
	MinConfirmTimeout = time.Second
	MaxConfirmTimeout = 30 * 24 * time.Hour
	MinSafetyWindow   = time.Second
	MaxSafetyWindow   = 30 * 24 * time.Hour
	MaxMaxReplays     = 1_000_000
	MaxExtendLimit    = 30 * 24 * time.Hour
	MaxRetryDelays    = 10
	MinRetryDelay     = 10 * time.Millisecond
	MaxRetryDelay     = 24 * time.Hour
	MinArchiveAfter   = time.Second
	MaxArchiveAfter   = 100 * 365 * 24 * time.Hour
)

// MaxFormat bounds a format's template, in bytes.
const MaxFormat = 128

// BizType is one numbering and its rules.
type BizType struct {
	Name   string
	Format Format
	// TimeZone is where the date in the format is looked up.
	TimeZone Zone
	// Source is where the values come from.
	Source Source
	// Start is the first value, of every period, from 0 to the format's largest.
	Start int64
	// StepMin and StepMax bound how many fresh numbers one allocation takes, 1 to 10,000.
	StepMin, StepMax int
	// ConfirmTimeout is the longest wait for a confirm, 1 s to 30 days.
	ConfirmTimeout time.Duration
	// SafetyWindow is the quarantine between abandonment and reuse, 1 s to 30 days.
	SafetyWindow time.Duration
	// MaxReplays is how often a number may be issued again before it is retired; 0 means never.
	MaxReplays int
	// Reuse says whether a number that was given up is issued again.
	Reuse Reuse
	// PoolOrder says which free number is issued first.
	PoolOrder PoolOrder
	// DurableIssue makes Next answer only after the hand-out is written down.
	DurableIssue bool
	// ExtendLimit is how much longer than ConfirmTimeout a holder may keep a number unconfirmed when it
	// asks for more time, 0 to 30 days.
	ExtendLimit time.Duration
	// OnTimeout says what becomes of a number that nobody confirmed in time.
	OnTimeout OnTimeout
	// Probe is how the business is asked before a number is issued again; zero where nobody is.
	Probe Probe
	// RetryDelays are the pauses between the attempts to bring a number back to the pool, 1 to 10 of
	// 10 ms to a day; after the last attempt it is a dead letter.
	RetryDelays []time.Duration
	// DirectSignals says whether services may settle by signalling a number's run themselves.
	DirectSignals bool
	// Track says which numbers have a run of their own.
	Track Track
	// TrackAfter is when a number that is not settled gets one under TrackUnsettled, 100 ms to an hour.
	TrackAfter time.Duration
	// ArchiveAfter is how long after their seal numbers stay where those in use are, 1 s to 100 years; 0 means
	// for good.
	ArchiveAfter time.Duration
	// Revision counts the changes of these settings, from 1.
	Revision int64
	// SteppedBack is no setting but how it stands: by how many numbers, 1 at least, the ledger was found behind what
	// was seen of it before; 0 where it was not. Until an operator has raised the ledger nothing is issued or
	// brought back.
	SteppedBack int64
}

// NewBizType gives a biz type with default rules.
func NewBizType(name string, format Format) BizType {
	return BizType{
		Name: name, Format: format, Source: SourceSegment, Start: 1,
		StepMin: DefaultStepMin, StepMax: DefaultStepMax,
		ConfirmTimeout: DefaultConfirmTimeout, SafetyWindow: DefaultSafetyWindow,
		MaxReplays: DefaultMaxReplays, Reuse: ReuseAny, PoolOrder: PoolOrderLowest,
		ExtendLimit: DefaultExtendLimit, OnTimeout: OnTimeoutAbandon, RetryDelays: DefaultRetryDelays(), DirectSignals: true,
		Track: TrackEvery, TrackAfter: DefaultTrackAfter,
	}
}

// Period names the period that a time falls in.
func (b BizType) Period(t time.Time) string {
	if !b.Format.HasPeriod() {
		return ""
	}
	return b.Format.Period(b.TimeZone.Of(t))
}

// PeriodEnd is when that period is over; the zero time where there are no periods.
func (b BizType) PeriodEnd(t time.Time) time.Time { return b.Format.PeriodEnd(b.TimeZone.Of(t)) }

// outOfPeriod reports whether the number may not be issued any more because its period is over.
func (b BizType) outOfPeriod(n Number, now time.Time) bool {
	return b.Reuse == ReuseSamePeriod && n.Period != b.Period(now)
}

// FinalAtIssue reports whether a number is in use for good as soon as it is handed out. Where none is ever issued again
// and none is seen to, nobody needs to know what became of it, and a wait for a confirm would only cost.
func (b BizType) FinalAtIssue() bool { return b.Reuse == ReuseNever && b.Track == TrackNone }

// ConfirmBy is until when a number that is handed out at a time waits for its confirm; the zero time where it does not.
func (b BizType) ConfirmBy(issued time.Time) time.Time {
	if b.FinalAtIssue() {
		return time.Time{}
	}
	return issued.Add(b.ConfirmTimeout)
}

// Validate reports all faults at once, joined, each an InvalidError.
func (b BizType) Validate() error {
	var faults []error
	fault := func(ok bool, field, format string, args ...any) {
		if !ok {
			faults = append(faults, Invalidf(field, format, args...))
		}
	}
	if err := ValidateBizTypeName(b.Name); err != nil {
		faults = append(faults, err)
	}
	fault(b.Format.width > 0, "format", "is missing")
	fault(len(b.Format.String()) <= MaxFormat, "format", "has %d bytes, the limit is %d", len(b.Format.String()), MaxFormat)
	fault(slices.Contains(Sources[:], b.Source), "source", "%s is not one of %v", b.Source, Sources)
	fault(b.Source == SourceSegment || !b.Format.HasPeriod(), "source", "%s has no cursor for each period: a format with a date needs %s", b.Source, SourceSegment)
	fault(b.Start >= 0 && b.Start <= b.Format.Max(), "start", "%d is not from 0 to %d", b.Start, b.Format.Max())
	fault(b.StepMin >= 1 && b.StepMin <= MaxStep, "stepMin", "%d is not from 1 to %d", b.StepMin, MaxStep)
	fault(b.StepMax >= b.StepMin && b.StepMax <= MaxStep, "stepMax", "%d is not from stepMin (%d) to %d", b.StepMax, b.StepMin, MaxStep)
	fault(b.ConfirmTimeout >= MinConfirmTimeout && b.ConfirmTimeout <= MaxConfirmTimeout,
		"confirmTimeout", "%s is not from %s to %s", b.ConfirmTimeout, MinConfirmTimeout, MaxConfirmTimeout)
	fault(b.SafetyWindow >= MinSafetyWindow && b.SafetyWindow <= MaxSafetyWindow,
		"safetyWindow", "%s is not from %s to %s", b.SafetyWindow, MinSafetyWindow, MaxSafetyWindow)
	fault(b.MaxReplays >= 0 && b.MaxReplays <= MaxMaxReplays, "maxReplays", "%d is not from 0 to %d", b.MaxReplays, MaxMaxReplays)
	fault(slices.Contains(Reuses[:], b.Reuse), "reuse", "%s is not one of %v", b.Reuse, Reuses)
	fault(b.Reuse != ReuseSamePeriod || b.Format.HasPeriod(), "reuse", "%s needs a date in the format", b.Reuse)
	fault(b.Reuse != ReuseNever || b.DurableIssue, "reuse", "%s needs durableIssue: after a crash nobody could tell what was handed out", b.Reuse)
	fault(slices.Contains(PoolOrders[:], b.PoolOrder), "poolOrder", "%s is not one of %v", b.PoolOrder, PoolOrders)
	fault(b.ExtendLimit >= 0 && b.ExtendLimit <= MaxExtendLimit, "extendLimit", "%s is not from 0s to %s", b.ExtendLimit, MaxExtendLimit)
	fault(slices.Contains(OnTimeouts[:], b.OnTimeout), "onTimeout", "%s is not one of %v", b.OnTimeout, OnTimeouts)
	fault(b.OnTimeout != OnTimeoutDeadLetter || !b.FinalAtIssue(), "onTimeout", "under reuse %s with track %s a number is final at its issue: no timeout is ever over", ReuseNever, TrackNone)
	fault(b.OnTimeout != OnTimeoutDeadLetter || b.DurableIssue, "onTimeout", "%s needs durableIssue: after a crash nobody could tell what was handed out", b.OnTimeout)
	fault(len(b.RetryDelays) >= 1 && len(b.RetryDelays) <= MaxRetryDelays, "retryDelays", "%d are not from 1 to %d", len(b.RetryDelays), MaxRetryDelays)
	for _, d := range b.RetryDelays {
		fault(d >= MinRetryDelay && d <= MaxRetryDelay, "retryDelays", "%s is not from %s to %s", d, MinRetryDelay, MaxRetryDelay)
	}
	fault(slices.Contains(Tracks[:], b.Track), "track", "%s is not one of %v", b.Track, Tracks)
	fault(b.TrackAfter >= MinTrackAfter && b.TrackAfter <= MaxTrackAfter, "trackAfter", "%s is not from %s to %s", b.TrackAfter, MinTrackAfter, MaxTrackAfter)
	fault(b.Track != TrackNone || !b.DirectSignals, "directSignals", "no number has a run that could be signalled under track %s", TrackNone)
	fault(b.ArchiveAfter == 0 || b.ArchiveAfter >= MinArchiveAfter && b.ArchiveAfter <= MaxArchiveAfter,
		"archiveAfter", "%s is neither 0, which means never, nor from %s to %s", b.ArchiveAfter, MinArchiveAfter, MaxArchiveAfter)
	for _, what := range b.Probe.faults() {
		fault(false, "probe", "%s", what)
	}
	return errors.Join(faults...)
}
