package main

import (
	"errors"

	"connectrpc.com/connect"

	"github.com/lacuna-seq/lacuna/internal/access"
	"github.com/lacuna-seq/lacuna/internal/wire"
)

// apiError adds what the gate refuses to the table of package wire.
func apiError(err error) *connect.Error {
	var denied *access.DeniedError
	switch {
	case errors.Is(err, access.ErrUnknown):
		e := connect.NewError(connect.CodeUnauthenticated, err)
		e.Meta().Set("WWW-Authenticate", "Bearer")
		return e
	case errors.As(err, &denied):
		return connect.NewError(connect.CodePermissionDenied, err)
	}
	return wire.Error(err)
}
