package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/internal/access"
)

// have gives the fake a number in its first life.
func (f *fake) have(bizType, seqNo string, state lacunav1.State, bizKey, reason string) *lacunav1.Number {
	n := &lacunav1.Number{
		BizType: bizType, SeqNo: seqNo, Life: 1, State: &state, Ticket: bizType + "~" + seqNo + "~1", BizKey: bizKey, Reason: reason,
		IssuedTime: timestamppb.Now(), Deadline: timestamppb.Now(),
	}
	f.numbers[bizType+"~"+seqNo] = &lacunav1.GetResponse{Number: n, Timeline: []*lacunav1.TimelineEntry{
		{Time: timestamppb.Now(), Ticket: n.GetTicket(), What: "ABANDONED", Actor: "mia", Reason: reason, BizKey: bizKey},
	}}
	f.keys[bizKey] = append(f.keys[bizKey], n)
	return n
}

func (f *fake) numbering(name, format string) {
	f.types = append(f.types, &lacunav1.BizType{Name: name, Format: &format})
}

func TestWhatOthersWroteIsShownAsText(t *testing.T) {
	f := newFake()
	f.numbering("ORDER", "A-{seq:1}")
	s := f.open(t)
	s.signIn(t, "mia")
	const script, image = `<script>alert(1)</script>`, `"><img src=x onerror=alert(2)>`
	f.have("ORDER", "A-1", lacunav1.State_STATE_ALLOCATED, script, image)
	f.have("ORDER", "A-2", lacunav1.State_STATE_ALLOCATED, script, image)
	for _, path := range []string{
		"/numbers/ORDER/A-1", "/numbers/ORDER/A-1/confirm", "/search?q=" + url.QueryEscape(script), "/search?q=" + url.QueryEscape(image),
		"/numbers/ORDER/" + url.PathEscape(image), "/sign-in?next=" + url.QueryEscape(image), "/types/" + url.PathEscape(script), "/numbers/ORDER/A-1?did=" + url.QueryEscape(script),
	} {
		page := s.get(t, path).page
		require.NotContains(t, page, "<script>alert", path)
		require.NotContains(t, page, "<img", path)
	}
	require.Contains(t, s.get(t, "/numbers/ORDER/A-1").page, "&lt;script&gt;alert(1)&lt;/script&gt;")
}

func TestANumberIsSettledByHandWithAReason(t *testing.T) {
	f := newFake()
	f.have("ORDER", "A-1", lacunav1.State_STATE_ALLOCATED, "cart-1", "")
	s := f.open(t)
	s.signIn(t, "mia")
	a := s.send(t, "/numbers/ORDER/A-1/confirm", url.Values{"life": {"1"}, "bizKey": {"cart-9"}, "reason": {"  "}})
	require.Equal(t, http.StatusBadRequest, a.status)
	require.Contains(t, a.page, "Say why")
	require.Contains(t, a.page, `value="cart-9"`, "nothing is to be written twice")
	require.Empty(t, f.settled)

	a = s.send(t, "/numbers/ORDER/A-1/confirm", url.Values{"life": {"1"}, "bizKey": {"cart-1"}, "reason": {"printed by hand"}})
	require.Equal(t, "/numbers/ORDER/A-1?did=CONFIRMED", a.header.Get("Location"))
	require.Contains(t, s.get(t, "/numbers/ORDER/A-1?did=CONFIRMED").page, "It is confirmed.")
	a = s.send(t, "/numbers/ORDER/A-1/abandon", url.Values{"life": {"1"}, "reason": {"a test"}})
	require.Equal(t, "/numbers/ORDER/A-1?did=ABANDONED", a.header.Get("Location"))
	require.Len(t, f.settled, 2)
	require.Equal(t, "ORDER~A-1~1", f.settled[0].(*lacunav1.ConfirmRequest).GetTicket(), "the life that was seen")
	require.Equal(t, "printed by hand", f.settled[0].(*lacunav1.ConfirmRequest).GetReason())
	require.Equal(t, "a test", f.settled[1].(*lacunav1.AbandonRequest).GetReason())
}

func TestARefusalIsToldWhereItWasAskedFor(t *testing.T) {
	f := newFake()
	f.have("ORDER", "A-1", lacunav1.State_STATE_ALLOCATED, "cart-1", "")
	s := f.open(t)
	s.signIn(t, "mia")
	f.refusal = connect.NewError(connect.CodeFailedPrecondition, fmt.Errorf("ORDER~A-1~1 is confirmed: it cannot be abandoned"))
	a := s.send(t, "/numbers/ORDER/A-1/abandon", url.Values{"life": {"1"}, "reason": {"x"}})
	require.Equal(t, http.StatusConflict, a.status)
	require.Contains(t, a.page, "ORDER~A-1~1 is confirmed: it cannot be abandoned.")
	require.Contains(t, a.page, `value="x"`)
}

