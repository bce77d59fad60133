package console

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/internal/gapmap"
)

// How a map is drawn, and how long a page waits for it.
const (
	mapCells    = 200 // at most: twenty in a row of a wide screen
	mapGroup    = 10  // cells that stand together, of which the first has its value beside it
	mapBlock    = 100 // single numbers around the one that was asked for
	mapPatience = 2 * time.Second
	mapLonger   = 20 * time.Second // where somebody asked to wait
	mapPoll     = 3 * time.Second  // at least; ten times what the map took, so that it is never a burden
)

// mapView is the page of a map.
type mapView struct {
	BizType string
	Map     *lacunav1.MapNumbersResponse
	Groups  []mapCellGroup
	Legend  []legendEntry
	Shown   []gapmap.Class // those that occur
	Periods []link

	Out, Left, Right, Whole string // addresses; empty where there is nothing to go to
	// Uncounted is where the map is not whole, the first value that was not counted; Wait is the address that counts on.
	Uncounted int64
	Wait      string

	Live   string // the address that is asked again; empty where it is not
	Every  string
	Toggle string // the address of the same, live or not
}

type link struct {
	Name, To string
	Current  bool
}

type legendEntry struct {
	gapmap.Class
	Count int64
}

// mapList leads to the maps of all biz types.
func (c *Console) mapList(r *http.Request) (view, error) {
	types, err := c.Operator.ListBizTypes(r.Context(), connect.NewRequest(&lacunav1.ListBizTypesRequest{}))
	if err != nil {
		return view{}, err
	}
	return view{template: "maps", title: "Gap map", content: types.Msg.GetBizTypes()}, nil
}

// mapPage draws a range of a biz type. Everything that it shows is in its address.
func (c *Console) mapPage(r *http.Request) (view, error) {
	bizType, query := r.PathValue("bizType"), r.URL.Query()
	if at := query.Get("at"); at != "" {
		return c.jump(r, bizType, at)
	}
	request := &lacunav1.MapNumbersRequest{BizType: bizType, Period: query.Get("period"), Cells: mapCells}
	var err error
	if request.From, err = valueOf(query, "from"); err != nil {
		return view{}, err
	}
	if request.To, err = valueOf(query, "to"); err != nil {
		return view{}, err
	}
	patience := mapPatience
	if query.Has("wait") {
		patience = mapLonger
	}
	begun := time.Now()
	m, err := gapmap.Read(r.Context(), c.Operator, request, func() bool { return time.Since(begun) < patience })
	if err != nil {
		return view{}, err
	}
	seen := mapHash(m)
	if query.Get("seen") == seen {
		return view{status: http.StatusNoContent}, nil
	}
	v := drawMap(bizType, m)
	v.navigate(request.From != nil || request.To != nil)
	query.Del("seen")
	v.refresh(r.URL.Path, query, seen, max(mapPoll, 10*time.Since(begun)))
	return view{template: "map", title: "Gap map of " + bizType, content: v}, nil
}

// jump leads to a number among its neighbours. What is asked for is a seq no, or a value of the period.
func (c *Console) jump(r *http.Request, bizType, at string) (view, error) {
	period := r.URL.Query().Get("period")
	found, err := c.Sequence.Get(r.Context(), connect.NewRequest(&lacunav1.GetRequest{BizType: bizType, SeqNo: at}))
	var value int64
	switch number, parseErr := strconv.ParseInt(at, 10, 64); {
	case err == nil:
		value, period = found.Msg.GetNumber().GetValue(), found.Msg.GetNumber().GetPeriod()
	case parseErr == nil && number >= 0:
		value = number
	default:
		return view{}, err
	}
	one := &lacunav1.MapNumbersRequest{BizType: bizType, Period: period, From: &value, To: &value, Cells: 1}
	m, err := c.Operator.MapNumbers(r.Context(), connect.NewRequest(one))
	if err != nil {
		return view{}, err
	}
	return view{to: around(bizType, m.Msg, value)}, nil
}

