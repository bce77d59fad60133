package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

// drawnLife is a life of a number as a line: from its hand-out to its end.
type drawnLife struct {
	ticket, bizKey string
	from, to       *timestamppb.Timestamp // to is nil while it goes on
	end            string                 // how it ended, or where it stands
	mark           string                 // of the end: x given up, * in use, ! dead or retired, > goes on
}

// drawLives draws a line for each life, with what was out of the ordinary in it and the link to its run below.
func drawLives(out io.Writer, m *lacunav1.GetResponse) {
	events := map[string][]*lacunav1.TimelineEntry{}
	var order []string // of the tickets that have events
	for _, e := range m.GetTimeline() {
		if ordinary(e) {
			continue
		}
		if events[e.GetTicket()] == nil {
			order = append(order, e.GetTicket())
		}
		events[e.GetTicket()] = append(events[e.GetTicket()], e)
	}
	for _, l := range livesOf(m) {
		drawLife(out, l)
		drawEvents(out, events[l.ticket])
		delete(events, l.ticket)
		if m.GetRunUrl() != "" { // that of the present life: the ticket is its last part
			fmt.Fprintf(out, "            run: %s\n", strings.TrimSuffix(m.GetRunUrl(), m.GetNumber().GetTicket())+l.ticket)
		}
	}
	for _, ticket := range order { // e.g. what happened to it before it was handed out
		if left := events[ticket]; len(left) > 0 {
			fmt.Fprintln(out, "outside these lives")
			drawEvents(out, left)
		}
	}
}

// ordinary says whether the line of a life shows that. What a person did is told with the name.
func ordinary(e *lacunav1.TimelineEntry) bool {
	switch e.GetWhat() {
	case "ISSUED":
		return true
	case "ABANDONED", "CONFIRMED":
		return slices.Contains([]string{"", "caller", "lacuna"}, e.GetActor())
	}
	return false
}

func livesOf(m *lacunav1.GetResponse) (lives []drawnLife) {
	for _, l := range m.GetPastLives() {
		lives = append(lives, drawnLife{ticket: l.GetTicket(), bizKey: l.GetBizKey(), from: l.GetIssuedTime(), to: l.GetAbandonedTime(), end: l.GetReason(), mark: "x"})
	}
	n := m.GetNumber()
	if n.GetLife() == 0 {
		return lives
	}
	last := drawnLife{ticket: n.GetTicket(), bizKey: n.GetBizKey(), from: n.GetIssuedTime(), to: n.GetAbandonedTime(), end: n.GetReason(), mark: "x"}
	switch n.GetState() {
	case lacunav1.State_STATE_CONFIRMED:
		last.to, last.mark, last.end = n.GetConfirmedTime(), "*", "confirmed"
		if n.GetReason() != "" {
			last.end += ", " + n.GetReason()
		}
	case lacunav1.State_STATE_ALLOCATED:
		last.to, last.mark, last.end = nil, ">", "with its caller until "+stamp(n.GetDeadline())
	case lacunav1.State_STATE_DEAD, lacunav1.State_STATE_RETIRED:
		last.mark, last.end = "!", strings.ToLower(stateName(n.GetState()))+", "+orDash(n.GetReason())
	default:
		if last.end == "" {
			last.end = "given up"
		}
	}
	return append(lives, last)
}

func drawLife(out io.Writer, l drawnLife) {
	life := l.ticket[strings.LastIndex(l.ticket, "~")+1:]
	whom := ""
	if l.bizKey != "" {
		whom = " for " + l.bizKey
	}
	from, span, to := orDash(stamp(l.from)), "--", ""
	if l.to != nil {
		to = " " + stamp(l.to)
		if l.from != nil {
			span = "-- " + roughly(l.to.AsTime().Sub(l.from.AsTime())) + " --"
		}
	}
	fmt.Fprintf(out, "life %-6s %s o%s%s%s %s%s\n", life, from, span, l.mark, to, l.end, whom)
}

func drawEvents(out io.Writer, events []*lacunav1.TimelineEntry) {
	for _, e := range events {
		line := fmt.Sprintf("            %s %s", stamp(e.GetTime()), e.GetWhat())
		if e.GetActor() != "" {
			line += " by " + e.GetActor()
		}
		if e.GetReason() != "" {
			line += ": " + e.GetReason()
		}
		if e.GetBizKey() != "" {
			line += " (for " + e.GetBizKey() + ")"
		}
		fmt.Fprintln(out, line)
	}
}

// roughly is a span to a thousandth of it, at the most.
func roughly(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
