package console_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/api/lacuna/v1/lacunav1connect"
	"github.com/lacuna-seq/lacuna/internal/access"
	"github.com/lacuna-seq/lacuna/internal/console"
	"github.com/lacuna-seq/lacuna/sequence"
)

// fake is a system in memory: an API, sessions and tokens.
type fake struct {
	lacunav1connect.UnimplementedSequenceServiceHandler
	lacunav1connect.UnimplementedOperatorServiceHandler

	mu       sync.Mutex
	numbers  map[string]*lacunav1.GetResponse // by biz type and seq no
	types    []*lacunav1.BizType
	puts     []*lacunav1.BizType
	settled  []proto.Message
	err      error                         // of every call of the API
	refusal  error                         // of what changes something
	asked    []string                      // in whose name the API was called
	holders  map[string]*access.Holder     // by what is sent
	sessions map[access.Hash]string        // the tokens' names
	away     error                         // of the sessions
	keys     map[string][]*lacunav1.Number // by biz key
	log      bytes.Buffer
}

type nameKey struct{}

func newFake() *fake {
	f := &fake{numbers: map[string]*lacunav1.GetResponse{}, holders: map[string]*access.Holder{}, sessions: map[access.Hash]string{}, keys: map[string][]*lacunav1.Number{}}
	f.token("mia", access.RoleAdmin)
	return f
}

// token makes a token; its text is its name.
func (f *fake) token(name string, role access.Role, bizTypes ...string) {
	f.holders[name] = &access.Holder{Token: &access.Token{Name: name, Role: role, BizTypes: bizTypes}}
}

func (f *fake) Identify(authorization string) (*access.Holder, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if h := f.holders[strings.TrimPrefix(authorization, "Bearer ")]; h != nil {
		return h, nil
	}
	return nil, fmt.Errorf("%w: the token is not known", access.ErrUnknown)
}

func (f *fake) Named(name string) (*access.Holder, error) { return f.Identify(name) }

func (f *fake) CreateSession(_ context.Context, hash access.Hash, token string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sessions[hash] = token
	return f.away
}

func (f *fake) SessionToken(_ context.Context, hash access.Hash) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away != nil {
		return "", f.away
	}
	if name, known := f.sessions[hash]; known {
		return name, nil
	}
	return "", sequence.ErrNotFound
}

func (f *fake) DeleteSession(_ context.Context, hash access.Hash) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.sessions, hash)
	return nil
}

func (f *fake) Get(_ context.Context, r *connect.Request[lacunav1.GetRequest]) (*connect.Response[lacunav1.GetResponse], error) {
	if n := f.numbers[r.Msg.GetBizType()+"~"+r.Msg.GetSeqNo()]; n != nil {
		return connect.NewResponse(n), nil
	}
	return nil, connect.NewError(connect.CodeNotFound, fmt.Errorf("number %s of %s: not found", r.Msg.GetSeqNo(), r.Msg.GetBizType()))
}

func (f *fake) Confirm(_ context.Context, r *connect.Request[lacunav1.ConfirmRequest]) (*connect.Response[lacunav1.ConfirmResponse], error) {
	if f.refusal != nil {
		return nil, f.refusal
	}
	f.settled = append(f.settled, r.Msg)
	return connect.NewResponse(&lacunav1.ConfirmResponse{Outcome: lacunav1.Outcome_OUTCOME_CONFIRMED}), nil
}

func (f *fake) Abandon(_ context.Context, r *connect.Request[lacunav1.AbandonRequest]) (*connect.Response[lacunav1.AbandonResponse], error) {
	if f.refusal != nil {
		return nil, f.refusal
	}
	f.settled = append(f.settled, r.Msg)
	return connect.NewResponse(&lacunav1.AbandonResponse{Outcome: lacunav1.Outcome_OUTCOME_ABANDONED}), nil
}

func (f *fake) ListBizTypes(context.Context, *connect.Request[lacunav1.ListBizTypesRequest]) (*connect.Response[lacunav1.ListBizTypesResponse], error) {
	return connect.NewResponse(&lacunav1.ListBizTypesResponse{BizTypes: f.types}), nil
}

func (f *fake) GetBizType(_ context.Context, r *connect.Request[lacunav1.GetBizTypeRequest]) (*connect.Response[lacunav1.GetBizTypeResponse], error) {
	for _, b := range f.types {
		if b.GetName() == r.Msg.GetName() {
			return connect.NewResponse(&lacunav1.GetBizTypeResponse{BizType: b}), nil
		}
	}
	return nil, connect.NewError(connect.CodeNotFound, fmt.Errorf("biz type %s: not found", r.Msg.GetName()))
}