// What a role may not do it is not offered.
func TestActsAreOfferedToThoseWhoMay(t *testing.T) {
	f := newFake()
	f.token("eve", access.RoleAuditor)
	f.token("ops", access.RoleOperator)
	f.token("shop", access.RoleCaller, "ORDER")
	f.numbering("ORDER", "A-{seq:1}")
	f.have("ORDER", "A-1", lacunav1.State_STATE_ALLOCATED, "", "")
	for token, may := range map[string]struct{ settles, edits bool }{"eve": {}, "shop": {}, "ops": {settles: true}, "mia": {true, true}} {
		s := f.open(t)
		s.signIn(t, token)
		page := s.get(t, "/numbers/ORDER/A-1").page
		require.Equal(t, may.settles, contains(page, "Confirm by hand"), token)
		require.Equal(t, may.settles, s.get(t, "/numbers/ORDER/A-1/confirm").status == http.StatusOK, token)
		require.Equal(t, may.edits, contains(s.get(t, "/types/ORDER").page, "/types/ORDER/edit"), token)
		want := http.StatusForbidden
		if may.edits {
			want = http.StatusOK
		}
		require.Equal(t, want, s.get(t, "/types/ORDER/edit").status, token)
		require.Equal(t, want, s.get(t, "/types/new").status, token)
	}
}

func TestSearch(t *testing.T) {
	f := newFake()
	f.token("shop", access.RoleCaller, "ORDER")
	f.numbering("CLAIM", "A-{seq:6}")
	f.numbering("ORDER", "A-{seq:6}")
	f.have("ORDER", "A-000001", lacunav1.State_STATE_CONFIRMED, "cart-1", "")
	f.have("ORDER", "A-000002", lacunav1.State_STATE_CONFIRMED, "many", "")
	f.have("CLAIM", "A-000002", lacunav1.State_STATE_CONFIRMED, "many", "")
	s := f.open(t)
	s.signIn(t, "mia")
	to := func(query string) string {
		return s.get(t, "/search?q="+url.QueryEscape(query)).header.Get("Location")
	}
	require.Equal(t, "/numbers/ORDER/A-000001#life-3", to(" ORDER~A-000001~3 "))
	require.Equal(t, "/numbers/ORDER/A-000001", to("A-000001"))
	require.Equal(t, "/numbers/ORDER/A-000001", to("cart-1"))
	for _, query := range []string{"A-000002", "many"} {
		page := s.get(t, "/search?q="+query).page
		require.Contains(t, page, "/numbers/ORDER/A-000002", query)
		require.Contains(t, page, "/numbers/CLAIM/A-000002", query)
	}
	require.Contains(t, s.get(t, "/search?q=nonsense").page, "No number matches")
	require.Equal(t, http.StatusBadRequest, s.get(t, "/search?q=a%01b").status)

	t.Run("has pages", func(t *testing.T) {
		for i := range 250 {
			f.have([]string{"CLAIM", "ORDER"}[i%2], fmt.Sprintf("A-%06d", 1000+i), lacunav1.State_STATE_CONFIRMED, "bulk", "")
		}
		seen := map[string]bool{}
		for path, pages := "/search?q=bulk", 1; path != ""; pages++ {
			page := s.get(t, path).page
			for i := range 250 {
				if to := fmt.Sprintf("/numbers/%s/A-%06d", []string{"CLAIM", "ORDER"}[i%2], 1000+i); contains(page, `"`+to+`"`) {
					require.False(t, seen[to], to)
					seen[to] = true
				}
			}
			path = nextOf(page)
			require.LessOrEqual(t, pages, 3)
		}
		require.Len(t, seen, 250)
	})
	t.Run("ends where a token does", func(t *testing.T) {
		shop := f.open(t)
		shop.signIn(t, "shop")
		f.asked = nil
		require.Equal(t, "/numbers/ORDER/A-000002", shop.get(t, "/search?q=A-000002").header.Get("Location"), "of the biz types that it names")
		page := shop.get(t, "/search?q=many").page
		require.NotContains(t, page, "CLAIM")
		require.Contains(t, page, "role auditor")
	})
}
