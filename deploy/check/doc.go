// Package check holds what deploy/ promises against what the programs want: Compose file, manifests and image
// by the parsers of the tools that run them, settings by the programs' own, alert rules by promtool. The package
// openapi below it does so with api/openapi.yaml.
//
// It is a module of its own, so that those parsers stay out of Lacuna's go.mod. Whether the names of
// metrics exist, and whether each alert fires in its trouble, is asked of running processes: e2e/monitoring_test.go and
// e2e/alerts_test.go.
package check
