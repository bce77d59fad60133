// Package bearer puts a token on calls, and finds the one that a process was given. It comes by the environment
// or a file, never by a flag: flags stand in lists of processes.
package bearer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"connectrpc.com/connect"
)

// Names of the environment variables.
const (
	EnvToken = "LACUNA_TOKEN"
	EnvFile  = "LACUNA_TOKEN_FILE"
)

// FromEnvironment is the text in LACUNA_TOKEN, else what the file named by LACUNA_TOKEN_FILE holds now; "" where
// neither is set.
func FromEnvironment() (string, error) {
	if text := strings.TrimSpace(os.Getenv(EnvToken)); text != "" {
		return text, nil
	}
	name := os.Getenv(EnvFile)
	if name == "" {
		return "", nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", EnvFile, err)
	}
	if len(strings.TrimSpace(string(text))) == 0 {
		return "", fmt.Errorf("%s: %s is empty", EnvFile, name)
	}
	return strings.TrimSpace(string(text)), nil
}

// Interceptor asks source for the token of each call; "" sends none. Its error ends the call as UNAUTHENTICATED,
// unsent.
func Interceptor(source func() (string, error)) connect.UnaryInterceptorFunc {
	return func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
			text, err := source()
			if err != nil {
				return nil, connect.NewError(connect.CodeUnauthenticated, fmt.Errorf("find the token to send: %w", err))
			}
			if strings.ContainsAny(text, "\r\n\x00") {
				return nil, connect.NewError(connect.CodeUnauthenticated, errors.New("the token to send has more than one line"))
			}
			if text != "" {
				r.Header().Set("Authorization", "Bearer "+text)
			}
			return next(ctx, r)
		}
	}
}
