package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/metric/noop"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/api/lacuna/v1/lacunav1connect"
	"github.com/lacuna-seq/lacuna/internal/access"
	"github.com/lacuna-seq/lacuna/internal/wire"
	"github.com/lacuna-seq/lacuna/sequence"
)

// procedures are all that the protos declare, with an empty request of each.
func procedures(t testing.TB) map[string]any {
	t.Helper()
	all := map[string]any{}
	protoregistry.GlobalFiles.RangeFilesByPackage("lacuna.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				method := service.Methods().Get(j)
				request, err := protoregistry.GlobalTypes.FindMessageByName(method.Input().FullName())
				require.NoError(t, err)
				all["/"+string(service.FullName())+"/"+string(method.Name())] = request.New().Interface()
			}
		}
		return true
	})
	require.NotEmpty(t, all)
	return all
}

// denied is what a caller of the role is answered to an empty request.
func denied(role access.Role, bizTypes []string, procedure string, request any) bool {
	h := &access.Holder{Token: &access.Token{Name: "x", Role: role, BizTypes: bizTypes}}
	err := authorize(h, rules[procedure], request)
	var refusal *access.DeniedError
	return errors.As(err, &refusal)
}

func TestEveryProcedureHasARule(t *testing.T) {
	all := procedures(t)
	for procedure := range all {
		require.Contains(t, rules, procedure, "a new procedure needs a rule: until it has one it is denied to all")
	}
	for procedure := range rules {
		require.Contains(t, all, procedure, "a rule for what there is not")
	}
	require.True(t, denied(access.RoleAdmin, nil, "/lacuna.v1.OperatorService/New", dynamicpb.NewMessage(lacunav1.File_lacuna_v1_operator_proto.Messages().Get(0))))
}

// Who may call what, spelled out: a change of a rule shows here.
func TestRolesMayCallWhatTheTableSays(t *testing.T) {
	callers := []string{"Next", "Confirm", "Abandon", "Extend", "Settle", "Get", "GetBizType"}
	auditors := []string{"Get", "GetBizType", "ListBizTypes", "ListDeadLetters", "ListConflicts", "Audit", "AdviseWindow", "CheckPool", "ListNumbers", "GetStatus", "VerifySeals", "ListActivity", "MapNumbers", "CheckLedger"}
	operators := append([]string{"Confirm", "Abandon", "Extend", "Settle", "RequeueDeadLetters", "WriteOffDeadLetters", "RebuildPool"}, auditors...)
	for procedure, request := range procedures(t) {
		method := procedure[strings.LastIndex(procedure, "/")+1:]
		for role, may := range map[access.Role]bool{
			access.RoleCaller: slices.Contains(callers, method), access.RoleAuditor: slices.Contains(auditors, method),
			access.RoleOperator: slices.Contains(operators, method), access.RoleAdmin: true, 0: false,
		} {
			require.Equal(t, !may, denied(role, []string{access.AnyBizType}, procedure, request), "%s calls %s", role, method)
		}
	}
}

