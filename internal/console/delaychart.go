package console

import (
	"fmt"
	"math"
	"time"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

// chartSize is the size of a picture, in pixels of the page.
type chartSize struct {
	Name          string // the class of its SVG
	Width, Height float64
}

var chartSizes = []chartSize{{"small", 320, 210}, {"large", 1100, 260}}

// Room around the bars.
const (
	chartLeft   = 46.0
	chartRight  = 14.0
	chartTop    = 46.0 // the names of the lines stand there
	chartBottom = 26.0
	// barsPerDoubling is how fine the bars are: as fine as the buckets, so that none stands on both sides of a window.
	barsPerDoubling = 8
	// leastTickRoom keeps the words of an axis apart.
	leastTickRoom = 52.0
)

// chartLine is a duration that the bars are held against.
type chartLine struct {
	Name, Class string
	At          time.Duration
}

// delayChart is a histogram of delays over axes of powers: a confirm that came a day late is as visible as a million
// that came in a second.
type delayChart struct {
	chartSize

	Bars           []chartBar
	XTicks, YTicks []chartTick
	Lines          []drawnLine
	Bottom, Right  float64
}

type chartBar struct{ X, Y, Width, Height float64 }

type chartTick struct {
	At   float64
	Name string
}

type drawnLine struct {
	chartLine

	X, TextX, TextY float64
	Anchor          string
}

// drawDelays draws the delays and the lines on a time axis that has them all.
func drawDelays(size chartSize, delays []*lacunav1.DelayBucket, lines []chartLine) delayChart {
	c := delayChart{chartSize: size, Bottom: size.Height - chartBottom, Right: size.Width - chartRight}
	bars, most := gather(delays)
	low, high := math.Inf(1), math.Inf(-1)
	for at := range bars {
		low, high = min(low, float64(at)/barsPerDoubling), max(high, float64(at+1)/barsPerDoubling)
	}
	for _, l := range lines {
		low, high = min(low, doublings(l.At)-1), max(high, doublings(l.At)+1)
	}
	x := func(d float64) float64 { return chartLeft + (d-low)/(high-low)*(c.Right-chartLeft) }
	// A bar of one is visible, and each tenfold is a step more.
	steps := math.Ceil(math.Log10(max(float64(most), 10)))
	y := func(n float64) float64 {
		return c.Bottom - (math.Log10(n)+0.5)/(steps+0.5)*(c.Bottom-chartTop)
	}
	for at, n := range bars {
		left, right := x(float64(at)/barsPerDoubling), x(float64(at+1)/barsPerDoubling)
		gap := 0.0
		if right-left > 3 {
			gap = 1
		}
		c.Bars = append(c.Bars, chartBar{X: left, Y: y(float64(n)), Width: right - left - gap, Height: c.Bottom - y(float64(n))})
	}
	for n := 0.0; n <= steps; n++ {
		c.YTicks = append(c.YTicks, chartTick{y(math.Pow(10, n)), shortWords(int64(math.Pow(10, n)))})
	}
	c.addTicks(x)
	c.addLines(lines, x)
	return c
}

// gather adds up the delays by the bars that they are in, each of a part of a doubling from 1 ms on.
func gather(delays []*lacunav1.DelayBucket) (bars map[int]int64, most int64) {
	bars = map[int]int64{}
	for _, b := range delays {
		// A bucket's bound is the end of it: what is just as long belongs to the bar before.
		at := int(math.Ceil(doublings(b.GetUpTo().AsDuration())*barsPerDoubling-0.01)) - 1
		bars[at] += b.GetCount()
		most = max(most, bars[at])
	}
	return bars, most
}

// doublings of a millisecond.
func doublings(d time.Duration) float64 {
	return math.Log2(max(float64(d), float64(time.Millisecond)) / float64(time.Millisecond))
}

// axisTimes are what the time axis may name.
var axisTimes = []struct {
	at   time.Duration
	name string
}{
	{time.Millisecond, "1 ms"}, {10 * time.Millisecond, "10 ms"}, {100 * time.Millisecond, "100 ms"}, {time.Second, "1 s"}, {10 * time.Second, "10 s"},
	{time.Minute, "1 min"}, {10 * time.Minute, "10 min"}, {time.Hour, "1 h"}, {10 * time.Hour, "10 h"}, {24 * time.Hour, "1 d"}, {240 * time.Hour, "10 d"},
	{720 * time.Hour, "30 d"},
}

func (c *delayChart) addTicks(x func(float64) float64) {
	last := math.Inf(-1)
	for _, t := range axisTimes {
		if at := x(doublings(t.at)); at >= chartLeft && at <= c.Right && at-last >= leastTickRoom {
			c.XTicks = append(c.XTicks, chartTick{at, t.name})
			last = at
		}
	}
}

func (c *delayChart) addLines(lines []chartLine, x func(float64) float64) {
	for i, l := range lines {
		at := x(doublings(l.At))
		drawn := drawnLine{chartLine: l, X: at, TextX: at + 5, TextY: 14 + 16*float64(i), Anchor: "start"}
		if at > c.Right-150 && at > c.Width/2 {
			drawn.TextX, drawn.Anchor = at-5, "end"
		}
		drawn.Name = fmt.Sprintf("%s %s", l.Name, spanWords(l.At))
		c.Lines = append(c.Lines, drawn)
	}
}
