package main

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// phase is a stretch of traffic.
type phase struct {
	events   int
	rate     float64 // events per second
	rollback float64 // shares of the events
	silent   float64
	late     float64
}

// The mean of both files is 15 events/s and the rush 40/s: what one workflow per number holds on
// two cores. The shares of rollbacks are those of a normal day, a bad night and a total outage.
var (
	short = []phase{
		{events: 300, rate: 10, rollback: 0.01, silent: 0.003, late: 0.003},
		{events: 400, rate: 40, rollback: 0.06, silent: 0.005, late: 0.003},
		{events: 75, rate: 15, rollback: 0.90, silent: 0.10}, // 5 s
		{events: 225, rate: 10, rollback: 0.01, silent: 0.003, late: 0.003},
	}
	long = []phase{
		{events: 3000, rate: 10, rollback: 0.003, silent: 0.001, late: 0.001},
		{events: 4000, rate: 40, rollback: 0.06, silent: 0.005, late: 0.001},
		{events: 300, rate: 15, rollback: 0.90, silent: 0.10}, // 20 s
		{events: 2700, rate: 10, rollback: 0.003, silent: 0.001, late: 0.001},
	}
)

// lateDuration is a second and a half above DEMO's confirm timeout, and well within its window.
const lateDuration = 11_500 * time.Millisecond

// generate makes the shipped traffic, the same at every call.
func generate(isLong bool) []event {
	phases, prefix := short, "s"
	if isLong {
		phases, prefix = long, "l"
	}
	random := rand.New(rand.NewPCG(2026, uint64(len(prefix))))
	var events []event
	var at time.Duration
	for _, p := range phases {
		for range p.events {
			e := event{at: at.Truncate(time.Millisecond), key: fmt.Sprintf("%s-%05d", prefix, len(events)+1)}
			e.outcome, e.duration = p.draw(random)
			events = append(events, e)
			at += time.Duration((0.5 + random.Float64()) / p.rate * float64(time.Second))
		}
	}
	return events
}

func (p phase) draw(random *rand.Rand) (outcome, time.Duration) {
	duration := time.Duration(10+random.IntN(190)) * time.Millisecond
	switch dice := random.Float64(); {
	case dice < p.rollback:
		return outcomeRollback, duration
	case dice < p.rollback+p.silent:
		return outcomeSilent, 0
	case dice < p.rollback+p.silent+p.late:
		return outcomeLate, lateDuration
	}
	return outcomeCommit, duration
}
