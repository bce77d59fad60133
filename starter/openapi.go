package main

import (
	"net/http"

	"github.com/lacuna-seq/lacuna/api"
)

// openAPI hands the API's description out, to everybody: it says nothing of what is here.
func openAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(api.OpenAPI) // the caller may have gone
}
