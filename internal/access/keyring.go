package access

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// ErrUnknown is a call without a valid token. Its error says why, and never what was sent.
var ErrUnknown = errors.New("who calls is not known")

// howTo says how to get in.
const howTo = "send the header \"Authorization: Bearer <token>\"; an admin makes tokens with `lacuna token create`"

// Keyring knows the tokens of the ledger, in memory. It is safe for concurrent use; until Refresh has read them
// once it knows nobody.
type Keyring struct {
	ledger  Ledger
	known   atomic.Pointer[map[string]*Holder] // by name
	version Version
	read    time.Time // when all was read last
	now     func() time.Time
	excess  []Excess // that could not be written yet
}

// Holder is who holds a token: the caller of a call. It outlives what Refresh reads again.
type Holder struct {
	*Token
	expires time.Time // by this process's clock; zero where it does not
	used    *atomic.Bool
	meter   *meter
}

// NewKeyring makes a keyring that knows nobody yet.
func NewKeyring(l Ledger) *Keyring { return &Keyring{ledger: l, now: time.Now} }

// AnonymousAdmin is who calls where access is open.
func AnonymousAdmin() *Holder {
	return &Holder{Token: &Token{Name: Anonymous, Role: RoleAdmin}, used: new(atomic.Bool)}
}

// none is compared where there is no such token, so that a caller cannot tell names that exist by the time that
// an answer takes.
var none Hash

// errTokensAway is the answer to everybody until the tokens were read.
var errTokensAway = &sequence.UnavailableError{What: "the ledger is away, and with it the tokens of all callers"}

// Identify says whose token stands in the header Authorization. It asks no server. The error wraps ErrUnknown,
// or sequence.ErrUnavailable while no token was ever read.
func (k *Keyring) Identify(authorization string) (*Holder, error) {
	known := k.known.Load()
	if known == nil {
		return nil, errTokensAway
	}
	if authorization == "" {
		return nil, fmt.Errorf("%w: the call has no token: %s", ErrUnknown, howTo)
	}
	text, ok := bearer(authorization)
	if !ok {
		return nil, fmt.Errorf("%w: the header Authorization holds no bearer token: %s", ErrUnknown, howTo)
	}
	name, hash, ok := HashOf(text)
	if !ok {
		return nil, fmt.Errorf("%w: what was sent is no token of Lacuna's, or was cut: %s", ErrUnknown, howTo)
	}
	want, h := &none, (*known)[name]
	if h != nil {
		want = &h.Hash
	}
	if subtle.ConstantTimeCompare(hash[:], want[:]) != 1 || h == nil {
		return nil, fmt.Errorf("%w: the token is not known: %s", ErrUnknown, howTo)
	}
	// From here on the caller has shown that the token was its own, and may be told what became of it.
	if err := k.valid(h); err != nil {
		return nil, err
	}
	return h, nil
}

// valid refuses what was revoked or has expired, and notes the use of the others.
func (k *Keyring) valid(h *Holder) error {
	if !h.RevokedTime.IsZero() {
		return fmt.Errorf("%w: the token %s was revoked: an admin makes another with `lacuna token create`", ErrUnknown, h.Name)
	}
	if !h.expires.IsZero() && !k.now().Before(h.expires) {
		return fmt.Errorf("%w: the token %s has expired: an admin makes another with `lacuna token create`", ErrUnknown, h.Name)
	}
	if !h.used.Load() {
		h.used.Store(true)
	}
	return nil
}

// bearer cuts the scheme, in any case, off the header.
func bearer(header string) (string, bool) {
	const scheme = "bearer "
	if len(header) <= len(scheme) || !strings.EqualFold(header[:len(scheme)], scheme) {
		return "", false
	}
	return strings.TrimSpace(header[len(scheme):]), true
}
