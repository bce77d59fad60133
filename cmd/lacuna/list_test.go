package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

func TestListReadsPages(t *testing.T) {
	n := func(seqNo string) *lacunav1.Number {
		return &lacunav1.Number{SeqNo: seqNo, State: lacunav1.State_STATE_ABANDONED.Enum(), Life: 2, BizKey: "cart-1", IssuedTime: at("10:00:00"), Reason: "not confirmed in time"}
	}
	pages := func() []*lacunav1.ListNumbersResponse {
		return []*lacunav1.ListNumbersResponse{
			{Numbers: []*lacunav1.Number{n("A-000001")}, NextPageToken: "p1"},
			{NextPageToken: "p2"}, // a page may be empty and not the last
			{Numbers: []*lacunav1.Number{n("A-000002")}, NextPageToken: "p3"},
		}
	}
	f := &fake{pages: pages()}
	out, err := f.lacuna(t, "list", "ORDER", "--state", "abandoned", "--from", "A-000001", "--to", "A-000009", "--since", "2026-12-01", "--until", "2026-12-01T12:00:00Z", "--limit", "2")
	require.NoError(t, err)
	lines := fields(out)
	require.Len(t, lines, 4)
	require.Equal(t, []string{"A-000001", "ABANDONED", "2", "cart-1", "2026-12-01T10:00:00.000Z", "-", "-", "-", "not", "confirmed", "in", "time"}, lines[1])
	require.Contains(t, out, "there may be more: --limit 20")
	asked := last[*lacunav1.ListNumbersRequest](t, f)
	require.True(t, proto.Equal(&lacunav1.ListNumbersRequest{
		BizType: "ORDER", State: lacunav1.State_STATE_ABANDONED.Enum(), FromSeqNo: "A-000001", ToSeqNo: "A-000009", Since: at("00:00:00"), Until: at("12:00:00"), PageSize: 1, PageToken: "p2",
	}, asked), "%v", asked)

	f.pages = pages()[:1]
	out, err = f.lacuna(t, "list", "ORDER", "--key", "cart-1", "--output", "json", "--limit", "0")
	require.NoError(t, err)
	require.Equal(t, `{"seqNo":"A-000001","life":2,"state":"STATE_ABANDONED","bizKey":"cart-1","issuedTime":"2026-12-01T10:00:00Z","reason":"not confirmed in time"}`+"\n", out)

	_, err = f.lacuna(t, "list", "ORDER", "--state", "gone")
	require.ErrorContains(t, err, `"gone" is none of ABANDONED, ALLOCATED`)
	_, err = f.lacuna(t, "list", "ORDER", "--since", "yesterday")
	require.ErrorContains(t, err, "2h for two hours ago")
}

func TestConflicts(t *testing.T) {
	f := &fake{found: []*lacunav1.Conflict{{
		Ticket: "ORDER~A-000001~1", BizKey: "cart-1", CurrentTicket: "ORDER~A-000001~2", CurrentBizKey: "cart-2",
		CurrentState: lacunav1.State_STATE_CONFIRMED, CurrentIssuedTime: at("10:05:00"), DetectedTime: at("10:06:00"),
	}}}
	out, err := f.lacuna(t, "conflicts", "--biz-type", "ORDER", "--since", "2026-12-01", "--output", "csv")
	require.NoError(t, err)
	require.Equal(t, "detected,refused_ticket,refused_biz_key,current_ticket,current_biz_key,current_state,current_issued\n"+
		"2026-12-01T10:06:00.000Z,ORDER~A-000001~1,cart-1,ORDER~A-000001~2,cart-2,CONFIRMED,2026-12-01T10:05:00.000Z\n", out)
	require.Equal(t, at("00:00:00").AsTime(), last[*lacunav1.ListConflictsRequest](t, f).GetSince().AsTime())
}
