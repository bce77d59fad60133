package console_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

func contains(page, part string) bool { return strings.Contains(page, part) }

var nextLink = regexp.MustCompile(`rel="next" href="([^"]+)"`)

// nextOf is the address of the next page; empty on the last.
func nextOf(page string) string {
	if found := nextLink.FindStringSubmatch(page); found != nil {
		return strings.ReplaceAll(found[1], "&amp;", "&")
	}
	return ""
}

// order is a biz type with all rules set.
func order() *lacunav1.BizType {
	return &lacunav1.BizType{
		Name: "ORDER", Format: proto.String("A-{seq:6}"), TimeZone: proto.String("Europe/Berlin"), Source: lacunav1.Source_SOURCE_REDIS.Enum(), Start: proto.Int64(7),
		StepMin: proto.Int32(10), StepMax: proto.Int32(500), ConfirmTimeout: durationpb.New(90 * time.Second), SafetyWindow: durationpb.New(48 * time.Hour),
		MaxReplays: proto.Int32(3), Revision: proto.Int64(4), Reuse: lacunav1.Reuse_REUSE_NEVER.Enum(), PoolOrder: lacunav1.PoolOrder_POOL_ORDER_OLDEST.Enum(),
		DurableIssue: proto.Bool(true), ExtendLimit: durationpb.New(0), OnTimeout: lacunav1.OnTimeout_ON_TIMEOUT_DEAD_LETTER.Enum(),
		Probe:       &lacunav1.Probe{By: &lacunav1.Probe_Sql{Sql: &lacunav1.SQLProbe{Dsn: "shop", Query: "SELECT 1 FROM orders WHERE number = ?"}}, Timeout: durationpb.New(3 * time.Second)},
		RetryDelays: []*durationpb.Duration{durationpb.New(500 * time.Millisecond), durationpb.New(2 * time.Minute)}, DirectSignals: proto.Bool(true),
		Track: lacunav1.Track_TRACK_UNSETTLED.Enum(), TrackAfter: durationpb.New(1500 * time.Millisecond), ArchiveAfter: durationpb.New(720 * time.Hour),
	}
}

var formField = regexp.MustCompile(`(?s)<(?:input|textarea|select)[^>]* name="([a-zA-Z]+)"[^>]*>(?:([^<]*)</textarea>)?`)

// fieldsOf reads a form as a browser would send it.
func fieldsOf(t *testing.T, page string) url.Values {
	t.Helper()
	_, form, found := strings.Cut(page, `<form method="post" class="form typeform">`)
	require.True(t, found, "%s", page)
	values := url.Values{}
	for _, m := range formField.FindAllStringSubmatch(form, -1) {
		tag, name, value := m[0], m[1], m[2]
		if v := regexp.MustCompile(` value="([^"]*)"`).FindStringSubmatch(tag); v != nil {
			value = v[1]
		}
		if strings.Contains(tag, `type="checkbox"`) && !strings.Contains(tag, " checked") {
			continue
		}
		if strings.HasPrefix(tag, "<select") {
			_, options, _ := strings.Cut(form, tag)
			options, _, _ = strings.Cut(options, "</select>")
			value = regexp.MustCompile(`value="([^"]*)" selected`).FindStringSubmatch(options)[1]
		}
		values.Set(name, strings.ReplaceAll(value, "&#43;", "+"))
	}
	return values
}

func TestAFormSaysEveryRuleAndPutsOnlyWhatChanged(t *testing.T) {
	f := newFake()
	f.types = []*lacunav1.BizType{order()}
	s := f.open(t)
	s.signIn(t, "mia")
	form := fieldsOf(t, s.get(t, "/types/ORDER/edit").page)
	fields := order().ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if name := fields.Get(i).JSONName(); name != "name" {
			require.Contains(t, form, name, "a new rule needs its place in ruleGroups")
		}
	}
	a := s.send(t, "/types/ORDER/edit", form)
	require.Equal(t, "/types/ORDER", a.header.Get("Location"))
	require.Empty(t, f.puts, "nothing was changed")

	form.Set("safetyWindow", "2m30s")
	form.Set("retryDelays", "1s, 7d")
	form.Set("track", "NONE")
	form.Del("durableIssue")
	form.Set("probe", "https://shop.example/in-use")
	a = s.send(t, "/types/ORDER/edit", form)
	require.Equal(t, "/types/ORDER?saved", a.header.Get("Location"), "%s", a.page)
	require.Len(t, f.puts, 1)
	want := &lacunav1.BizType{
		Name: "ORDER", Revision: proto.Int64(4), SafetyWindow: durationpb.New(150 * time.Second), Track: lacunav1.Track_TRACK_NONE.Enum(), DurableIssue: proto.Bool(false),
		RetryDelays: []*durationpb.Duration{durationpb.New(time.Second), durationpb.New(7 * 24 * time.Hour)},
		Probe:       &lacunav1.Probe{By: &lacunav1.Probe_Http{Http: &lacunav1.HTTPProbe{Url: "https://shop.example/in-use"}}},
	}
	require.True(t, proto.Equal(want, f.puts[0]), "%v", f.puts[0])
}

