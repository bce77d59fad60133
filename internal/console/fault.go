package console

import (
	"context"
	"errors"
	"net/http"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	"github.com/lacuna-seq/lacuna/sequence"
)

// errNoPage is an address that leads nowhere.
var errNoPage = errors.New("there is no page at this address")

// fault is an error as a page shows it.
type fault struct {
	Title string
	Words string
	// Fields are what the API said of single fields.
	Fields []fieldFault
	// Away is true where a server does not answer, and the rest of the page says what works all the same.
	Away bool
	// Again is where the page may be tried once more; empty where something was to be done.
	Again string
	// Live is where a part of a page that reloads itself asks again; empty for a page.
	Live string
}

type fieldFault struct{ Field, Words string }

// fail answers an error in words, with the status that is its own.
func (c *Console) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errSignedOut) {
		c.askToSignIn(w, r)
		return
	}
	status, f := c.faultOf(r.Context(), err)
	if f.Away && r.Method == http.MethodGet {
		f.Again = r.URL.RequestURI()
	}
	if r.Header.Get("HX-Request") != "" {
		f.Live = r.URL.RequestURI()
	}
	c.render(w, r, status, view{template: "fault", title: f.Title, content: f})
}

func (c *Console) faultOf(ctx context.Context, err error) (int, fault) {
	var tooLarge *http.MaxBytesError
	var away *sequence.UnavailableError
	switch {
	case errors.Is(err, errNoPage):
		return http.StatusNotFound, fault{Title: "Not found", Words: "There is no page at this address."}
	case errors.Is(err, errForged):
		return http.StatusForbidden, fault{Title: "Not done", Words: sentence(err.Error())}
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge, fault{Title: "Not done", Words: "The form is too large."}
	case errors.Is(err, errUnreadable):
		return http.StatusBadRequest, fault{Title: "Not done", Words: "The form could not be read."}
	case errors.As(err, &away):
		return http.StatusServiceUnavailable, fault{Title: "The ledger is away", Words: sentence(away.What), Away: true}
	}
	var called *connect.Error
	if !errors.As(err, &called) {
		c.Log.ErrorContext(ctx, "a page failed inside", "error", err)
		return http.StatusInternalServerError, fault{Title: "Something went wrong", Words: "The starter's log says what."}
	}
	f := fault{Words: sentence(called.Message()), Fields: fieldsOf(called)}
	switch called.Code() {
	case connect.CodeNotFound:
		f.Title = "Not found"
		return http.StatusNotFound, f
	case connect.CodePermissionDenied:
		f.Title = "Your token may not do that"
		return http.StatusForbidden, f
	case connect.CodeUnavailable, connect.CodeDeadlineExceeded:
		f.Title, f.Away = "A server is away", true
		return http.StatusServiceUnavailable, f
	case connect.CodeResourceExhausted:
		f.Title = "Too much at once"
		return http.StatusTooManyRequests, f
	case connect.CodeUnauthenticated:
		f.Title = "You are signed out"
		return http.StatusUnauthorized, f
	case connect.CodeInvalidArgument:
		f.Title = "That is not possible"
		return http.StatusBadRequest, f
	case connect.CodeFailedPrecondition, connect.CodeAborted, connect.CodeAlreadyExists:
		f.Title = "Refused"
		return http.StatusConflict, f
	default:
		f.Title = "Something went wrong"
		return http.StatusInternalServerError, f
	}
}

// fieldsOf is what the API said of single fields.
func fieldsOf(err error) (fields []fieldFault) {
	var called *connect.Error
	if !errors.As(err, &called) {
		return nil
	}
	for _, d := range called.Details() {
		value, err := d.Value()
		if err != nil {
			continue
		}
		if bad, ok := value.(*errdetails.BadRequest); ok {
			for _, v := range bad.GetFieldViolations() {
				fields = append(fields, fieldFault{v.GetField(), v.GetDescription()})
			}
		}
	}
	return fields
}

// sentence begins with a capital and ends with a stop.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	if s[0] >= 'a' && s[0] <= 'z' {
		s = string(s[0]-'a'+'A') + s[1:]
	}
	if last := s[len(s)-1]; last != '.' && last != '`' && last != '!' && last != '?' {
		s += "."
	}
	return s
}
