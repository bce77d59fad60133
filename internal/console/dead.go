package console

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/internal/access"
)

const (
	deadPath    = "/dead"
	causePrefix = "DEAD_CAUSE_"
	// requeueRate is how many numbers a second are sent back where nobody says otherwise.
	requeueRate = 200
)

// deadFilter says which dead letters a page is about, as its address and its forms do.
type deadFilter struct {
	BizType string
	Cause   string // e.g. POOL_AWAY; empty for all
	Again   bool
	Tickets []string // chosen one by one
}

func deadFilterOf(values url.Values) deadFilter {
	return deadFilter{BizType: values.Get("bizType"), Cause: values.Get("cause"), Again: values.Get("again") != "", Tickets: values["ticket"]}
}

// message is the filter in the API's words. all is true where it names nothing.
func (f deadFilter) message() (m *lacunav1.DeadLetterFilter, all bool, err error) {
	m = &lacunav1.DeadLetterFilter{BizType: f.BizType, FailedAgain: f.Again, Tickets: f.Tickets}
	if f.Cause != "" {
		code, known := lacunav1.DeadCause_value[causePrefix+f.Cause]
		if !known {
			return nil, false, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("cause: %q is none of a dead letter", f.Cause))
		}
		m.Cause = lacunav1.DeadCause(code)
	}
	return m, f.BizType == "" && f.Cause == "" && !f.Again && len(f.Tickets) == 0, nil
}

// Address is the desk under the filter.
func (f deadFilter) Address() string { return f.address("") }

// address is a page of it.
func (f deadFilter) address(page string) string {
	query := url.Values{}
	for name, value := range map[string]string{"bizType": f.BizType, "cause": f.Cause, "page": page} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if f.Again {
		query.Set("again", "1")
	}
	if len(query) == 0 {
		return deadPath
	}
	return deadPath + "?" + query.Encode()
}

// causeName is a cause without what the API puts before it.
func causeName(c lacunav1.DeadCause) string { return strings.TrimPrefix(c.String(), causePrefix) }

// deskView is the desk.
type deskView struct {
	Filter  deadFilter
	Causes  []string
	Counts  []deadCount
	Total   int64 // under the filter
	Letters []deadLetter
	Rate    int
	First   string // the address of the first page; empty on it
	Next    string // the address of the next page; empty on the last
	May     bool   // act
}

type deadCount struct {
	BizType, Cause string
	Count          int64
	To             string
}

type deadLetter struct {
	*lacunav1.DeadLetter

	Cause  string
	Number string // the address of its page
}

// desk lists the numbers that wait for a person.
func (c *Console) desk(r *http.Request) (view, error) {
	filter := deadFilterOf(r.URL.Query())
	filter.Tickets = nil
	m, _, err := filter.message()
	if err != nil {
		return view{}, err
	}
	page := r.URL.Query().Get("page")
	answer, err := c.Operator.ListDeadLetters(r.Context(), connect.NewRequest(&lacunav1.ListDeadLettersRequest{Filter: m, PageToken: page}))
	if err != nil {
		return view{}, err
	}
	v := deskView{Filter: filter, Causes: causes(), Rate: requeueRate, May: visitorOf(r.Context()).May(access.RightOperate)}
	for _, n := range answer.Msg.GetCounts() {
		cause := causeName(n.GetCause())
		v.Counts = append(v.Counts, deadCount{n.GetBizType(), cause, n.GetCount(), deadFilter{BizType: n.GetBizType(), Cause: cause, Again: filter.Again}.address("")})
		v.Total += n.GetCount()
	}
	for _, d := range answer.Msg.GetDeadLetters() {
		v.Letters = append(v.Letters, deadLetter{d, causeName(d.GetCause()), numberPath(d.GetBizType(), d.GetSeqNo())})
	}
	if page != "" {
		v.First = filter.address("")
	}
	if next := answer.Msg.GetNextPageToken(); next != "" {
		v.Next = filter.address(next)
	}
	return view{template: "dead", title: "Dead letters", content: v}, nil
}

// causes are all that there are, by their names.
func causes() (names []string) {
	for code := int32(1); lacunav1.DeadCause_name[code] != ""; code++ {
		names = append(names, causeName(lacunav1.DeadCause(code)))
	}
	return names
}

// actView is what is about to be done to dead letters, or is being done.
type actView struct {
	Act     string // requeue or write-off
	Filter  deadFilter
	Count   int64 // under the filter, when it was asked for
	Rate    int
	Takes   time.Duration
	Reason  string
	Fault   string // of the form, in words
	Done    int64
	Skipped int64
	Left    int64 // of Count
	Back    string
}

// WriteOff reports whether it is a write-off.
func (v actView) WriteOff() bool { return v.Act == writeOff }

// The acts of the desk.
const (
	requeue  = "requeue"
	writeOff = "write-off"
)

var errNothingChosen = errors.New("nothing is chosen: tick the numbers that are meant, or choose all of them")

