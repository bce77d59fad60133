package console

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/lacuna-seq/lacuna/internal/access"
	"github.com/lacuna-seq/lacuna/sequence"
)

const signInPath = "/sign-in"

// The cookie of a session. With the prefix, which browsers allow over TLS only, no other host can set it.
const (
	plainCookie = "lacuna-session"
	tlsCookie   = "__Host-lacuna-session"
)

// formToken is the name of the field that shows that a form is the session's own.
const formToken = "form_token"

// visitor is who looks at a page.
type visitor struct {
	*access.Holder
	// FormToken goes into each form; empty where nobody signs in.
	FormToken string
	// Open is true where everybody may do everything.
	Open bool
}

// May reports whether the visitor has the right, on some biz types at least.
func (v *visitor) May(right access.Right) bool { return v.Role.Has(right) }

// Reads reports whether the visitor may read what is about the whole.
func (v *visitor) Reads() bool { return v.May(access.RightRead) }

// Settles reports whether the visitor may confirm and abandon by hand: a caller does so by its service.
func (v *visitor) Settles() bool { return v.Role != access.RoleCaller && v.May(access.RightSettle) }

// Administers reports whether the visitor may change biz types.
func (v *visitor) Administers() bool { return v.May(access.RightAdminister) }

type visitorKey struct{}

// visitorOf is who looks; nil before who that is was asked.
func visitorOf(ctx context.Context) *visitor {
	v, _ := ctx.Value(visitorKey{}).(*visitor)
	return v
}

// errSignedOut is a request of nobody who is signed in.
var errSignedOut = errors.New("nobody is signed in")

// errForged is a form that does not hold the session's token.
var errForged = errors.New("this form is not of your present session: open the page again, and send it once more. Nothing was done")

// errUnreadable is a form that is none.
var errUnreadable = errors.New("the form could not be read")

// identify says who looks, and in whose name the page's calls are made.
func (c *Console) identify(r *http.Request) (*http.Request, error) {
	v := &visitor{Holder: access.AnonymousAdmin(), Open: c.Keyring == nil}
	if !v.Open {
		id := sessionOf(r)
		if id == "" {
			return r, errSignedOut
		}
		name, err := c.Sessions.SessionToken(r.Context(), id.Hash())
		if err == nil {
			v.Holder, err = c.Keyring.Named(name)
		}
		if errors.Is(err, sequence.ErrNotFound) || errors.Is(err, access.ErrUnknown) {
			return r, errSignedOut
		}
		if err != nil {
			return r, err
		}
		v.FormToken = id.FormToken()
	}
	ctx := context.WithValue(c.As(r.Context(), v.Holder), visitorKey{}, v)
	return r.WithContext(ctx), nil
}

// checkForm refuses a form that does not hold the session's token.
func checkForm(r *http.Request) error {
	if err := r.ParseForm(); err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	want := visitorOf(r.Context()).FormToken
	if subtle.ConstantTimeCompare([]byte(r.PostFormValue(formToken)), []byte(want)) != 1 {
		return errForged
	}
	return nil
}

// overTLS reports whether the browser speaks TLS, to this process or to what stands in front of it. The header may
// be anybody's word: it changes how the browser's own cookie is kept, and nothing else.
func overTLS(r *http.Request) bool {
	return r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
}

func cookieName(r *http.Request) string {
	if overTLS(r) {
		return tlsCookie
	}
	return plainCookie
}

// sessionOf is the id that a browser sends; empty for none.
func sessionOf(r *http.Request) access.SessionID {
	cookie, err := r.Cookie(cookieName(r))
	if err != nil {
		return ""
	}
	return access.SessionID(cookie.Value)
}

func setCookie(w http.ResponseWriter, r *http.Request, id access.SessionID) {
	age := int(access.SessionLifetime.Seconds())
	if id == "" {
		age = -1
	}
	http.SetCookie(w, &http.Cookie{
		Name: cookieName(r), Value: string(id), Path: "/", MaxAge: age, HttpOnly: true, Secure: overTLS(r), SameSite: http.SameSiteStrictMode,
	})
}

// signInForm is what the page of the sign-in shows.
type signInForm struct {
	Next  string
	Fault string
	// Again sends the browser to the page once more: it comes from another site, and has kept the cookie back.
	Again bool
}

