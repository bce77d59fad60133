package console

import "strings"

// navEntry is a page that the header leads to.
type navEntry struct {
	Path, Name string
}

// nav is the header's, in its order.
var nav = []navEntry{
	{"/", "Overview"},
	{"/search", "Search"},
	{"/map", "Gap map"},
	{"/dead", "Dead letters"},
	{"/conflicts", "Conflicts"},
	{"/window", "Window"},
	{"/types", "Biz types"},
}

// Current reports whether the page at the address belongs to the entry.
func (e navEntry) Current(path string) bool {
	if e.Path == "/" {
		return path == "/"
	}
	return path == e.Path || strings.HasPrefix(path, e.Path+"/")
}