func TestACallerTouchesItsOwnBizTypesOnly(t *testing.T) {
	for _, tt := range []struct {
		procedure     string
		own, anothers any
	}{
		{lacunav1connect.SequenceServiceNextProcedure, &lacunav1.NextRequest{BizType: "ORDER"}, &lacunav1.NextRequest{BizType: "CLAIM"}},
		{lacunav1connect.SequenceServiceConfirmProcedure, &lacunav1.ConfirmRequest{Ticket: "ORDER~A-1~1"}, &lacunav1.ConfirmRequest{Ticket: "CLAIM~A-1~1"}},
		{lacunav1connect.SequenceServiceConfirmProcedure, &lacunav1.ConfirmRequest{BizType: "ORDER", SeqNo: "A-1"}, &lacunav1.ConfirmRequest{BizType: "CLAIM", SeqNo: "A-1"}},
		{lacunav1connect.SequenceServiceConfirmProcedure, &lacunav1.ConfirmRequest{Ticket: "ORDER"}, &lacunav1.ConfirmRequest{Ticket: "ORDER~A-1~1", BizType: "CLAIM"}},
		{lacunav1connect.SequenceServiceAbandonProcedure, &lacunav1.AbandonRequest{Ticket: "ORDER~A-1~1"}, &lacunav1.AbandonRequest{Ticket: "CLAIM~A-1~1"}},
		{lacunav1connect.SequenceServiceAbandonProcedure, &lacunav1.AbandonRequest{BizType: "ORDER"}, &lacunav1.AbandonRequest{BizType: "CLAIM", Ticket: "ORDER~A-1~1"}},
		{lacunav1connect.SequenceServiceExtendProcedure, &lacunav1.ExtendRequest{Ticket: "ORDER~A-1~1"}, &lacunav1.ExtendRequest{Ticket: "CLAIM~A-1~1"}},
		{lacunav1connect.SequenceServiceSettleProcedure,
			&lacunav1.SettleRequest{Commands: []*lacunav1.Command{{Ticket: "ORDER~A-1~1"}, {Ticket: "malformed"}, {Ticket: "ORDER~A-2~1"}}},
			&lacunav1.SettleRequest{Commands: []*lacunav1.Command{{Ticket: "ORDER~A-1~1"}, {Ticket: "malformed"}, {Ticket: "CLAIM~A-2~1"}}}},
		{lacunav1connect.SequenceServiceGetProcedure, &lacunav1.GetRequest{Ticket: "ORDER~A-1~1"}, &lacunav1.GetRequest{BizType: "CLAIM", SeqNo: "A-1"}},
		{lacunav1connect.OperatorServiceGetBizTypeProcedure, &lacunav1.GetBizTypeRequest{Name: "ORDER"}, &lacunav1.GetBizTypeRequest{Name: "CLAIM"}},
	} {
		require.False(t, denied(access.RoleCaller, []string{"INVOICE", "ORDER"}, tt.procedure, tt.own), "%v", tt.own)
		require.True(t, denied(access.RoleCaller, []string{"INVOICE", "ORDER"}, tt.procedure, tt.anothers), "%v", tt.anothers)
	}
	for procedure, of := range rules { // whatever else a caller may do is about biz types
		require.Equal(t, access.RoleCaller.Has(of.right), of.touches != nil, procedure)
	}
}

// desk serves both services behind a gate, and counts what comes through.
type desk struct {
	lacunav1connect.UnimplementedSequenceServiceHandler
	lacunav1connect.UnimplementedOperatorServiceHandler
	url    string
	log    *bytes.Buffer
	tokens []access.Token
	excess []access.Excess
	rings  *access.Keyring
	calls  int
	actor  string
}

func (d *desk) Tokens(context.Context) ([]access.Token, error) { return slices.Clone(d.tokens), nil }
func (d *desk) TouchTokens(context.Context, []int64) error     { return nil }
func (d *desk) TokensVersion(context.Context) (access.Version, error) {
	return access.Version{Count: int64(len(d.tokens))}, nil
}
func (d *desk) AddExcess(_ context.Context, e []access.Excess) error {
	d.excess = append(d.excess, e...)
	return nil
}

func (d *desk) Settle(ctx context.Context, r *connect.Request[lacunav1.SettleRequest]) (*connect.Response[lacunav1.SettleResponse], error) {
	d.calls, d.actor = d.calls+1, callerName(ctx)
	m := &lacunav1.SettleResponse{}
	for range r.Msg.GetCommands() {
		m.Results = append(m.Results, &lacunav1.SettleResult{Outcome: lacunav1.Outcome_OUTCOME_ABANDONED})
	}
	return connect.NewResponse(m), nil
}

func (d *desk) Next(ctx context.Context, _ *connect.Request[lacunav1.NextRequest]) (*connect.Response[lacunav1.NextResponse], error) {
	d.calls, d.actor = d.calls+1, callerName(ctx)
	return connect.NewResponse(&lacunav1.NextResponse{}), nil
}

func (d *desk) CreateToken(ctx context.Context, _ *connect.Request[lacunav1.CreateTokenRequest]) (*connect.Response[lacunav1.CreateTokenResponse], error) {
	d.calls, d.actor = d.calls+1, callerName(ctx)
	return connect.NewResponse(&lacunav1.CreateTokenResponse{}), nil
}

func newDesk(t *testing.T, who func(*access.Keyring) func(string) (*access.Holder, error)) *desk {
	t.Helper()
	d := &desk{log: &bytes.Buffer{}}
	d.rings = access.NewKeyring(d)
	g, err := newGate(who(d.rings), slog.New(slog.NewTextHandler(d.log, nil)), noop.Meter{})
	require.NoError(t, err)
	mux := http.NewServeMux()
	options := connect.WithHandlerOptions(connect.WithInterceptors(g), connect.WithCodec(wire.Codec{}))
	serve := func(path string, h http.Handler) { mux.Handle(path, g.identify(wire.Bound(h))) }
	serve(lacunav1connect.NewSequenceServiceHandler(d, options))
	serve(lacunav1connect.NewOperatorServiceHandler(d, options))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	d.url = server.URL
	return d
}

