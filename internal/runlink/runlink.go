// Package runlink makes links to the runs of numbers in the Temporal UI.
//
// The starter puts them into its answers, and alerts carry them.
package runlink

import (
	"net/url"

	"github.com/lacuna-seq/lacuna/sequence"
)

// Maker makes links. The zero Maker makes none.
type Maker struct {
	UI        string // the address of the Temporal UI; empty for none
	Namespace string
}

// Of is the page of the run of a life; empty without a UI, and for life 0, which has no run.
func (m Maker) Of(t sequence.Ticket) string {
	if m.UI == "" || t.Life == 0 {
		return ""
	}
	page, err := url.JoinPath(m.UI, "namespaces", m.Namespace, "workflows", t.String())
	if err != nil {
		return ""
	}
	return page
}