func (c *Console) signInPage(w http.ResponseWriter, r *http.Request) {
	if c.Keyring == nil {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	c.render(w, r, http.StatusOK, view{template: "signin", title: "Sign in", content: signInForm{Next: nextOf(r.FormValue("next"))}})
}

// signIn opens a session for whoever holds a token. Its id is always a new one, whatever cookie came with the form.
func (c *Console) signIn(w http.ResponseWriter, r *http.Request) {
	form := signInForm{Next: nextOf(r.PostFormValue("next"))}
	again := func(status int, fault string) {
		form.Fault = fault
		c.render(w, r, status, view{template: "signin", title: "Sign in", content: form})
	}
	if c.Keyring == nil {
		http.Redirect(w, r, form.Next, http.StatusSeeOther)
		return
	}
	holder, err := c.Keyring.Identify("Bearer " + strings.TrimSpace(r.PostFormValue("token")))
	// Whoever has a token comes in, however many others fail: behind a proxy all have one address.
	if errors.Is(err, access.ErrUnknown) && c.attempts.blocked(r.RemoteAddr) {
		again(http.StatusTooManyRequests, "Too many sign-ins from this address have failed: wait a minute, then try again.")
		return
	}
	if errors.Is(err, access.ErrUnknown) {
		c.attempts.failed(r.RemoteAddr)
		c.Log.InfoContext(r.Context(), "a sign-in failed", "remote", host(r.RemoteAddr), "error", err)
		again(http.StatusUnauthorized, signInFault(err))
		return
	}
	id := access.NewSessionID()
	if err == nil {
		err = c.Sessions.CreateSession(r.Context(), id.Hash(), holder.Name)
	}
	if err != nil {
		c.fail(w, r, err)
		return
	}
	if old := sessionOf(r); old != "" {
		if err := c.Sessions.DeleteSession(r.Context(), old.Hash()); err != nil {
			c.Log.WarnContext(r.Context(), "the session before was not deleted; it ends by itself", "error", err)
		}
	}
	c.Log.InfoContext(r.Context(), "somebody signed in", "token", holder.Name, "role", holder.Role.String(), "remote", host(r.RemoteAddr))
	setCookie(w, r, id)
	http.Redirect(w, r, form.Next, http.StatusSeeOther)
}

// signInFault tells those who hold a token what became of it, and others nothing.
func signInFault(err error) string {
	for _, what := range []string{"was revoked", "has expired"} {
		if strings.Contains(err.Error(), what) {
			return "This token " + what + ". An admin makes another with `lacuna token create`."
		}
	}
	return "That is no valid token. It begins with lacuna_ and is pasted whole."
}

func (c *Console) signOut(w http.ResponseWriter, r *http.Request) {
	if c.Keyring == nil {
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	r, err := c.identify(r)
	if errors.Is(err, errSignedOut) {
		http.Redirect(w, r, signInPath, http.StatusSeeOther)
		return
	}
	if err == nil {
		err = checkForm(r)
	}
	if err == nil {
		err = c.Sessions.DeleteSession(r.Context(), sessionOf(r).Hash())
	}
	if err != nil {
		c.fail(w, r, err)
		return
	}
	c.Log.InfoContext(r.Context(), "somebody signed out", "token", visitorOf(r.Context()).Name)
	setCookie(w, r, "")
	http.Redirect(w, r, signInPath, http.StatusSeeOther)
}

// askToSignIn leads to the sign-in, and back. A browser that comes from another site has kept the cookie back, as it
// was told to: it is asked to come once more, from here.
func (c *Console) askToSignIn(w http.ResponseWriter, r *http.Request) {
	to := signInPath + "?next=" + url.QueryEscape(nextOf(r.URL.RequestURI()))
	switch {
	case r.Header.Get("HX-Request") != "":
		w.Header().Set("HX-Redirect", signInPath)
		w.WriteHeader(http.StatusUnauthorized)
	case r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Site") == "cross-site":
		c.render(w, r, http.StatusOK, view{template: "signin", title: "Sign in", content: signInForm{Next: nextOf(r.URL.RequestURI()), Again: true}})
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		http.Redirect(w, r, to, http.StatusSeeOther)
	default:
		http.Redirect(w, r, signInPath, http.StatusSeeOther)
	}
}

// nextOf is where to go after the sign-in: a page of the console, and nothing else.
func nextOf(to string) string {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "//") ||
		strings.ContainsAny(to, "\\\n\r\t") || u.Path == signInPath {
		return "/"
	}
	return u.RequestURI()
}