func byToken(k *access.Keyring) func(string) (*access.Holder, error) { return k.Identify }
func byNobody(*access.Keyring) func(string) (*access.Holder, error)  { return anybody }

func (d *desk) add(t *testing.T, token access.Token) (text string) {
	t.Helper()
	text, token.Hash = access.NewText(token.Name)
	d.tokens = append(d.tokens, token)
	require.NoError(t, d.rings.Refresh(t.Context()))
	return text
}

// post calls like curl, and gives the status, the code, the message and the headers.
func (d *desk) post(t *testing.T, token, path, body string) (status int, code, message string, header http.Header) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.url+"/lacuna.v1."+path, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close() //nolint:errcheck // it was read
	var answer struct{ Code, Message string }
	require.NoError(t, json.NewDecoder(response.Body).Decode(&answer))
	return response.StatusCode, answer.Code, answer.Message, response.Header
}

func TestTheGate(t *testing.T) {
	d := newDesk(t, byToken)
	_, code, message, _ := d.post(t, "", "SequenceService/Next", `{}`)
	require.Equal(t, "unavailable", code, "nobody is known before the ledger was read")
	require.Contains(t, message, "the ledger is away")

	shop := d.add(t, access.Token{Name: "shop", Role: access.RoleCaller, BizTypes: []string{"ORDER"}})
	stranger, _ := access.NewText("stranger")
	for _, token := range []string{"", "hunter2", stranger, shop[:len(shop)-1] + "!"} {
		status, code, message, header := d.post(t, token, "SequenceService/Next", `{"bizType":"ORDER"}`)
		require.Equal(t, http.StatusUnauthorized, status)
		require.Equal(t, "unauthenticated", code)
		require.Equal(t, "Bearer", header.Get("WWW-Authenticate"))
		require.Contains(t, message, "Authorization: Bearer")
		require.True(t, token == "" || !strings.Contains(message, token))
	}
	require.Zero(t, d.calls)

	status, _, _, _ := d.post(t, shop, "SequenceService/Next", `{"bizType":"ORDER"}`)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "shop", d.actor)

	t.Run("lets nothing of a batch through that has one foreign ticket", func(t *testing.T) {
		d.calls = 0
		status, code, message, _ := d.post(t, shop, "SequenceService/Settle", `{"commands":[{"ticket":"ORDER~A-1~1","action":"ACTION_CONFIRM"},{"ticket":"CLAIM~A-1~1","action":"ACTION_CONFIRM"}]}`)
		require.Equal(t, http.StatusForbidden, status)
		require.Equal(t, "permission_denied", code)
		require.Contains(t, message, `the token shop (caller) may not touch biz type "CLAIM"`)
		require.Zero(t, d.calls)
		require.Contains(t, d.log.String(), "token=shop")
		require.NotContains(t, d.log.String(), shop)
	})
	t.Run("says what a role lacks", func(t *testing.T) {
		_, code, message, _ := d.post(t, shop, "OperatorService/CreateToken", `{}`)
		require.Equal(t, "permission_denied", code)
		require.Contains(t, message, "lacks the right to administer: the call needs a token of role admin")
	})
	t.Run("bounds the rate of a token, not of others", func(t *testing.T) {
		slow := d.add(t, access.Token{Name: "slow", Role: access.RoleCaller, BizTypes: []string{"*"}, Rate: 1})
		var status int
		var code string
		for range 3 { // a second may pass in between
			if status, code, _, _ = d.post(t, slow, "SequenceService/Next", `{"bizType":"ORDER"}`); status != http.StatusOK {
				break
			}
		}
		require.Equal(t, http.StatusTooManyRequests, status)
		require.Equal(t, "resource_exhausted", code)
		status, _, _, _ = d.post(t, shop, "SequenceService/Next", `{"bizType":"ORDER"}`)
		require.Equal(t, http.StatusOK, status)
	})
	t.Run("accepts abandonments over a budget, and counts them", func(t *testing.T) {
		wild := d.add(t, access.Token{Name: "wild", Role: access.RoleCaller, BizTypes: []string{"*"}, AbandonBudget: 1})
		status, _, _, _ := d.post(t, wild, "SequenceService/Settle", `{"commands":[{"ticket":"A~1~1","action":"ACTION_ABANDON"},{"ticket":"A~2~1","action":"ACTION_CONFIRM"},{"ticket":"A~3~1","action":"ACTION_ABANDON"}]}`)
		require.Equal(t, http.StatusOK, status)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		d.rings.Watch(ctx, slog.New(slog.DiscardHandler)) // it writes down what is left, and ends
		require.Equal(t, []access.Excess{{Token: "wild", Budget: 1, Abandoned: 2}}, d.excess)
	})
	t.Run("refuses what no rule is for", func(t *testing.T) {
		admin := d.add(t, access.Token{Name: "mia", Role: access.RoleAdmin})
		of := rules[lacunav1connect.SequenceServiceNextProcedure]
		delete(rules, lacunav1connect.SequenceServiceNextProcedure)
		defer func() { rules[lacunav1connect.SequenceServiceNextProcedure] = of }()
		_, code, message, _ := d.post(t, admin, "SequenceService/Next", `{"bizType":"ORDER"}`)
		require.Equal(t, "permission_denied", code)
		require.Contains(t, message, "no rule allows it to anybody")
	})
}

