package console

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed templates/*.html
var templateFiles embed.FS

// view is what a page answers: a template with its content, or where to go instead.
type view struct {
	template string // the name of its file, without .html
	title    string
	status   int // 200 where it is 0
	content  any
	to       string
}

// show serves a page to whoever is signed in. A form is held to the session's token first.
func (c *Console) show(pattern string, page func(*http.Request) (view, error)) {
	c.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		r, err := c.identify(r)
		if err == nil && r.Method != http.MethodGet && r.Method != http.MethodHead {
			err = checkForm(r)
		}
		var v view
		if err == nil {
			v, err = page(r)
		}
		switch {
		case err != nil:
			c.fail(w, r, err)
		case v.status == http.StatusNoContent:
			w.WriteHeader(v.status)
		case v.to != "":
			http.Redirect(w, r, v.to, http.StatusSeeOther)
		default:
			c.render(w, r, max(v.status, http.StatusOK), v)
		}
	})
}

// pages are the templates by their names, each with the layout around it.
type pages map[string]*template.Template

// shared begin the names of templates that are parts of pages.
const shared = "_"

func parsePages() (pages, error) {
	layout, err := template.New("").Funcs(helpers).ParseFS(templateFiles, "templates/"+shared+"*.html")
	if err != nil {
		return nil, err
	}
	names, err := fs.Glob(templateFiles, "templates/[^_]*.html")
	if err != nil {
		return nil, err
	}
	all := make(pages, len(names))
	for _, name := range names {
		page, err := layout.Clone()
		if err == nil {
			page, err = page.ParseFS(templateFiles, name)
		}
		if err != nil {
			return nil, err
		}
		all[strings.TrimSuffix(path.Base(name), ".html")] = page
	}
	return all, nil
}

// frame is what the layout shows around a page.
type frame struct {
	Title   string
	Path    string
	Nav     []navEntry
	Visitor *visitor // nil before the sign-in
	Version string   // of the static files
	Content any
}

// render makes the whole page before it answers any of it: one that cannot be made is an error and no half page.
func (c *Console) render(w http.ResponseWriter, r *http.Request, status int, v view) {
	var page bytes.Buffer
	t, known := c.pages[v.template]
	err := fmt.Errorf("there is no template %s", v.template)
	if known {
		err = t.ExecuteTemplate(&page, "layout", frame{
			Title: v.title, Path: r.URL.Path, Nav: nav, Visitor: visitorOf(r.Context()), Version: staticVersion, Content: v.content,
		})
	}
	if err != nil {
		c.Log.ErrorContext(r.Context(), "a page cannot be shown", "path", r.URL.Path, "error", err)
		http.Error(w, "This page cannot be shown; the starter's log says why.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = page.WriteTo(w) // the browser may have gone
}

// helpers are what templates may call.
var helpers = template.FuncMap{
	"time":     timeWords,
	"machine":  func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) },
	"second":   func(t time.Time) string { return t.UTC().Format("15:04:05 UTC") },
	"share":    shareWords,
	"clock":    func(t time.Time) string { return t.UTC().Format("15:04") },
	"duration": durationWords,
	"count":    counted,
	"short":    shortWords,
	"roughly":  roughly,
	"form":     func(v *visitor) string { return v.FormToken },
}
