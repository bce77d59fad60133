package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"connectrpc.com/connect"

	"github.com/lacuna-seq/lacuna/api/lacuna/v1/lacunav1connect"
	"github.com/lacuna-seq/lacuna/internal/bearer"
)

// api is how to reach a running system. Commands that ask one embed it. The token comes by LACUNA_TOKEN or
// LACUNA_TOKEN_FILE.
type api struct {
	URL string `name:"api" env:"LACUNA_API" default:"http://127.0.0.1:8080" placeholder:"http://host:port" help:"The API of a starter; the token for it in LACUNA_TOKEN, or in the file LACUNA_TOKEN_FILE."`
}

// operator is the operators' service there.
func (a api) operator() lacunav1connect.OperatorServiceClient {
	return lacunav1connect.NewOperatorServiceClient(http.DefaultClient, a.URL, a.options())
}

// sequence is the callers' service there.
func (a api) sequence() lacunav1connect.SequenceServiceClient {
	return lacunav1connect.NewSequenceServiceClient(http.DefaultClient, a.URL, a.options())
}

func (a api) options() connect.ClientOption {
	return connect.WithInterceptors(a.explain(), bearer.Interceptor(bearer.FromEnvironment))
}

// explain adds to an error what to do about it, and tells a starter that is away from one that says what is away.
func (a api) explain() connect.UnaryInterceptorFunc {
	return func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
			response, err := next(ctx, r)
			var failed *connect.Error
			if !errors.As(err, &failed) {
				return response, err
			}
			switch todo := a.todo(failed); {
			case todo == "":
				return response, err
			case connect.IsWireError(err):
				return response, fmt.Errorf("the starter at %s: %w (%s)", a.URL, err, todo)
			default:
				return response, fmt.Errorf("no starter answers at %s: %w (%s)", a.URL, err, todo)
			}
		}
	}
}

// todo is what helps against an error; "" where its own words are enough.
func (a api) todo(err *connect.Error) string {
	wire := connect.IsWireError(err)
	switch err.Code() {
	case connect.CodeUnavailable:
		if wire {
			return "repeat it when that is back; `lacuna doctor` looks at every server"
		}
		return "start one, or name another by --api or LACUNA_API"
	case connect.CodeUnauthenticated:
		if wire {
			return "set LACUNA_TOKEN or LACUNA_TOKEN_FILE to a token that `lacuna token create` made"
		}
	case connect.CodePermissionDenied:
		return "use the token of a role that may; `lacuna token list` shows them to an admin"
	case connect.CodeUnimplemented:
		return "it is older than this command line, or no starter of Lacuna: upgrade it, or mend --api"
	default:
		return ""
	}
	return ""
}