func TestOpenAccessIsAnAdminNamedAnonymous(t *testing.T) {
	d := newDesk(t, byNobody)
	status, _, _, _ := d.post(t, "", "SequenceService/Next", `{"bizType":"ORDER"}`)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, access.Anonymous, d.actor)
	d.actor = ""
	status, _, _, _ = d.post(t, "whatever", "OperatorService/CreateToken", `{}`)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, access.Anonymous, d.actor, "it came through the gate")
}

func TestAServiceWithoutIdentifyLetsNobodyIn(t *testing.T) {
	g, err := newGate(anybody, slog.New(slog.DiscardHandler), noop.Meter{})
	require.NoError(t, err)
	_, err = g.WrapUnary(nil)(t.Context(), connect.NewRequest(&lacunav1.NextRequest{}))
	require.Equal(t, connect.CodeInternal, connect.CodeOf(err))
}

func TestANoteStaysWithTheReason(t *testing.T) {
	for _, tt := range []struct{ note, want string }{{"", "Redis is back"}, {"ops", "Redis is back"}, {"mia", "Redis is back (noted: mia)"}} {
		got, err := noted("Redis is back", "ops", tt.note)
		require.NoError(t, err)
		require.Equal(t, tt.want, got)
	}
	_, err := noted("Redis is back", "ops", " ")
	require.ErrorIs(t, err, sequence.ErrInvalid)
	_, err = noted(strings.Repeat("r", sequence.MaxReason), "ops", "mia")
	require.ErrorContains(t, err, "reason: ")
	_, err = noted("", "ops", "mia")
	require.ErrorContains(t, err, "reason: ")
}

func TestOnLoopback(t *testing.T) {
	for listen, want := range map[string]bool{"127.0.0.1:8080": true, "[::1]:8080": true, "localhost:8080": true, ":8080": false, "0.0.0.0:8080": false, "10.0.0.7:8080": false, "host:8080": false} {
		require.Equal(t, want, onLoopback(listen), listen)
	}
}

// BenchmarkAuthorize is what access costs a call of Next, and of Settle with 100 commands.
func BenchmarkAuthorize(b *testing.B) {
	d := &desk{}
	k := access.NewKeyring(d)
	text, hash := access.NewText("shop")
	for i := range 1000 {
		d.tokens = append(d.tokens, access.Token{Name: "other-" + time.Duration(i).String(), Role: access.RoleCaller})
	}
	d.tokens = append(d.tokens, access.Token{Name: "shop", Hash: hash, Role: access.RoleCaller, BizTypes: []string{"CLAIM", "INVOICE", "ORDER"}, Rate: access.MaxRate * 1000})
	if err := k.Refresh(b.Context()); err != nil {
		b.Fatal(err)
	}
	header := "Bearer " + text
	settle := &lacunav1.SettleRequest{}
	for range 100 {
		settle.Commands = append(settle.Commands, &lacunav1.Command{Ticket: "ORDER~A-000017~1"})
	}
	for _, bb := range []struct {
		name, procedure string
		request         any
	}{
		{"Next", lacunav1connect.SequenceServiceNextProcedure, &lacunav1.NextRequest{BizType: "ORDER"}},
		{"Confirm", lacunav1connect.SequenceServiceConfirmProcedure, &lacunav1.ConfirmRequest{Ticket: "ORDER~A-000017~1"}},
		{"Settle100", lacunav1connect.SequenceServiceSettleProcedure, settle},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				h, err := k.Identify(header)
				if err == nil {
					err = h.Call(time.Now())
				}
				if err == nil {
					err = authorize(h, rules[bb.procedure], bb.request)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
