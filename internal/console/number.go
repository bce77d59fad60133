package console

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"connectrpc.com/connect"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/sequence"
)

// numberPage is what the page of a number shows.
type numberPage struct {
	*lacunav1.Number

	Path  string
	State string
	// Means says what the state is, and until when.
	Means string
	Lives []life // the present one first
	// Did is what the act before this page came to; empty where there was none.
	Did string
	// Confirms and Abandons say which acts are offered.
	Confirms, Abandons bool
}

// life is one of a number's lives, with what happened in it.
type life struct {
	Ticket          string
	Number          string // of the life
	Present         bool
	BatchID, BizKey string
	RunURL          string
	Steps           []step
}

// step is one thing that happened.
type step struct {
	Time   time.Time
	Name   string
	Color  string        // the state whose colour it has
	After  time.Duration // the step before it
	Actor  string
	Reason string
	BizKey string
}

// stepNames say what happened, by the API's words; and the state whose colour that has.
var stepNames = map[string]struct{ name, color string }{
	"ISSUED":      {"Handed out", "ALLOCATED"},
	"ABANDONED":   {"Given up", "ABANDONED"},
	"CONFIRMED":   {"Confirmed", "CONFIRMED"},
	"CONFLICT":    {"Conflict: another holder was refused", "DEAD"},
	"RECOVERED":   {"Recovered from a starter that died", "REPLAYED"},
	"RESCUED":     {"Rescued by a late confirm", "CONFIRMED"},
	"FOUND":       {"Found in business use by the probe", "CONFIRMED"},
	"RETIRED":     {"Retired: a declared gap", "RETIRED"},
	"DEAD":        {"Became a dead letter", "DEAD"},
	"REQUEUED":    {"Sent back on its way to the pool", "ABANDONED"},
	"WRITTEN_OFF": {"Written off: a declared gap", "RETIRED"},
}

// didWords are what an act came to.
var didWords = map[string]string{
	"CONFIRMED":         "It is confirmed.",
	"ALREADY_CONFIRMED": "It had been confirmed before.",
	"RESCUED":           "It had been given up, and is saved: it is confirmed, and not issued again.",
	"ABANDONED":         "It is abandoned. Its safety window runs; until it is issued again a confirm still saves it.",
	"ALREADY_ABANDONED": "It had been given up before.",
	"ACCEPTED":          "The ledger is away. The command is held by Temporal and will be carried out.",
}

const (
	statePrefix   = "STATE_"
	outcomePrefix = "OUTCOME_"
)

func stateName(s lacunav1.State) string { return strings.TrimPrefix(s.String(), statePrefix) }

// number shows one number with all its lives.
func (c *Console) number(r *http.Request) (view, error) {
	p, err := c.readNumber(r)
	if err != nil {
		return view{}, err
	}
	p.Did = didWords[r.URL.Query().Get("did")]
	return view{template: "number", title: p.GetSeqNo(), content: p}, nil
}

// readNumber reads the number that the address names.
func (c *Console) readNumber(r *http.Request) (*numberPage, error) {
	answer, err := c.Sequence.Get(r.Context(), connect.NewRequest(&lacunav1.GetRequest{BizType: r.PathValue("bizType"), SeqNo: r.PathValue("seqNo")}))
	if err != nil {
		return nil, err
	}
	n := answer.Msg.GetNumber()
	p := &numberPage{Number: n, Path: pathOf(n), State: stateName(n.GetState()), Means: meaning(n), Lives: livesOf(answer.Msg)}
	if visitorOf(r.Context()).Settles() && n.GetLife() > 0 {
		switch n.GetState() {
		case lacunav1.State_STATE_ALLOCATED:
			p.Confirms, p.Abandons = true, true
		case lacunav1.State_STATE_ABANDONED, lacunav1.State_STATE_REPLAYABLE, lacunav1.State_STATE_DEAD, lacunav1.State_STATE_RETIRED:
			p.Confirms = true
		default: // held in memory: the claim is decided first; confirmed: that is final
		}
	}
	return p, nil
}

// pathOf is the address of a number's page.
func pathOf(n *lacunav1.Number) string {
	return "/numbers/" + url.PathEscape(n.GetBizType()) + "/" + url.PathEscape(n.GetSeqNo())
}

// meaning says what a state is, and until when.
func meaning(n *lacunav1.Number) string {
	until := timeWords(n.GetDeadline().AsTime())
	switch n.GetState() {
	case lacunav1.State_STATE_RESERVED:
		return "Allocated, in a starter's memory, and never handed out."
	case lacunav1.State_STATE_ALLOCATED:
		return "With its caller, who must confirm by " + until + "."
	case lacunav1.State_STATE_CONFIRMED:
		return "In business use, for good."
	case lacunav1.State_STATE_ABANDONED:
		return "Given up. Its safety window ends " + until + "; then it is free to be issued again."
	case lacunav1.State_STATE_REPLAYABLE:
		return "In the pool, free to be issued again. The pool is looked into next " + until + "."
	case lacunav1.State_STATE_REPLAYED:
		return "Claimed from the pool, in a starter's memory, and not handed out again yet."
	case lacunav1.State_STATE_DEAD:
		return "It could not be brought back, and waits for a person."
	case lacunav1.State_STATE_RETIRED:
		return "Never issued again: a declared gap."
	}
	return ""
}

// livesOf sorts what happened into lives, the present one first.
func livesOf(answer *lacunav1.GetResponse) []life {
	var lives []life
	if n := answer.GetNumber(); n.GetLife() > 0 {
		lives = append(lives, life{Ticket: n.GetTicket(), Present: true, BatchID: n.GetBatchId(), BizKey: n.GetBizKey(), RunURL: answer.GetRunUrl()})
	}
	past := answer.GetPastLives()
	for i := len(past) - 1; i >= 0; i-- {
		p := past[i]
		lives = append(lives, life{Ticket: p.GetTicket(), BatchID: p.GetBatchId(), BizKey: p.GetBizKey(), RunURL: p.GetRunUrl()})
	}
	for i := range lives {
		l := &lives[i]
		l.Number = l.Ticket[strings.LastIndex(l.Ticket, "~")+1:]
		for _, e := range answer.GetTimeline() {
			if e.GetTicket() == l.Ticket {
				l.Steps = append(l.Steps, stepOf(e, l.Steps))
			}
		}
	}
	return lives
}

func stepOf(e *lacunav1.TimelineEntry, before []step) step {
	s := step{Time: e.GetTime().AsTime(), Name: e.GetWhat(), Color: "RESERVED", Actor: e.GetActor(), Reason: e.GetReason(), BizKey: e.GetBizKey()}
	if known, ok := stepNames[e.GetWhat()]; ok {
		s.Name, s.Color = known.name, known.color
	}
	if e.GetWhat() == "ISSUED" || e.GetWhat() == "CONFLICT" { // it goes without saying
		s.Actor = ""
	}
	if s.Reason == sequence.ReasonAbandoned {
		s.Reason = ""
	}
	if len(before) > 0 {
		s.After = s.Time.Sub(before[len(before)-1].Time)
	}
	return s
}
