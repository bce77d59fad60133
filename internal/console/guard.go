package console

import (
	"net/http"
)

// maxForm is the largest form, in bytes.
const maxForm = 64 << 10

// policy lets a page load and send only what is the console's own, and run no script that stands in it: what a
// biz key or a reason holds stays text, even if a template forgot to make it so.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// guard keeps other sites from sending the console's forms, and tells browsers what the console's pages never do.
func guard(next http.Handler) http.Handler {
	crossOrigin := http.NewCrossOriginProtection()
	crossOrigin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "This form was sent by a page of another site. Nothing was done.", http.StatusForbidden)
	}))
	protected := crossOrigin.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin") // addresses hold biz keys
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		protected.ServeHTTP(w, r)
	})
}
