package main

import (
	"errors"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/sequence"
)

// Prefixes of the API's enums; behind them stand the names of package sequence.
const (
	sourcePrefix    = "SOURCE_"
	reusePrefix     = "REUSE_"
	poolOrderPrefix = "POOL_ORDER_"
	onTimeoutPrefix = "ON_TIMEOUT_"
	causePrefix     = "DEAD_CAUSE_"
	trackPrefix     = "TRACK_"
)

// changeTo sets the rules that are present. Its error is only what Validate would not find.
func changeTo(asked *lacunav1.BizType, b *sequence.BizType) error {
	var faults []error
	if asked.Format != nil {
		format, err := sequence.ParseFormat(asked.GetFormat())
		if err != nil {
			faults = append(faults, err)
			format, _ = sequence.ParseFormat("{seq:18}") // stands in: Validate need not find fault with it as well
		}
		b.Format = format
	}
	if asked.TimeZone != nil {
		zone, err := sequence.ParseZone(asked.GetTimeZone())
		faults = append(faults, err)
		b.TimeZone = zone
	}
	if asked.Source != nil {
		faults = append(faults, parse(&b.Source, sequence.ParseSource, asked.GetSource().String(), sourcePrefix))
	}
	if asked.Reuse != nil {
		faults = append(faults, parse(&b.Reuse, sequence.ParseReuse, asked.GetReuse().String(), reusePrefix))
	}
	if asked.PoolOrder != nil {
		faults = append(faults, parse(&b.PoolOrder, sequence.ParsePoolOrder, asked.GetPoolOrder().String(), poolOrderPrefix))
	}
	if asked.OnTimeout != nil {
		faults = append(faults, parse(&b.OnTimeout, sequence.ParseOnTimeout, asked.GetOnTimeout().String(), onTimeoutPrefix))
	}
	if asked.Track != nil {
		faults = append(faults, parse(&b.Track, sequence.ParseTrack, asked.GetTrack().String(), trackPrefix))
		if b.Track == sequence.TrackNone { // unless it is asked for
			b.DirectSignals = false
		}
	}
	if asked.GetProbe() != nil {
		faults = append(faults, setProbe(&b.Probe, asked.GetProbe()))
	}
	if len(asked.GetRetryDelays()) > 0 {
		b.RetryDelays = make([]time.Duration, len(asked.GetRetryDelays()))
		for i, d := range asked.GetRetryDelays() {
			faults = append(faults, setDuration(&b.RetryDelays[i], d, "retryDelays"))
		}
	}
	set(&b.DirectSignals, asked.DirectSignals)
	set(&b.Start, asked.Start)
	set(&b.DurableIssue, asked.DurableIssue)
	setInt(&b.StepMin, asked.StepMin)
	setInt(&b.StepMax, asked.StepMax)
	setInt(&b.MaxReplays, asked.MaxReplays)
	faults = append(faults,
		setDuration(&b.ConfirmTimeout, asked.GetConfirmTimeout(), "confirmTimeout"),
		setDuration(&b.ExtendLimit, asked.GetExtendLimit(), "extendLimit"),
		setDuration(&b.TrackAfter, asked.GetTrackAfter(), "trackAfter"),
		setDuration(&b.ArchiveAfter, asked.GetArchiveAfter(), "archiveAfter"),
		setDuration(&b.SafetyWindow, asked.GetSafetyWindow(), "safetyWindow"))
	return errors.Join(faults...)
}

// parse reads an enum of the API. On a fault the rule stays: Validate need not find fault with it as well.
func parse[T any](rule *T, read func(string) (T, error), name, prefix string) error {
	value, err := read(strings.TrimPrefix(name, prefix))
	if err == nil {
		*rule = value
	}
	return err
}

func set[T any](rule, asked *T) {
	if asked != nil {
		*rule = *asked
	}
}

func setInt(rule *int, asked *int32) {
	if asked != nil {
		*rule = int(*asked)
	}
}

func setDuration(rule *time.Duration, asked *durationpb.Duration, field string) error {
	if asked == nil {
		return nil
	}
	*rule = asked.AsDuration()
	if *rule%time.Millisecond != 0 {
		return sequence.Invalidf(field, "%s is not a whole number of milliseconds", *rule)
	}
	return nil
}

// setProbe replaces the probe as a whole; an empty one asks nobody.
func setProbe(p *sequence.Probe, asked *lacunav1.Probe) error {
	if asked.GetBy() == nil && asked.GetTimeout() == nil {
		*p = sequence.Probe{}
		return nil
	}
	*p = sequence.Probe{
		DSN: asked.GetSql().GetDsn(), Query: asked.GetSql().GetQuery(), URL: asked.GetHttp().GetUrl(), Timeout: sequence.DefaultProbeTimeout,
	}
	return setDuration(&p.Timeout, asked.GetTimeout(), "probe")
}

func probeMessage(p sequence.Probe) *lacunav1.Probe {
	if !p.Asks() {
		return nil
	}
	m := &lacunav1.Probe{Timeout: durationpb.New(p.Timeout)}
	if p.URL != "" {
		m.By = &lacunav1.Probe_Http{Http: &lacunav1.HTTPProbe{Url: p.URL}}
	} else {
		m.By = &lacunav1.Probe_Sql{Sql: &lacunav1.SQLProbe{Dsn: p.DSN, Query: p.Query}}
	}
	return m
}

func bizTypeMessage(b sequence.BizType) *lacunav1.BizType {
	format, zone, stepMin, stepMax, maxReplays := b.Format.String(), b.TimeZone.String(), int32(b.StepMin), int32(b.StepMax), int32(b.MaxReplays)
	source := lacunav1.Source(lacunav1.Source_value[sourcePrefix+b.Source.String()])
	reuse := lacunav1.Reuse(lacunav1.Reuse_value[reusePrefix+b.Reuse.String()])
	order := lacunav1.PoolOrder(lacunav1.PoolOrder_value[poolOrderPrefix+b.PoolOrder.String()])
	onTimeout := lacunav1.OnTimeout(lacunav1.OnTimeout_value[onTimeoutPrefix+b.OnTimeout.String()])
	track := lacunav1.Track(lacunav1.Track_value[trackPrefix+b.Track.String()])
	delays := make([]*durationpb.Duration, len(b.RetryDelays))
	for i, d := range b.RetryDelays {
		delays[i] = durationpb.New(d)
	}
	return &lacunav1.BizType{
		Name: b.Name, Format: &format, TimeZone: &zone, Source: &source, Start: &b.Start, StepMin: &stepMin, StepMax: &stepMax,
		ConfirmTimeout: durationpb.New(b.ConfirmTimeout), SafetyWindow: durationpb.New(b.SafetyWindow),
		MaxReplays: &maxReplays, Reuse: &reuse, PoolOrder: &order, DurableIssue: &b.DurableIssue, Revision: &b.Revision,
		ExtendLimit: durationpb.New(b.ExtendLimit), OnTimeout: &onTimeout, Probe: probeMessage(b.Probe), RetryDelays: delays, DirectSignals: &b.DirectSignals,
		Track: &track, TrackAfter: durationpb.New(b.TrackAfter), ArchiveAfter: durationpb.New(b.ArchiveAfter),
	}
}
