package console

import (
	"context"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/api/lacuna/v1/lacunav1connect"
	"github.com/lacuna-seq/lacuna/internal/access"
)

// desk answers the calls of the desk and of the map from memory.
type desk struct {
	lacunav1connect.UnimplementedOperatorServiceHandler
	dead     int32 // letters that wait
	rates    []int32
	reasons  []string
	mapParts []*lacunav1.MapNumbersResponse
}

func (d *desk) RequeueDeadLetters(_ context.Context, r *connect.Request[lacunav1.RequeueDeadLettersRequest]) (*connect.Response[lacunav1.RequeueDeadLettersResponse], error) {
	if r.Msg.GetDryRun() {
		would := min(d.dead, 1_000)
		return connect.NewResponse(&lacunav1.RequeueDeadLettersResponse{Requeued: would, Left: int64(d.dead - would)}), nil
	}
	did := min(d.dead, r.Msg.GetLimit())
	d.dead -= did
	d.rates, d.reasons = append(d.rates, r.Msg.GetRate()), append(d.reasons, r.Msg.GetReason())
	return connect.NewResponse(&lacunav1.RequeueDeadLettersResponse{Requeued: did - 1, Skipped: []string{"SHOP~S-1~1"}, Left: int64(d.dead)}), nil
}

func (d *desk) MapNumbers(_ context.Context, r *connect.Request[lacunav1.MapNumbersRequest]) (*connect.Response[lacunav1.MapNumbersResponse], error) {
	part := d.mapParts[0]
	if r.Msg.GetPageToken() != "" {
		part = d.mapParts[1]
	}
	return connect.NewResponse(part), nil
}

// open is a console to which everybody is let in.
func open(t *testing.T, d *desk) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(lacunav1connect.NewOperatorServiceHandler(d))
	api := httptest.NewServer(mux)
	t.Cleanup(api.Close)
	c, err := New(Config{
		Sequence: lacunav1connect.NewSequenceServiceClient(api.Client(), api.URL), Operator: lacunav1connect.NewOperatorServiceClient(api.Client(), api.URL),
		As: func(ctx context.Context, _ *access.Holder) context.Context { return ctx }, Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	return server
}

func get(t *testing.T, address string) (status int, page string) {
	t.Helper()
	w, err := http.Get(address) //nolint:noctx // it is in memory
	require.NoError(t, err)
	return bodyOf(t, w)
}

func bodyOf(t *testing.T, w *http.Response) (int, string) {
	t.Helper()
	defer w.Body.Close() //nolint:errcheck // it was read
	page, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	return w.StatusCode, string(page)
}

var hiddenField = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)

// fieldsIn are the hidden fields of the last form of a page, as a browser without JavaScript sends them.
func fieldsIn(page string) url.Values {
	fields := url.Values{}
	for _, m := range hiddenField.FindAllStringSubmatch(page[max(0, strings.LastIndex(page, "<form")):], -1) {
		fields.Add(m[1], html.UnescapeString(m[2]))
	}
	return fields
}

func post(t *testing.T, address string, form url.Values) (int, string) {
	t.Helper()
	w, err := http.PostForm(address, form) //nolint:noctx // it is in memory
	require.NoError(t, err)
	return bodyOf(t, w)
}

// Without JavaScript the same is done by sending form after form.
func TestDeadLettersAreSentBackInParts(t *testing.T) {
	d := &desk{dead: 1_500}
	s := open(t, d)
	status, page := post(t, s.URL+"/dead/ask", url.Values{"act": {"requeue"}, "scope": {"all"}, "bizType": {"SHOP"}, "cause": {"POOL_AWAY"}, "ticket": {"SHOP~S-1~1"}})
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, "Would send back 1,500 numbers; at 200/s that takes 8 s")
	require.NotContains(t, page, "SHOP~S-1~1", "all of the filter, whatever is ticked")

	form := fieldsIn(page)
	form.Set("rate", "400")
	form.Set("reason", `the "pool" is back`)
	for _, want := range []string{"799 of 1,500 sent back", "1,498 of 1,500 sent back"} {
		status, page = post(t, s.URL+"/dead/act", form)
		require.Equal(t, http.StatusOK, status)
		require.Contains(t, page, want)
		form = fieldsIn(page)
	}
	require.Contains(t, page, "Done. 2 were no dead letters any more")
	require.NotContains(t, page, "Go on")
	require.Zero(t, d.dead)
	require.Equal(t, []int32{400, 400}, d.rates)
	require.Equal(t, []string{`the "pool" is back`, `the "pool" is back`}, d.reasons)
}

// mapOf is a map of two cells of 10, in two parts.
func mapOf() []*lacunav1.MapNumbersResponse {
	first := &lacunav1.MapNumbersResponse{First: 1, Cursor: 18, Last: 999, From: 1, To: 20, Width: 10, Periods: []string{""}, NextPageToken: "more"}
	first.Cells = []*lacunav1.MapCell{{First: 1, Last: 10, Confirmed: 9, Dead: 1}}
	second := &lacunav1.MapNumbersResponse{First: 1, Cursor: 18, Last: 999, From: 1, To: 20, Width: 10}
	second.Cells = []*lacunav1.MapCell{{First: 11, Last: 20, Confirmed: 8, Unallocated: 2}}
	return []*lacunav1.MapNumbersResponse{first, second}
}

func TestAMapThatIsTheSameIsNotSentAgain(t *testing.T) {
	d := &desk{mapParts: mapOf()}
	s := open(t, d)
	status, page := get(t, s.URL+"/map/SHOP")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, "1 to 10: 1 DEAD, 9 CONFIRMED")
	require.Contains(t, page, "11 to 20: 8 CONFIRMED, 2 UNALLOCATED", "both parts")
	again := regexp.MustCompile(`hx-get="([^"]+)"`).FindStringSubmatch(page)
	require.Len(t, again, 2)
	address := s.URL + html.UnescapeString(again[1])
	status, _ = get(t, address)
	require.Equal(t, http.StatusNoContent, status)
	d.mapParts[1].Cells[0].Unallocated, d.mapParts[1].Cells[0].Allocated = 1, 1
	status, page = get(t, address)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, "1 ALLOCATED")
	require.NotContains(t, page, again[1], "the next one is asked for by what this one shows")
	_, page = get(t, s.URL+"/map/SHOP?live=off")
	require.NotContains(t, page, "hx-get")
}
