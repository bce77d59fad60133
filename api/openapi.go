package api

import _ "embed"

// OpenAPI is the API over HTTP and JSON as OpenAPI 3.1 describes it, in YAML.
//
//go:embed openapi.yaml
var OpenAPI []byte