// askAct says what an act would do, and asks. It only counts.
func (c *Console) askAct(r *http.Request) (view, error) {
	v, err := c.actOf(r)
	if err != nil {
		return view{}, err
	}
	if r.PostForm.Get("scope") == "all" {
		v.Filter.Tickets = nil
	} else if len(v.Filter.Tickets) == 0 {
		return view{}, connect.NewError(connect.CodeInvalidArgument, errNothingChosen)
	}
	return c.confirmAct(r, v)
}

func (c *Console) confirmAct(r *http.Request, v actView) (view, error) {
	m, all, err := v.Filter.message()
	if err != nil {
		return view{}, err
	}
	answer, err := c.Operator.RequeueDeadLetters(r.Context(), connect.NewRequest(&lacunav1.RequeueDeadLettersRequest{Filter: m, All: all, DryRun: true}))
	if err != nil {
		return view{}, err
	}
	v.Count = int64(answer.Msg.GetRequeued()) + answer.Msg.GetLeft()
	v.Takes = time.Duration(v.Count) * time.Second / time.Duration(v.Rate)
	title := "Send numbers back"
	if v.WriteOff() {
		title = "Write numbers off"
	}
	status := http.StatusOK
	if v.Fault != "" {
		status = http.StatusBadRequest
	}
	return view{template: "deadask", title: title, status: status, content: v}, nil
}

// doAct does a part of an act, and leads to the next part until all is done: each part takes a second or two, so that
// one sees how far it is, and may leave.
func (c *Console) doAct(r *http.Request) (view, error) {
	v, err := c.actOf(r)
	if err != nil {
		return view{}, err
	}
	if v.WriteOff() && strings.TrimSpace(v.Reason) == "" {
		v.Fault = "Say why: the reason stays with each number."
		return c.confirmAct(r, v)
	}
	m, all, err := v.Filter.message()
	if err != nil {
		return view{}, err
	}
	limit := int32(min(v.Left, int64(actPart(v)))) //nolint:gosec // a part is small
	if limit > 0 {
		done, skipped, err := c.part(r, v, m, all, limit)
		if err != nil {
			return view{}, err
		}
		v.Done, v.Skipped, v.Left = v.Done+done, v.Skipped+skipped, v.Left-done-skipped
		if done+skipped < int64(limit) { // there are no more
			v.Left = 0
		}
	}
	title := "Numbers are sent back"
	if v.WriteOff() {
		title = "Numbers are written off"
	}
	return view{template: "deadact", title: title, content: v}, nil
}

// part does the act to so many.
func (c *Console) part(r *http.Request, v actView, m *lacunav1.DeadLetterFilter, all bool, limit int32) (done, skipped int64, err error) {
	if v.WriteOff() {
		answer, err := c.Operator.WriteOffDeadLetters(r.Context(), connect.NewRequest(&lacunav1.WriteOffDeadLettersRequest{Filter: m, All: all, Limit: limit, Reason: v.Reason}))
		if err != nil {
			return 0, 0, err
		}
		return int64(answer.Msg.GetWrittenOff()), int64(len(answer.Msg.GetSkipped())), nil
	}
	answer, err := c.Operator.RequeueDeadLetters(r.Context(), connect.NewRequest(&lacunav1.RequeueDeadLettersRequest{
		Filter: m, All: all, Limit: limit, Rate: int32(v.Rate), Reason: v.Reason, //nolint:gosec // actOf bounds it
	}))
	if err != nil {
		return 0, 0, err
	}
	return int64(answer.Msg.GetRequeued()), int64(len(answer.Msg.GetSkipped())), nil
}

// actPart is how many numbers one answer waits for.
func actPart(v actView) int {
	const most, seconds = 1_000, 2
	if v.WriteOff() {
		return most
	}
	return min(seconds*v.Rate, most*seconds)
}

// actOf reads the form of an act.
func (c *Console) actOf(r *http.Request) (actView, error) {
	form := r.PostForm
	v := actView{Act: form.Get("act"), Filter: deadFilterOf(form), Rate: requeueRate, Reason: form.Get("reason")}
	v.Back = v.Filter.address("")
	if v.Act != requeue && v.Act != writeOff {
		return v, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("act: %q is none of the desk", v.Act))
	}
	if text := form.Get("rate"); text != "" {
		rate, err := strconv.Atoi(text)
		if err != nil || rate < 1 || rate > 10_000 {
			return v, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("rate: %q is not from 1 to 10,000 a second", text))
		}
		v.Rate = rate
	}
	for _, field := range []struct {
		name string
		into *int64
	}{{"count", &v.Count}, {"done", &v.Done}, {"skipped", &v.Skipped}, {"left", &v.Left}} {
		text := form.Get(field.name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 0 {
			return v, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("%s: %q is not a count", field.name, text))
		}
		*field.into = n
	}
	return v, nil
}
