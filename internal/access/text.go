package access

import (
	"crypto/rand"
	"crypto/sha256"
	"math/big"
	"strings"
)

// A token's text is lacuna_<name>_<secret>: lacuna_[a-z][a-z0-9-]{0,31}_[0-9A-Za-z]{43}. It has a shape of its
// own, so that those who look for secrets in logs and repositories can find it.
const (
	prefix = "lacuna_"
	// secretBytes is how much chance there is in a token, and secretLength its length in base 62.
	secretBytes  = 32
	secretLength = 43
	maxText      = len(prefix) + MaxName + 1 + secretLength
)

// Hash is what is kept of a token's text: its SHA-256. A slow hash protects what people think up, which can be
// guessed. 256 bits of chance cannot, and this one is made for every call.
type Hash [sha256.Size]byte

// NewText makes the text of a new token of the name. It is told once; what is kept is its hash.
func NewText(name string) (text string, hash Hash) {
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret) // it never fails: a system without chance ends the process
	digits := new(big.Int).SetBytes(secret).Text(62)
	text = prefix + name + "_" + strings.Repeat("0", secretLength-len(digits)) + digits
	return text, hashOf(text)
}

// HashOf is the name in a token's text and the hash to compare; false for a text that is none.
func HashOf(text string) (name string, hash Hash, ok bool) {
	if name, ok = nameIn(text); !ok {
		return "", Hash{}, false
	}
	return name, hashOf(text), true
}

func hashOf(text string) Hash {
	var buffer [maxText]byte // on the stack: a conversion would allocate
	return sha256.Sum256(buffer[:copy(buffer[:], text)])
}

func nameIn(text string) (name string, ok bool) {
	rest, ok := strings.CutPrefix(text, prefix)
	if !ok || len(rest) < 1+1+secretLength {
		return "", false
	}
	end := len(rest) - secretLength - 1
	if name = rest[:end]; rest[end] != '_' || !isName(name) {
		return "", false
	}
	for _, c := range []byte(rest[end+1:]) {
		if c < '0' || c > '9' && c < 'A' || c > 'Z' && c < 'a' || c > 'z' {
			return "", false
		}
	}
	return name, true
}
