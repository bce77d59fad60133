package console

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/lacuna-seq/lacuna/api/lacuna/v1/lacunav1connect"
	"github.com/lacuna-seq/lacuna/internal/access"
)

// Sessions keeps who is signed in; db/ledger says what each call means.
type Sessions interface {
	CreateSession(ctx context.Context, hash access.Hash, token string) error
	SessionToken(ctx context.Context, hash access.Hash) (token string, err error)
	DeleteSession(ctx context.Context, hash access.Hash) error
}

// Keyring knows the tokens: an access.Keyring.
type Keyring interface {
	Identify(authorization string) (*access.Holder, error)
	Named(name string) (*access.Holder, error)
}

// Config is what a console works with. All of it is required, but for what says otherwise.
type Config struct {
	Sequence lacunav1connect.SequenceServiceClient
	Operator lacunav1connect.OperatorServiceClient
	// As makes a context whose calls of the API are the holder's.
	As       func(context.Context, *access.Holder) context.Context
	Sessions Sessions
	// Keyring is nil where access is open: nobody signs in, and everybody is access.Anonymous.
	Keyring Keyring
	Log     *slog.Logger
}

// Console serves the pages.
type Console struct {
	Config
	pages    pages
	attempts *attempts
	mux      *http.ServeMux
	handler  http.Handler
}

// New reads the templates, which are part of the program: an error is a fault of this package.
func New(config Config) (*Console, error) {
	pages, err := parsePages()
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	config.Log = config.Log.With("component", "console")
	c := &Console{Config: config, pages: pages, attempts: newAttempts(), mux: http.NewServeMux()}
	c.routes()
	c.handler = guard(c.mux)
	return c, nil
}

// routes has every address of the console.
func (c *Console) routes() {
	c.mux.Handle("GET /static/", static())
	c.mux.HandleFunc("GET "+signInPath, c.signInPage)
	c.mux.HandleFunc("POST "+signInPath, c.signIn)
	c.mux.HandleFunc("POST /sign-out", c.signOut)
	c.show("GET /{$}", c.overview)
	c.show("GET /search", c.search)
	c.show("GET /types", c.types)
	c.show("GET /types/new", c.newType)
	c.show("POST /types/new", c.createType)
	c.show("GET /types/{bizType}", c.bizType)
	c.show("GET /types/{bizType}/edit", c.editType)
	c.show("POST /types/{bizType}/edit", c.changeType)
	c.show("GET /numbers/{bizType}/{seqNo}", c.number)
	c.show("GET /numbers/{bizType}/{seqNo}/confirm", c.askConfirm)
	c.show("POST /numbers/{bizType}/{seqNo}/confirm", c.confirm)
	c.show("GET /numbers/{bizType}/{seqNo}/abandon", c.askAbandon)
	c.show("POST /numbers/{bizType}/{seqNo}/abandon", c.abandon)
	c.show("GET /map", c.mapList)
	c.show("GET /map/{bizType}", c.mapPage)
	c.show("GET /dead", c.desk)
	c.show("GET /dead/", func(*http.Request) (view, error) { return view{to: deadPath}, nil }) // a form's address, asked for again
	c.show("POST /dead/ask", c.askAct)
	c.show("POST /dead/act", c.doAct)
	c.show("GET /conflicts", c.conflicts)
	c.show("GET /window", c.windowList)
	c.show("GET /window/{bizType}", c.window)
	c.show("GET /", func(*http.Request) (view, error) { return view{}, errNoPage })
	c.mux.HandleFunc("/", http.NotFound) // e.g. a call of the API with a wrong address: no page would help
}

// ServeHTTP answers one request.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) { c.handler.ServeHTTP(w, r) }
