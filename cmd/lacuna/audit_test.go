package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/api/lacuna/v1/lacunav1connect"
)

// audited answers Audit with its pages, and keeps what it was asked.
type audited struct {
	lacunav1connect.UnimplementedOperatorServiceHandler
	pages []*lacunav1.AuditResponse
	asked []*lacunav1.AuditRequest
}

func (a *audited) Audit(_ context.Context, r *connect.Request[lacunav1.AuditRequest]) (*connect.Response[lacunav1.AuditResponse], error) {
	a.asked = append(a.asked, r.Msg)
	if len(a.pages) == 0 {
		return nil, connect.NewError(connect.CodeNotFound, errors.New("biz type NONE: not found"))
	}
	page := a.pages[0]
	a.pages = a.pages[1:]
	return connect.NewResponse(page), nil
}

func cleanAudit() *audited {
	at := timestamppb.New(time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC))
	gap := func(seqNo string) *lacunav1.Gap {
		return &lacunav1.Gap{BizType: "ORDER", Value: 5, SeqNo: seqNo, Ticket: "ORDER~" + seqNo + "~1", State: lacunav1.State_STATE_ABANDONED, BizKey: "cart-1", Reason: "abandoned, by its caller", Since: at}
	}
	return &audited{pages: []*lacunav1.AuditResponse{
		{
			Time: at, Clean: proto.Bool(true), NextGapsPageToken: "ORDER~~5", Gaps: []*lacunav1.Gap{gap("A-000005")},
			Reports: []*lacunav1.AuditReport{
				{BizType: "INVOICE", Period: "202605", Cursor: proto.Int64(10), From: 1, To: 10, Values: 10, InUse: 7, Retired: 3, Gaps: 3, RetiredReasons: []*lacunav1.ReasonCount{{Reason: "lost", Count: 3}}},
				{BizType: "ORDER", Cursor: proto.Int64(100), From: 1, To: 100, Values: 100, InUse: 80, WithCaller: 5, InWindow: 2, InPool: 3, Held: 10, Gaps: 2},
			},
		},
		{Time: at, Gaps: []*lacunav1.Gap{gap("A-000006")}},
	}}
}

func runAudit(t *testing.T, a *audited, args ...string) (string, error) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(lacunav1connect.NewOperatorServiceHandler(a))
	server := httptest.NewServer(mux)
	defer server.Close()
	var out bytes.Buffer
	err := run(t.Context(), append([]string{"audit", "--api", server.URL}, args...), &out)
	return out.String(), err
}

// fields are the words of each line.
func fields(text string) [][]string {
	var lines [][]string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Fields(line))
	}
	return lines
}

func TestAuditPrintsATableThatAddsUp(t *testing.T) {
	a := cleanAudit()
	out, err := runAudit(t, a)
	require.NoError(t, err)
	lines := fields(out)
	require.Equal(t, []string{"as", "of", "2026-05-06T07:08:09Z"}, lines[0])
	require.Equal(t, strings.Fields("biz type from cursor in use with caller in window in pool held dead retired skipped unaccounted unknown = values open gaps"), lines[2])
	require.Equal(t, strings.Fields("INVOICE 202605 1 10 7 0 0 0 0 0 3 0 0 0 10 3"), lines[3])
	require.Equal(t, strings.Fields("ORDER 1 100 80 5 2 3 10 0 0 0 0 0 100 2"), lines[4])
	require.Equal(t, strings.Fields("total 87 5 2 3 10 0 3 0 0 0 110 5"), lines[5])
	require.Contains(t, out, "retired of INVOICE 202605: 3: lost\n")
	require.Contains(t, out, "every value is accounted for\n")
	require.NotContains(t, out, "A-000005")
}

