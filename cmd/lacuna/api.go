package main

import (
	"net/http"

	"github.com/lacuna-seq/lacuna/api/lacuna/v1/lacunav1connect"
)

// api is how to reach a running system. Commands that ask one embed it.
type api struct {
	URL string `name:"api" env:"LACUNA_API" default:"http://127.0.0.1:8080" placeholder:"http://host:port" help:"The API of a starter."`
}

// operator is the operators' service there.
func (a api) operator() lacunav1connect.OperatorServiceClient {
	return lacunav1connect.NewOperatorServiceClient(http.DefaultClient, a.URL)
}