func (f *fake) PutBizType(_ context.Context, r *connect.Request[lacunav1.PutBizTypeRequest]) (*connect.Response[lacunav1.PutBizTypeResponse], error) {
	if f.refusal != nil {
		return nil, f.refusal
	}
	f.puts = append(f.puts, r.Msg.GetBizType())
	return connect.NewResponse(&lacunav1.PutBizTypeResponse{BizType: r.Msg.GetBizType()}), nil
}

func (f *fake) ListActivity(context.Context, *connect.Request[lacunav1.ListActivityRequest]) (*connect.Response[lacunav1.ListActivityResponse], error) {
	return connect.NewResponse(&lacunav1.ListActivityResponse{}), nil
}

// ListNumbers gives the numbers of a biz key, two a page.
func (f *fake) ListNumbers(_ context.Context, r *connect.Request[lacunav1.ListNumbersRequest]) (*connect.Response[lacunav1.ListNumbersResponse], error) {
	var of []*lacunav1.Number
	for _, n := range f.keys[r.Msg.GetBizKey()] {
		if n.GetBizType() == r.Msg.GetBizType() && n.GetSeqNo() > r.Msg.GetPageToken() {
			of = append(of, n)
		}
	}
	answer := &lacunav1.ListNumbersResponse{Numbers: of}
	if most := min(2, int(r.Msg.GetPageSize())); len(of) > most {
		answer.Numbers, answer.NextPageToken = of[:most], of[most-1].GetSeqNo()
	}
	return connect.NewResponse(answer), nil
}

// intercept fails where the test says so, and keeps in whose name the call is.
func (f *fake) intercept(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
		name, _ := ctx.Value(nameKey{}).(string)
		f.mu.Lock()
		f.asked = append(f.asked, name)
		err := f.err
		f.mu.Unlock()
		if err != nil {
			return nil, err
		}
		return next(ctx, r)
	}
}

// site is a console in front of the fake, and a browser without JavaScript.
type site struct {
	*fake
	*http.Client
	url string
}

// open serves a console; config changes it.
func (f *fake) open(t *testing.T, config ...func(*console.Config)) *site {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle(lacunav1connect.NewSequenceServiceHandler(f))
	mux.Handle(lacunav1connect.NewOperatorServiceHandler(f))
	api := httptest.NewServer(mux)
	t.Cleanup(api.Close)
	inName := connect.WithInterceptors(connect.UnaryInterceptorFunc(f.intercept))
	made := console.Config{
		Sequence: lacunav1connect.NewSequenceServiceClient(api.Client(), api.URL, inName),
		Operator: lacunav1connect.NewOperatorServiceClient(api.Client(), api.URL, inName),
		As: func(ctx context.Context, h *access.Holder) context.Context {
			return context.WithValue(ctx, nameKey{}, h.Name)
		},
		Sessions: f, Keyring: f, Log: slog.New(slog.NewTextHandler(&f.log, nil)),
	}
	for _, change := range config {
		change(&made)
	}
	c, err := console.New(made)
	require.NoError(t, err)
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	return &site{fake: f, Client: newBrowser(t), url: server.URL}
}

// newBrowser keeps cookies and follows nothing by itself.
func newBrowser(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// answer is what a page was.
type answer struct {
	status int
	header http.Header
	page   string
}

func (s *site) do(t *testing.T, method, path string, header http.Header, form url.Values) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(form.Encode()))
	require.NoError(t, err)
	for name, values := range header {
		r.Header[name] = values
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := s.Do(r)
	require.NoError(t, err)
	defer response.Body.Close() //nolint:errcheck // it was read
	page, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return answer{response.StatusCode, response.Header, string(page)}
}

func (s *site) get(t *testing.T, path string) answer {
	t.Helper()
	return s.do(t, http.MethodGet, path, nil, nil)
}

// signIn signs in with a token.
func (s *site) signIn(t *testing.T, token string) answer {
	t.Helper()
	a := s.do(t, http.MethodPost, "/sign-in", nil, url.Values{"token": {token}})
	require.Equal(t, http.StatusSeeOther, a.status, "%s", a.page)
	return a
}

// session is the id that the browser keeps.
func (s *site) session(t *testing.T) access.SessionID {
	t.Helper()
	u, err := url.Parse(s.url)
	require.NoError(t, err)
	for _, c := range s.Jar.Cookies(u) {
		return access.SessionID(c.Value)
	}
	return ""
}

// send sends a form of the session's own.
func (s *site) send(t *testing.T, path string, form url.Values) answer {
	t.Helper()
	form.Set("form_token", s.session(t).FormToken())
	return s.do(t, http.MethodPost, path, nil, form)
}
