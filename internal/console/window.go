package console

import (
	"net/http"
	"strconv"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

// windowDays is how many days back the picture looks where nobody says otherwise.
const windowDays = 7

// windowView is what the safety window of a biz type could be, and why.
type windowView struct {
	BizType string
	Days    int32
	Advice  *lacunav1.AdviseWindowResponse
	Rows    []delayRow
	// Each picture is drawn for a narrow and for a wide screen: its letters keep their size.
	Late, Confirms []delayChart
	Choices        []windowChoice
	Remarks        []string
}

type delayRow struct {
	Name string
	*lacunav1.DelaySummary
}

type windowChoice struct {
	*lacunav1.WindowChoice

	Present, Advised bool
}

func (c *Console) windowList(r *http.Request) (view, error) {
	types, err := c.Operator.ListBizTypes(r.Context(), connect.NewRequest(&lacunav1.ListBizTypesRequest{}))
	if err != nil {
		return view{}, err
	}
	return view{template: "windows", title: "Safety window", content: types.Msg.GetBizTypes()}, nil
}

// window draws how late confirms came, against the window that is and the one that is advised.
func (c *Console) window(r *http.Request) (view, error) {
	days := int32(windowDays)
	if text := r.URL.Query().Get("days"); text != "" {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			n = -1 // the API says what it may be
		}
		days = int32(n)
	}
	v := windowView{BizType: r.PathValue("bizType"), Days: days}
	answer, err := c.Operator.AdviseWindow(r.Context(), connect.NewRequest(&lacunav1.AdviseWindowRequest{BizType: v.BizType, Days: days}))
	if err != nil {
		return view{}, err
	}
	a := answer.Msg
	v.Advice = a
	v.Rows = []delayRow{{"Confirms", a.GetConfirms()}, {"Late confirms", a.GetLateConfirms()}, {"Abandonments", a.GetAbandonments()}}
	advised := a.GetNoneAfter()
	lines := []chartLine{{"present window", "present", a.GetSafetyWindow().AsDuration()}}
	if advised != nil {
		lines = append(lines, chartLine{"advised", "advised", advised.AsDuration()})
	}
	timeout := []chartLine{{"confirm timeout", "present", a.GetConfirmTimeout().AsDuration()}}
	for _, size := range chartSizes {
		v.Late = append(v.Late, drawDelays(size, a.GetLateDelays(), lines))
		v.Confirms = append(v.Confirms, drawDelays(size, a.GetConfirmDelays(), timeout))
	}
	for _, choice := range a.GetChoices() {
		is := func(d *durationpb.Duration) bool {
			return d != nil && choice.GetWindow().AsDuration() == d.AsDuration()
		}
		v.Choices = append(v.Choices, windowChoice{choice, is(a.GetSafetyWindow()), is(advised)})
	}
	for _, remark := range a.GetRemarks() {
		v.Remarks = append(v.Remarks, sentence(remark))
	}
	return view{template: "window", title: "Safety window of " + v.BizType, content: v}, nil
}

// roughly is a duration of a message in words; a dash for none.
func roughly(d *durationpb.Duration) string {
	if d == nil {
		return "—"
	}
	return spanWords(d.AsDuration())
}

// spanWords is a duration in one unit, or two.
func spanWords(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return "1 ms or less"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < 10*time.Second && d%time.Second != 0:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	}
	return durationWords(d)
}
