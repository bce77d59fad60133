package sequence

import (
	"errors"
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
)

// Bounds of a biz type's settings.
const (
	MaxStep           = 10_000
	MinConfirmTimeout = time.Second
	MaxConfirmTimeout = 30 * 24 * time.Hour
	MinSafetyWindow   = time.Second
	MaxSafetyWindow   = 30 * 24 * time.Hour
	MaxMaxReplays     = 1_000_000
)

// BizType is one numbering and its rules.
type BizType struct {
	Name   string
	Format Format
	// StepMin and StepMax bound how many fresh numbers one allocation takes, 1 to 10,000.
	StepMin, StepMax int
	// ConfirmTimeout is the longest wait for a confirm, 1 s to 30 days.
	ConfirmTimeout time.Duration
	// SafetyWindow is the quarantine between abandonment and reuse, 1 s to 30 days.
	SafetyWindow time.Duration
	// MaxReplays is how often a number may be issued again before it is retired; 0 means never.
	MaxReplays int
	// Revision counts the changes of these settings, from 1.
	Revision int64
}

// NewBizType gives a biz type with default rules.
func NewBizType(name string, format Format) BizType {
	return BizType{
		Name: name, Format: format,
		StepMin: DefaultStepMin, StepMax: DefaultStepMax,
		ConfirmTimeout: DefaultConfirmTimeout, SafetyWindow: DefaultSafetyWindow,
		MaxReplays: DefaultMaxReplays,
	}
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
	fault(b.StepMin >= 1 && b.StepMin <= MaxStep, "stepMin", "%d is not from 1 to %d", b.StepMin, MaxStep)
	fault(b.StepMax >= b.StepMin && b.StepMax <= MaxStep, "stepMax", "%d is not from stepMin (%d) to %d", b.StepMax, b.StepMin, MaxStep)
	fault(b.ConfirmTimeout >= MinConfirmTimeout && b.ConfirmTimeout <= MaxConfirmTimeout,
		"confirmTimeout", "%s is not from %s to %s", b.ConfirmTimeout, MinConfirmTimeout, MaxConfirmTimeout)
	fault(b.SafetyWindow >= MinSafetyWindow && b.SafetyWindow <= MaxSafetyWindow,
		"safetyWindow", "%s is not from %s to %s", b.SafetyWindow, MinSafetyWindow, MaxSafetyWindow)
	fault(b.MaxReplays >= 0 && b.MaxReplays <= MaxMaxReplays, "maxReplays", "%d is not from 0 to %d", b.MaxReplays, MaxMaxReplays)
	return errors.Join(faults...)
}