func TestAuditListsEveryPageOfGaps(t *testing.T) {
	t.Run("as text", func(t *testing.T) {
		a := cleanAudit()
		out, err := runAudit(t, a, "ORDER", "--gaps", "--period", "2026", "--from", "0", "--to", "7")
		require.NoError(t, err)
		require.Contains(t, out, "A-000005")
		require.Contains(t, out, "A-000006")
		require.Contains(t, out, "2 open gaps\n")
		want := &lacunav1.AuditRequest{BizType: "ORDER", Period: "2026", Lo: proto.Int64(0), Hi: proto.Int64(7), GapsPageSize: 10_000}
		require.Len(t, a.asked, 2)
		require.True(t, proto.Equal(want, a.asked[0]), "%v", a.asked[0])
		want.GapsPageToken = "ORDER~~5"
		require.True(t, proto.Equal(want, a.asked[1]), "%v", a.asked[1])
	})
	t.Run("as CSV", func(t *testing.T) {
		out, err := runAudit(t, cleanAudit(), "--gaps", "--output", "csv")
		require.NoError(t, err)
		require.Equal(t, "biz_type,period,value,seq_no,ticket,state,since,biz_key,reason\n"+
			"ORDER,,5,A-000005,ORDER~A-000005~1,ABANDONED,2026-05-06T07:08:09Z,cart-1,\"abandoned, by its caller\"\n"+
			"ORDER,,5,A-000006,ORDER~A-000006~1,ABANDONED,2026-05-06T07:08:09Z,cart-1,\"abandoned, by its caller\"\n", out)
	})
	t.Run("as JSON, an object a page", func(t *testing.T) {
		out, err := runAudit(t, cleanAudit(), "--gaps", "--output", "json")
		require.NoError(t, err)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		require.Len(t, lines, 2)
		var seqNos []string
		for _, line := range lines {
			var page struct{ Gaps []struct{ SeqNo string } }
			require.NoError(t, json.Unmarshal([]byte(line), &page))
			seqNos = append(seqNos, page.Gaps[0].SeqNo)
		}
		require.Equal(t, []string{"A-000005", "A-000006"}, seqNos)
	})
}

func TestAuditWritesTheClassesAsData(t *testing.T) {
	t.Run("as CSV, a line a class", func(t *testing.T) {
		out, err := runAudit(t, cleanAudit(), "--output", "csv")
		require.NoError(t, err)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		require.Len(t, lines, 1+2*len(auditClasses))
		require.Equal(t, "biz_type,period,from,to,class,count", lines[0])
		require.Equal(t, "INVOICE,202605,1,10,IN_USE,7", lines[1])
		require.Contains(t, lines, "ORDER,,1,100,HELD,10")
	})
	t.Run("as JSON", func(t *testing.T) {
		out, err := runAudit(t, cleanAudit(), "--output", "json")
		require.NoError(t, err)
		var answer struct {
			Clean   bool
			Reports []struct{ Unaccounted, Values string }
			Gaps    []any
		}
		require.NoError(t, json.Unmarshal([]byte(out), &answer))
		require.True(t, answer.Clean)
		require.Equal(t, "0", answer.Reports[1].Unaccounted)
		require.Empty(t, answer.Gaps)
	})
}

func TestAuditEndsWithItsFindings(t *testing.T) {
	for _, output := range []string{"text", "json", "csv"} {
		t.Run(output, func(t *testing.T) {
			a := cleanAudit()
			a.pages[0].Clean = proto.Bool(false)
			a.pages[0].Findings = []*lacunav1.AuditFinding{{Kind: lacunav1.FindingKind_FINDING_KIND_UNACCOUNTED, BizType: "ORDER", Lo: 7, Hi: 9, Words: "nobody knows"}}
			a.pages[0].FindingsLeft = 4
			out, err := runAudit(t, a, "--output", output)
			require.ErrorIs(t, err, errFindings)
			require.Equal(t, exitFindings, exitCode(err))
			if output == "text" {
				require.Contains(t, out, "5 findings:\n  ORDER 7 to 9: UNACCOUNTED: nobody knows\n  and 4 more\n")
				require.NotContains(t, out, "every value is accounted for")
			}
		})
	}
}

func TestAuditFailsWhereItCannotTell(t *testing.T) {
	out, err := runAudit(t, &audited{}, "NONE")
	require.ErrorContains(t, err, "biz type NONE: not found")
	require.Equal(t, exitFailed, exitCode(err))
	require.Empty(t, out)
	_, err = runAudit(t, cleanAudit(), "--output", "xml")
	require.ErrorContains(t, err, "xml")
}