func TestWhatIsWrongStandsBesideItsField(t *testing.T) {
	f := newFake()
	f.types = []*lacunav1.BizType{order()}
	s := f.open(t)
	s.signIn(t, "mia")
	form := fieldsOf(t, s.get(t, "/types/ORDER/edit").page)
	form.Set("confirmTimeout", "soon")
	form.Set("stepMin", "many")
	a := s.send(t, "/types/ORDER/edit", form)
	require.Equal(t, http.StatusBadRequest, a.status)
	require.Contains(t, a.page, "2 fields are not right")
	require.Contains(t, a.page, `<p class="wrong" id="confirmTimeout-wrong">Is not a time`)
	require.Contains(t, a.page, `value="soon"`)
	require.Empty(t, f.puts)

	form = fieldsOf(t, s.get(t, "/types/ORDER/edit").page)
	form.Set("stepMax", "99999")
	e := connect.NewError(connect.CodeInvalidArgument, errors.New("stepMax: 99999 is not from 10 to 10000"))
	detail, err := connect.NewErrorDetail(&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
		{Field: "stepMax", Description: "99999 is not from stepMin (10) to 10000"}, {Field: "other", Description: "is odd"},
	}})
	require.NoError(t, err)
	e.AddDetail(detail)
	f.refusal = e
	a = s.send(t, "/types/ORDER/edit", form)
	require.Equal(t, http.StatusBadRequest, a.status)
	require.Contains(t, a.page, `id="stepMax-wrong">99999 is not from stepMin (10) to 10000.`)
	require.Contains(t, a.page, "other: is odd", "what has no field is said above")
}

func TestBothValuesAreShownWhereSomebodyWasFaster(t *testing.T) {
	f := newFake()
	f.types = []*lacunav1.BizType{order()}
	s := f.open(t)
	s.signIn(t, "mia")
	form := fieldsOf(t, s.get(t, "/types/ORDER/edit").page)
	form.Set("maxReplays", "9")
	f.types[0].MaxReplays, f.types[0].Revision = proto.Int32(5), proto.Int64(5)
	a := s.send(t, "/types/ORDER/edit", form)
	require.Equal(t, http.StatusConflict, a.status)
	require.Contains(t, a.page, "Somebody changed it meanwhile.")
	require.Contains(t, a.page, "<b>Now:</b> 5")
	require.Contains(t, a.page, `name="maxReplays" value="9"`)
	require.Equal(t, 1, strings.Count(a.page, "<b>Now:</b>"), "only where they differ")
	require.Empty(t, f.puts)

	again := fieldsOf(t, a.page)
	require.Equal(t, "5", again.Get("revision"))
	a = s.send(t, "/types/ORDER/edit", again)
	require.Equal(t, http.StatusSeeOther, a.status)
	require.Equal(t, int32(9), f.puts[0].GetMaxReplays())
	require.Equal(t, int64(5), f.puts[0].GetRevision())

	f.refusal = connect.NewError(connect.CodeAborted, fmt.Errorf("the revision is 6"))
	a = s.send(t, "/types/ORDER/edit", again)
	require.Equal(t, http.StatusConflict, a.status, "in the very moment")
}

func TestANewBizTypeStartsWithTheDefaults(t *testing.T) {
	f := newFake()
	s := f.open(t)
	s.signIn(t, "mia")
	form := fieldsOf(t, s.get(t, "/types/new").page)
	require.Equal(t, "15m", form.Get("confirmTimeout"))
	require.Equal(t, "30s, 2m, 5m", form.Get("retryDelays"))
	require.Equal(t, "SEGMENT", form.Get("source"))
	require.Equal(t, "yes", form.Get("directSignals"))
	form.Set("name", " CLAIM ")
	form.Set("format", "C-{seq:6}")
	a := s.send(t, "/types/new", form)
	require.Equal(t, "/types/CLAIM?saved", a.header.Get("Location"), "%s", a.page)
	require.Equal(t, "CLAIM", f.puts[0].GetName())
	require.Nil(t, f.puts[0].Revision)
	require.Equal(t, 2*time.Minute, f.puts[0].GetSafetyWindow().AsDuration())

	f.refusal = connect.NewError(connect.CodeAborted, errors.New("the revision is 1"))
	a = s.send(t, "/types/new", form)
	require.Equal(t, http.StatusConflict, a.status)
	require.Contains(t, a.page, "There is one of that name already.")
}
