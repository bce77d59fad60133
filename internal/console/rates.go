package console

import (
	"fmt"
	"strings"
	"time"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

// The drawing of rates, in units of its own.
const (
	ratesWidth  = 300.0
	ratesHeight = 60.0
	ratesMargin = 2.0 // so that a line on the edge is not cut
)

// ratesChart is what happened minute by minute, as three lines.
type ratesChart struct {
	Lines   []ratesLine
	Minutes []ratesMinute
	Most    int64 // in one minute, of anything; 0 where nothing happened
	// Words are the chart for those who do not see it.
	Words string
}

// ratesLine is one of them.
type ratesLine struct {
	Name   string
	Class  string // how it is drawn: its colour, and its dashes
	Points string
	Last   int64 // in the last minute that is over
	Sum    int64 // in all
}

type ratesMinute struct {
	Time                         time.Time
	Issued, Confirmed, Abandoned int64
}

func drawRates(minutes []*lacunav1.ActivityMinute) ratesChart {
	c := ratesChart{Lines: []ratesLine{{Name: "Handed out", Class: "issued"}, {Name: "Confirmed", Class: "confirmed"}, {Name: "Given up", Class: "abandoned"}}}
	for _, m := range minutes {
		c.Minutes = append(c.Minutes, ratesMinute{m.GetTime().AsTime(), m.GetIssued(), m.GetConfirmed(), m.GetAbandoned()})
		c.Most = max(c.Most, m.GetIssued(), m.GetConfirmed(), m.GetAbandoned())
	}
	for i := range c.Lines {
		points := make([]string, len(c.Minutes))
		for j, m := range c.Minutes {
			n := [...]int64{m.Issued, m.Confirmed, m.Abandoned}[i]
			c.Lines[i].Sum += n
			if j == len(c.Minutes)-2 {
				c.Lines[i].Last = n
			}
			points[j] = fmt.Sprintf("%.1f,%.1f", ratesX(j, len(c.Minutes)), ratesY(n, c.Most))
		}
		c.Lines[i].Points = strings.Join(points, " ")
	}
	c.Words = fmt.Sprintf("Minute by minute over %d minutes: %s handed out, %s confirmed, %s given up; at most %s in a minute.",
		len(c.Minutes), countWords(c.Lines[0].Sum), countWords(c.Lines[1].Sum), countWords(c.Lines[2].Sum), countWords(c.Most))
	return c
}

func ratesX(place, count int) float64 {
	if count < 2 {
		return ratesMargin
	}
	return ratesMargin + float64(place)*(ratesWidth-2*ratesMargin)/float64(count-1)
}

func ratesY(n, most int64) float64 {
	return ratesHeight - ratesMargin - float64(n)*(ratesHeight-2*ratesMargin)/float64(max(most, 1))
}
