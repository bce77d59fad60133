package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"strings"
)

// htmx.min.js is htmx 2.0.11 as npm has it; htmx.LICENSE is its licence.
//
//go:embed static
var staticFiles embed.FS

// staticVersion stands in the addresses of the files, so that a browser may keep them for good.
var staticVersion = func() string {
	all := sha256.New()
	_ = fs.WalkDir(staticFiles, ".", func(path string, d fs.DirEntry, err error) error { // in memory: it does not fail
		if err == nil && !d.IsDir() {
			content, _ := staticFiles.ReadFile(path)
			_, _ = all.Write(content)
		}
		return err
	})
	return hex.EncodeToString(all.Sum(nil))[:12]
}()

// static serves /static/<version>/<file>. Another version than this one's is that of a starter beside it, which is
// older or newer: its page gets this one's file, and asks again next time.
func static() http.Handler {
	files := http.FileServerFS(staticFiles)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		version, name, found := strings.Cut(strings.TrimPrefix(r.URL.Path, "/static/"), "/")
		if !found || name == "" || strings.HasSuffix(name, "/") {
			http.NotFound(w, r)
			return
		}
		if version == staticVersion {
			w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		r.URL.Path = "/static/" + name
		files.ServeHTTP(w, r)
	})
}
