package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

// conflictsPage is how many conflicts stand on a page.
const conflictsPage = 50

// spans are how far back one may look.
var spans = []struct{ Value, Name string }{{"1h", "The last hour"}, {"24h", "The last day"}, {"168h", "The last week"}, {"", "All"}}

// conflictsView is where two holders met.
type conflictsView struct {
	BizType, Since string
	Spans          []spanOption
	Conflicts      []conflictView
	First, Next    string
}

type spanOption struct {
	Value, Name string
	Selected    bool
}

type conflictView struct {
	*lacunav1.Conflict

	Number string // the number, without its life
	To     string // the address of its page
	State  string
	// SameLife: two biz keys of one life, and not a holder whose life was over.
	SameLife bool
}

func (c *Console) conflicts(r *http.Request) (view, error) {
	query := r.URL.Query()
	v := conflictsView{BizType: query.Get("bizType"), Since: query.Get("since")}
	request := &lacunav1.ListConflictsRequest{BizType: v.BizType, PageSize: conflictsPage, PageToken: query.Get("page")}
	if v.Since != "" {
		back, err := time.ParseDuration(v.Since)
		if err != nil || back < 0 {
			return view{}, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("since: %q is not a duration like 24h", v.Since))
		}
		request.Since = timestamppb.New(time.Now().Add(-back))
	}
	for _, s := range spans {
		v.Spans = append(v.Spans, spanOption{s.Value, s.Name, s.Value == v.Since})
	}
	answer, err := c.Operator.ListConflicts(r.Context(), connect.NewRequest(request))
	if err != nil {
		return view{}, err
	}
	for _, found := range answer.Msg.GetConflicts() {
		v.Conflicts = append(v.Conflicts, conflictOf(found))
	}
	page := func(token string) string {
		changed := url.Values{"bizType": {v.BizType}, "since": {v.Since}}
		if token != "" {
			changed.Set("page", token)
		}
		return "/conflicts?" + changed.Encode()
	}
	if request.GetPageToken() != "" {
		v.First = page("")
	}
	if next := answer.Msg.GetNextPageToken(); next != "" {
		v.Next = page(next)
	}
	return view{template: "conflicts", title: "Conflicts", content: v}, nil
}

func conflictOf(found *lacunav1.Conflict) conflictView {
	v := conflictView{Conflict: found, State: stateName(found.GetCurrentState()), SameLife: found.GetTicket() == found.GetCurrentTicket()}
	if parts := strings.Split(found.GetCurrentTicket(), "~"); len(parts) == 3 {
		v.Number = parts[1]
		v.To = numberPath(parts[0], parts[1])
	}
	return v
}
