package console

import (
	"net/http"
	"net/url"
	"slices"
	"time"

	"connectrpc.com/connect"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

// What is worth a second look.
const (
	patrolLate  = 30 * time.Second // six rounds
	overdueLate = 30 * time.Second
	nearlyFull  = 80.0 // per cent, where warnings begin
)

// overviewPage is all biz types at one time.
type overviewPage struct {
	Time       time.Time
	PatrolAge  time.Duration
	PatrolLate bool
	Live       bool // the page asks again by itself
	Cards      []overviewCard
}

// overviewCard is one biz type.
type overviewCard struct {
	Name    string
	Path    string
	Chart   ratesChart
	States  []stateShare
	Counted time.Time // when the states were; zero where they never were
	Sum     int64     // of the states

	Pool        *int64 // nil while Redis is away
	DeadLetters int64
	Conflicts   int64
	// Dead and Conflict are the addresses of the pages that have them; empty where there are none.
	Dead, Conflict string
	Overdue        time.Duration
	OverdueLate    bool

	Period string
	Full   float64 // per cent of the format; below 0 where nothing was allocated
	Nearly bool    // it is nearly full
	Cursor int64
	Max    int64
}

// stateShare is how many numbers stand in a state, and where that is drawn in a bar of 100.
type stateShare struct {
	State    string
	Count    int64
	X, Width float64
}

func (c *Console) overview(r *http.Request) (view, error) {
	answer, err := c.Operator.ListActivity(r.Context(), connect.NewRequest(&lacunav1.ListActivityRequest{}))
	if err != nil {
		return view{}, err
	}
	m := answer.Msg
	p := overviewPage{Time: m.GetTime().AsTime(), PatrolAge: m.GetPatrolAge().AsDuration(), Live: r.URL.Query().Get("live") != "off"}
	p.PatrolLate = p.PatrolAge > patrolLate
	for _, a := range m.GetActivities() {
		p.Cards = append(p.Cards, cardOf(a))
	}
	return view{template: "overview", title: "Overview", content: p}, nil
}

func cardOf(a *lacunav1.Activity) overviewCard {
	card := overviewCard{
		Name: a.GetBizType(), Path: typePath(a.GetBizType()), Chart: drawRates(a.GetMinutes()), Pool: a.PoolDepth,
		DeadLetters: a.GetDeadLetters(), Conflicts: a.GetConflicts(), Overdue: a.GetOldestOverdue().AsDuration(),
		Period: a.GetPeriod(), Cursor: a.GetCursor(), Max: a.GetFormatMax(), Full: -1,
	}
	card.OverdueLate = card.Overdue > overdueLate
	card.Dead, card.Conflict = pageOf("/dead", card.Name), pageOf("/conflicts", card.Name)
	if a.Cursor != nil && card.Max > 0 {
		card.Full = 100 * float64(card.Cursor) / float64(card.Max)
		card.Nearly = card.Full >= nearlyFull
	}
	if a.GetCountedTime() != nil {
		card.Counted = a.GetCountedTime().AsTime()
	}
	for _, s := range a.GetStates() {
		card.Sum += s.GetCount()
	}
	x := 0.0
	for _, s := range a.GetStates() {
		width := 100 * float64(s.GetCount()) / float64(card.Sum)
		card.States = append(card.States, stateShare{stateName(s.GetState()), s.GetCount(), x, width})
		x += width
	}
	return card
}

// pageOf is the address of what a page has of a biz type; empty where the console has no such page.
func pageOf(path, bizType string) string {
	if !slices.ContainsFunc(nav, func(e navEntry) bool { return e.Path == path }) {
		return ""
	}
	return path + "?" + url.Values{"bizType": {bizType}}.Encode()
}
