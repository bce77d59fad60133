package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"connectrpc.com/connect"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/internal/buildinfo"
)

// Bounds of the doctor's verdicts.
const (
	checkLasts  = 5 * time.Second  // one server's checks
	clocksApart = 5 * time.Second  // what the patrol bears; beyond it, it holds all deadlines back
	patrolLate  = 90 * time.Second // a round a minute is the slowest rhythm that can be set
	patrolAway  = 3 * time.Minute  // a round that hangs is ended after two
)

// doctorCommand checks every server that it is told of.
type doctorCommand struct {
	api
	output
	Ops string `name:"ops" env:"LACUNA_OPS" default:"http://127.0.0.1:8081" placeholder:"http://host:port" help:"Where the starter shows its health; asked where LACUNA_MYSQL_DSN is not set."`
}

// seen is what one check leaves for others.
type seen struct {
	patrolAge *time.Duration
	ledger    *time.Duration // how far the ledger's clock is ahead of this machine's
	temporal  *span          // how far Temporal's is, between these
}

// span is what lies between two durations.
type span struct{ from, to time.Duration }

// Run prints a line for each check. What LACUNA_MYSQL_DSN, LACUNA_REDIS_URL and TEMPORAL_ADDRESS do not name is not
// looked at, and said so.
func (c doctorCommand) Run(ctx context.Context, out io.Writer) error {
	list := newListing(out, c.output, checkedColumns)
	sick := false
	var s seen
	for _, look := range []func(context.Context, *seen) []checked{c.checkAPI, c.checkLedger, checkRedis, checkTemporal, checkPatrol, checkClocks} {
		bounded, cancel := context.WithTimeout(ctx, checkLasts)
		found := look(bounded, &s)
		cancel()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := list.add(found...); err != nil {
			return err
		}
		for _, f := range found {
			sick = sick || f.Verdict == wrong
		}
	}
	if err := list.end(); err != nil {
		return err
	}
	if sick {
		return errFindings
	}
	return nil
}

// checkAPI asks the starter what it is, and what it knows.
func (c doctorCommand) checkAPI(ctx context.Context, s *seen) []checked {
	begun := time.Now()
	response, err := c.operator().GetStatus(ctx, connect.NewRequest(&lacunav1.GetStatusRequest{}))
	if err != nil {
		return []checked{failure("api", err, "")}
	}
	m := response.Msg
	middle := begun.Add(time.Since(begun) / 2)
	its := buildinfo.Info{Version: m.GetVersion(), Commit: m.GetCommit()}
	if m.GetCommitTime() != nil {
		its.Time = m.GetCommitTime().AsTime()
	}
	all := []checked{versionCheck(its, buildinfo.Read())}
	if m.GetAway() != "" {
		return append(all, checked{"ledger, by the starter", wrong, m.GetAway(), "see whether the database lives, and the starter's way to it"})
	}
	if m.GetPatrolAge() != nil {
		age := m.GetPatrolAge().AsDuration()
		s.patrolAge = &age
	}
	if m.GetLedgerTime() != nil {
		ahead := m.GetLedgerTime().AsTime().Sub(middle)
		s.ledger = &ahead
	}
	return append(all, checked{What: "ledger, by the starter", Verdict: ok, Seen: "it answers"})
}

func versionCheck(its, mine buildinfo.Info) checked {
	c := checked{What: "api", Verdict: ok, Seen: "version " + its.String()}
	if its.Commit != "" && mine.Commit != "" && its.Commit != mine.Commit {
		c.Verdict, c.Do = warning, "this command line is of commit "+mine.Commit+": use the one of the starter's version"
	}
	return c
}

// checkPatrol judges the age of the last round, whoever told it.
func checkPatrol(_ context.Context, s *seen) []checked {
	if s.patrolAge == nil {
		return []checked{{What: "patrol", Verdict: skipped, Seen: "nobody could say when it was last through"}}
	}
	c := checked{What: "patrol", Verdict: ok, Seen: "last through " + roughly(*s.patrolAge) + " ago"}
	switch {
	case *s.patrolAge > patrolAway:
		c.Verdict = wrong
	case *s.patrolAge > patrolLate:
		c.Verdict = warning
	}
	if c.Verdict != ok {
		c.Do = "see that a worker runs and that the schedule lacuna-patrol is not paused; its last runs in the Temporal UI say what failed"
	}
	return []checked{c}
}

// checkClocks compares the clocks that were seen. Those of the ledger and Temporal matter: deadlines are of the one,
// timers of the other.
func checkClocks(_ context.Context, s *seen) []checked {
	if s.ledger == nil {
		return []checked{{What: "clocks", Verdict: skipped, Seen: "the ledger's is not known"}}
	}
	mine := checked{What: "clock, this machine", Verdict: ok, Seen: "the ledger's is " + apart(*s.ledger)}
	if s.ledger.Abs() > clocksApart {
		mine.Verdict, mine.Do = warning, "set this machine's clock by NTP, or do not trust times like --since 2h"
	}
	if s.temporal == nil {
		return []checked{mine, {What: "clock, Temporal", Verdict: skipped, Seen: "Temporal's is not known while the patrol does not come"}}
	}
	between := span{s.temporal.from - *s.ledger, s.temporal.to - *s.ledger}
	its := checked{What: "clock, Temporal", Verdict: ok, Seen: fmt.Sprintf("against the ledger's between %s and %s", apart(between.from), apart(between.to))}
	if between.from > clocksApart || between.to < -clocksApart {
		its.Verdict = wrong
		its.Do = "set the clocks of both servers by NTP: while they are over 5 s apart no deadline is acted on"
	}
	return []checked{mine, its}
}

func apart(d time.Duration) string {
	if d < 0 {
		return roughly(-d) + " behind"
	}
	return roughly(d) + " ahead"
}
