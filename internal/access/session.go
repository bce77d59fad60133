package access

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"time"
)

// SessionLifetime is how long somebody stays signed in to the console.
const SessionLifetime = 12 * time.Hour

// sessionBytes is how much chance there is in the id of a session.
const sessionBytes = 32

// SessionID is what a browser keeps to be known again. It stands in its cookie and nowhere else: the ledger keeps
// its Hash.
type SessionID string

// NewSessionID makes an id that nobody can guess.
func NewSessionID() SessionID {
	id := make([]byte, sessionBytes)
	_, _ = rand.Read(id) // it never fails: a system without chance ends the process
	return SessionID(base64.RawURLEncoding.EncodeToString(id))
}

// Hash is what is kept of the id.
func (id SessionID) Hash() Hash { return sha256.Sum256([]byte(id)) }

// FormToken stands in each form of the session, so that a page of somebody else's cannot send one: it cannot read
// it, and cannot compute it without the id. The id cannot be computed from it.
func (id SessionID) FormToken() string {
	mac := hmac.New(sha256.New, []byte(id))
	_, _ = mac.Write([]byte("lacuna form token")) // a hash never fails
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// Named is who holds the token of the name, for whoever has shown before that the token is its own. Its errors are
// those of Identify.
func (k *Keyring) Named(name string) (*Holder, error) {
	known := k.known.Load()
	if known == nil {
		return nil, errTokensAway
	}
	h := (*known)[name]
	if h == nil {
		return nil, fmt.Errorf("%w: the token %s is not known", ErrUnknown, name)
	}
	if err := k.valid(h); err != nil {
		return nil, err
	}
	return h, nil
}
