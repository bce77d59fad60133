package client

import "github.com/lacuna-seq/lacuna/internal/bearer"

// WithToken sends the token with every call.
func WithToken(text string) Option {
	return WithTokenFrom(func() (string, error) { return text, nil })
}

// WithTokenFrom asks source for the token of each call, so that it may change while the process runs. An error
// ends the call: nothing is sent. What InTx has left to say stays in its outbox meanwhile.
func WithTokenFrom(source func() (string, error)) Option {
	return WithInterceptors(bearer.Interceptor(source))
}

// TokenFromEnvironment is a source: the text in LACUNA_TOKEN, else what the file named by LACUNA_TOKEN_FILE
// holds at the time; no token where neither is set.
func TokenFromEnvironment() (string, error) { return bearer.FromEnvironment() }