// around is the address of a value among those that share its hundred.
func around(bizType string, m *lacunav1.MapNumbersResponse, value int64) string {
	from := value - (value-m.GetFirst())%mapBlock
	return mapPath(bizType, m.GetPeriod(), from, min(from+mapBlock-1, m.GetLast())) + "#" + cellID(value)
}

func cellID(first int64) string { return "c" + strconv.FormatInt(first, 10) }

// mapPath is the address of a range.
func mapPath(bizType, period string, from, to int64) string {
	query := url.Values{"from": {strconv.FormatInt(from, 10)}, "to": {strconv.FormatInt(to, 10)}}
	if period != "" {
		query.Set("period", period)
	}
	return wholePath(bizType, "") + "?" + query.Encode()
}

// wholePath is the address of all that was allocated in a period.
func wholePath(bizType, period string) string {
	path := "/map/" + url.PathEscape(bizType)
	if period != "" {
		path += "?" + url.Values{"period": {period}}.Encode()
	}
	return path
}

// valueOf reads a value of the address; nil where it is not there.
func valueOf(query url.Values, field string) (*int64, error) {
	text := query.Get(field)
	if text == "" {
		return nil, nil
	}
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, connect.NewError(connect.CodeInvalidArgument, fmt.Errorf("%s: %q is not a value: it has digits only", field, text))
	}
	return &value, nil
}

// mapHash differs where anything of a map but its time does.
func mapHash(m *lacunav1.MapNumbersResponse) string {
	timeless := proto.CloneOf(m)
	timeless.Time = nil
	content, err := proto.MarshalOptions{Deterministic: true}.Marshal(timeless)
	if err != nil {
		return "" // it is drawn once more than it must be
	}
	hash := sha256.Sum256(content)
	return hex.EncodeToString(hash[:8])
}

// navigate finds where one can go from here.
func (v *mapView) navigate(partial bool) {
	m := v.Map
	for _, p := range m.GetPeriods() {
		if p != "" {
			v.Periods = append(v.Periods, link{Name: p, To: wholePath(v.BizType, p), Current: p == m.GetPeriod()})
		}
	}
	if !partial {
		return
	}
	v.Whole = wholePath(v.BizType, m.GetPeriod())
	length := m.GetTo() - m.GetFrom() + 1
	to := func(from int64) string {
		return mapPath(v.BizType, m.GetPeriod(), max(from, m.GetFirst()), min(from+length-1, m.GetLast()))
	}
	if m.GetFrom() > m.GetFirst() {
		v.Left = to(max(m.GetFrom()-length, m.GetFirst()))
	}
	if m.GetTo() < m.GetCursor() {
		v.Right = to(m.GetTo() + 1)
	}
	if v.Out = v.Whole; length < (m.GetCursor()-m.GetFirst()+1)/10 {
		wide := 10 * length
		from := m.GetFrom() - (m.GetFrom()-m.GetFirst())%wide
		v.Out = mapPath(v.BizType, m.GetPeriod(), from, min(from+wide-1, m.GetLast()))
	}
}

// refresh says how the page is kept live, and how it is not.
func (v *mapView) refresh(path string, query url.Values, seen string, every time.Duration) {
	address := func(set, value string) string {
		changed := url.Values{}
		for name, values := range query {
			changed[name] = values
		}
		if value == "" {
			changed.Del(set)
		} else {
			changed.Set(set, value)
		}
		if len(changed) == 0 {
			return path
		}
		return path + "?" + changed.Encode()
	}
	v.Wait = address("wait", "1")
	if query.Get("live") == "off" {
		v.Toggle = address("live", "")
		return
	}
	v.Toggle = address("live", "off")
	v.Live = address("seen", seen)
	v.Every = fmt.Sprintf("%ds", int(every.Seconds()))
}
