package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/timestamppb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/api/lacuna/v1/lacunav1connect"
)

// fake is a starter of both services that answers what a test says, and keeps what it was asked last.
type fake struct {
	lacunav1connect.UnimplementedOperatorServiceHandler
	away error // of every call, where it is set

	number   *lacunav1.GetResponse
	results  []*lacunav1.SettleResult
	pages    []*lacunav1.ListNumbersResponse
	letters  []*lacunav1.DeadLetter
	counts   []*lacunav1.DeadLetterCount
	again    []*lacunav1.DeadLetter // that failed again
	requeues []*lacunav1.RequeueDeadLettersResponse
	off      *lacunav1.WriteOffDeadLettersResponse
	found    []*lacunav1.Conflict
	bizType  *lacunav1.BizType
	put      func(*lacunav1.BizType) error
	status   *lacunav1.GetStatusResponse

	asked []any
}

func (f *fake) ask(request any) error {
	f.asked = append(f.asked, request)
	return f.away
}

// last is the latest request of the type.
func last[T any](t *testing.T, f *fake) (request T) {
	t.Helper()
	for i := len(f.asked) - 1; i >= 0; i-- {
		if request, is := f.asked[i].(T); is {
			return request
		}
	}
	t.Fatalf("there was no %T", request)
	return request
}

func answer[R, A any](f *fake, r *connect.Request[R], a *A) (*connect.Response[A], error) {
	if err := f.ask(r.Msg); err != nil {
		return nil, err
	}
	return connect.NewResponse(a), nil
}

func (f *fake) ListNumbers(_ context.Context, r *connect.Request[lacunav1.ListNumbersRequest]) (*connect.Response[lacunav1.ListNumbersResponse], error) {
	page := &lacunav1.ListNumbersResponse{}
	if len(f.pages) > 0 {
		page, f.pages = f.pages[0], f.pages[1:]
	}
	return answer(f, r, page)
}

func (f *fake) ListDeadLetters(_ context.Context, r *connect.Request[lacunav1.ListDeadLettersRequest]) (*connect.Response[lacunav1.ListDeadLettersResponse], error) {
	if r.Msg.GetFilter().GetFailedAgain() {
		return answer(f, r, &lacunav1.ListDeadLettersResponse{DeadLetters: f.again})
	}
	return answer(f, r, &lacunav1.ListDeadLettersResponse{DeadLetters: f.letters, Counts: f.counts})
}

func (f *fake) RequeueDeadLetters(_ context.Context, r *connect.Request[lacunav1.RequeueDeadLettersRequest]) (*connect.Response[lacunav1.RequeueDeadLettersResponse], error) {
	if len(f.requeues) == 0 {
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("the ledger is away"))
	}
	first := f.requeues[0]
	f.requeues = f.requeues[1:]
	return answer(f, r, first)
}

func (f *fake) WriteOffDeadLetters(_ context.Context, r *connect.Request[lacunav1.WriteOffDeadLettersRequest]) (*connect.Response[lacunav1.WriteOffDeadLettersResponse], error) {
	return answer(f, r, f.off)
}

func (f *fake) ListConflicts(_ context.Context, r *connect.Request[lacunav1.ListConflictsRequest]) (*connect.Response[lacunav1.ListConflictsResponse], error) {
	return answer(f, r, &lacunav1.ListConflictsResponse{Conflicts: f.found})
}

func (f *fake) ListBizTypes(_ context.Context, r *connect.Request[lacunav1.ListBizTypesRequest]) (*connect.Response[lacunav1.ListBizTypesResponse], error) {
	return answer(f, r, &lacunav1.ListBizTypesResponse{BizTypes: []*lacunav1.BizType{f.bizType}})
}

func (f *fake) GetBizType(_ context.Context, r *connect.Request[lacunav1.GetBizTypeRequest]) (*connect.Response[lacunav1.GetBizTypeResponse], error) {
	return answer(f, r, &lacunav1.GetBizTypeResponse{BizType: f.bizType})
}

func (f *fake) PutBizType(_ context.Context, r *connect.Request[lacunav1.PutBizTypeRequest]) (*connect.Response[lacunav1.PutBizTypeResponse], error) {
	if f.put != nil {
		if err := f.put(r.Msg.GetBizType()); err != nil {
			return nil, err
		}
	}
	revision := r.Msg.GetBizType().GetRevision() + 1
	return answer(f, r, &lacunav1.PutBizTypeResponse{BizType: &lacunav1.BizType{Name: r.Msg.GetBizType().GetName(), Revision: &revision}})
}

func (f *fake) GetStatus(_ context.Context, r *connect.Request[lacunav1.GetStatusRequest]) (*connect.Response[lacunav1.GetStatusResponse], error) {
	return answer(f, r, f.status)
}

// fakeSequence is the callers' service of a fake.
type fakeSequence struct {
	lacunav1connect.UnimplementedSequenceServiceHandler
	*fake
}

func (f fakeSequence) Next(_ context.Context, r *connect.Request[lacunav1.NextRequest]) (*connect.Response[lacunav1.NextResponse], error) {
	return answer(f.fake, r, &lacunav1.NextResponse{Numbers: []*lacunav1.IssuedNumber{{Ticket: "ORDER~A-000001~1", SeqNo: "A-000001", Life: 1, ConfirmBy: at("10:15:00")}}})
}

func (f fakeSequence) Settle(_ context.Context, r *connect.Request[lacunav1.SettleRequest]) (*connect.Response[lacunav1.SettleResponse], error) {
	results := f.results[:len(r.Msg.GetCommands())]
	return answer(f.fake, r, &lacunav1.SettleResponse{Results: results})
}

func (f fakeSequence) Get(_ context.Context, r *connect.Request[lacunav1.GetRequest]) (*connect.Response[lacunav1.GetResponse], error) {
	return answer(f.fake, r, f.number)
}

// lacuna runs the command line against the fake, with nobody at the terminal.
func (f *fake) lacuna(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, _, err := f.lacunaAt(t, "", false, args...)
	return out, err
}

// against runs the command line against an operators' API.
func against(t *testing.T, operators lacunav1connect.OperatorServiceHandler, args ...string) (string, error) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(lacunav1connect.NewOperatorServiceHandler(operators))
	server := httptest.NewServer(mux)
	defer server.Close()
	t.Setenv("LACUNA_API", server.URL)
	var out bytes.Buffer
	err := run(t.Context(), args, &out)
	return out.String(), err
}

// lacunaAt runs it for somebody who types.
func (f *fake) lacunaAt(t *testing.T, typed string, person bool, args ...string) (out, questions string, err error) {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(lacunav1connect.NewOperatorServiceHandler(f))
	mux.Handle(lacunav1connect.NewSequenceServiceHandler(fakeSequence{fake: f}))
	server := httptest.NewServer(mux)
	defer server.Close()
	t.Setenv("LACUNA_API", server.URL)
	for _, name := range []string{"LACUNA_MYSQL_DSN", "LACUNA_REDIS_URL", "TEMPORAL_ADDRESS", "LACUNA_OPS"} {
		t.Setenv(name, "")
	}
	var written, asked bytes.Buffer
	err = runAt(t.Context(), args, &written, &terminal{in: strings.NewReader(typed), out: &asked, person: person})
	return written.String(), asked.String(), err
}

// at is a time of one day.
func at(clock string) *timestamppb.Timestamp {
	t, err := time.Parse(time.RFC3339, "2026-12-01T"+clock+"Z")
	if err != nil {
		panic(err)
	}
	return timestamppb.New(t)
}
