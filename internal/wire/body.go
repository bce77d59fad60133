package wire

import (
	"bytes"
	"io"
	"net/http"

	"connectrpc.com/connect"

	"github.com/lacuna-seq/lacuna/sequence"
)

// maxBody is the largest request, in bytes.
const maxBody = 1 << 20

// Options are those of every handler of the API.
func Options() connect.HandlerOption {
	return connect.WithHandlerOptions(
		connect.WithCodec(Codec{}),
		connect.WithCompression("gzip", nil, nil), // requests are small, and an inflated one would pass the bound
	)
}

// Bound answers a request above 1 MiB with INVALID_ARGUMENT. Connect's own bound answers
// RESOURCE_EXHAUSTED, which here always means "repeat later".
func Bound(next http.Handler) http.Handler {
	errorWriter := connect.NewErrorWriter()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
		if err == nil && len(body) <= maxBody {
			r.Body = io.NopCloser(bytes.NewReader(body))
			next.ServeHTTP(w, r)
			return
		}
		fault := sequence.Invalidf("body", "is larger than %d bytes", maxBody)
		if err != nil {
			fault = sequence.Invalidf("body", "could not be read to its end")
		}
		_ = errorWriter.Write(w, r, Error(fault)) // the caller may have gone
	})
}
