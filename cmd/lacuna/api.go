package main

import (
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
	return lacunav1connect.NewOperatorServiceClient(http.DefaultClient, a.URL, connect.WithInterceptors(bearer.Interceptor(bearer.FromEnvironment)))
}
