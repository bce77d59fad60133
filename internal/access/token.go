package access

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// Bounds of a token.
const (
	MaxName          = 32        // bytes
	MaxBizTypes      = 100       // that one token names
	MaxRate          = 1_000_000 // calls a second
	MaxAbandonBudget = 1_000_000_000
	MinLifetime      = time.Second
	MaxLifetime      = 10 * 365 * 24 * time.Hour
)

// What a token is allowed that says nothing of its own.
const (
	DefaultRate          = 10_000 // calls a second
	DefaultAbandonBudget = 10_000 // numbers a minute
)

// AnyBizType stands for all biz types, also those that are made later.
const AnyBizType = "*"

// Anonymous is everybody, where access is open.
const Anonymous = "anonymous"

// reserved are names that stand for somebody else where acts are kept.
var reserved = []string{Anonymous, sequence.ActorCaller, sequence.ActorLacuna}

// Token is what the ledger keeps of a token. It never changes but that it is revoked.
type Token struct {
	ID   int64
	Name string // of its holder; it stands with what the holder does, and is never given twice
	Hash Hash
	Role Role
	// BizTypes are those that a caller may touch, AnyBizType for all; none for other roles.
	BizTypes []string
	// Rate is how many calls a second one process takes; 0 is DefaultRate.
	Rate int
	// AbandonBudget is how many numbers it may abandon a minute, at one process, before people are told; 0 is
	// DefaultAbandonBudget.
	AbandonBudget int64

	CreatedBy    string
	CreatedTime  time.Time
	ExpireTime   time.Time // zero where it does not expire
	RevokedBy    string
	RevokedTime  time.Time // zero where it is not revoked
	LastUsedTime time.Time // to the minute; zero where it was not
	// Left is how long it was until ExpireTime when it was read, by the ledger's clock.
	Left time.Duration
}

// ValidateName accepts [a-z][a-z0-9-]{0,31} but the names that stand for somebody else.
func ValidateName(name string) error {
	if !isName(name) {
		return sequence.Invalidf("name", "%.80q is not of the form [a-z][a-z0-9-]{0,31}", name)
	}
	if slices.Contains(reserved, name) {
		return sequence.Invalidf("name", "%q stands for somebody else", name)
	}
	return nil
}

func isName(name string) bool {
	valid := len(name) >= 1 && len(name) <= MaxName && name[0] >= 'a' && name[0] <= 'z'
	for i := 1; valid && i < len(name); i++ {
		c := name[i]
		valid = c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-'
	}
	return valid
}

// Validate reports all faults of a token that is to be made to last so long (0: for good), joined.
func (t Token) Validate(lifetime time.Duration) error {
	faults := []error{ValidateName(t.Name), t.validateBizTypes()}
	if !slices.Contains(Roles[:], t.Role) {
		faults = append(faults, sequence.Invalidf("role", "is not caller, auditor, operator or admin"))
	}
	if t.Rate < 0 || t.Rate > MaxRate {
		faults = append(faults, sequence.Invalidf("rate", "%d is not from 1 to %d calls a second, or 0 for %d", t.Rate, MaxRate, DefaultRate))
	}
	if t.AbandonBudget < 0 || t.AbandonBudget > MaxAbandonBudget {
		faults = append(faults, sequence.Invalidf("abandonBudget", "%d is not from 1 to %d numbers a minute, or 0 for %d", t.AbandonBudget, MaxAbandonBudget, DefaultAbandonBudget))
	}
	if lifetime != 0 && (lifetime < MinLifetime || lifetime > MaxLifetime) {
		faults = append(faults, sequence.Invalidf("lifetime", "%s is not from %s to %s", lifetime, MinLifetime, MaxLifetime))
	}
	return errors.Join(faults...)
}

func (t Token) validateBizTypes() error {
	switch {
	case t.Role == RoleCaller && len(t.BizTypes) == 0:
		return sequence.Invalidf("bizTypes", "name those that a caller may touch, or %s for all", AnyBizType)
	case t.Role != RoleCaller && len(t.BizTypes) > 0:
		return sequence.Invalidf("bizTypes", "only a caller is bound to some: leave them out for %s", t.Role)
	case len(t.BizTypes) > MaxBizTypes:
		return sequence.Invalidf("bizTypes", "%d are more than %d", len(t.BizTypes), MaxBizTypes)
	}
	for _, name := range t.BizTypes {
		if name == AnyBizType {
			continue
		}
		if err := sequence.ValidateBizTypeName(name); err != nil {
			return sequence.Invalidf("bizTypes", "%s", strings.TrimPrefix(err.Error(), "bizType: "))
		}
	}
	return nil
}

// EffectiveRate is how many calls a second one process takes.
func (t *Token) EffectiveRate() int { return cmp.Or(t.Rate, DefaultRate) }

// EffectiveBudget is how many numbers it may abandon a minute before people are told.
func (t *Token) EffectiveBudget() int64 { return cmp.Or(t.AbandonBudget, DefaultAbandonBudget) }

// Bound reports whether the token is held to the biz types that it names.
func (t *Token) Bound() bool { return t.Role == RoleCaller && !slices.Contains(t.BizTypes, AnyBizType) }

// May answers nil where the token has the right on the biz type, "" for a call that is about none or where
// Bound is false; else a DeniedError.
func (t *Token) May(right Right, bizType string) error {
	if !t.Role.Has(right) {
		return &DeniedError{Name: t.Name, Role: t.Role, Right: right}
	}
	if bizType != "" && t.Bound() && !slices.Contains(t.BizTypes, bizType) {
		return &DeniedError{Name: t.Name, Role: t.Role, Right: right, BizType: bizType}
	}
	return nil
}

// DeniedError is a call that its caller may not make. Nothing of it was done.
type DeniedError struct {
	Name    string
	Role    Role
	Right   Right  // what the call needs; 0 for a call that nobody may make
	BizType string // what the caller may not touch; empty where its role does not do
}

func (e *DeniedError) Error() string {
	switch {
	case e.Right == 0:
		return fmt.Sprintf("the token %s may not make this call: no rule allows it to anybody", e.Name)
	case e.BizType != "":
		return fmt.Sprintf("the token %s (%s) may not touch biz type %.40q: it is bound to others; an admin makes a token for this one", e.Name, e.Role, e.BizType)
	}
	return fmt.Sprintf("the token %s (%s) lacks the right to %s: the call needs a token of role %s", e.Name, e.Role, e.Right, rolesWith(e.Right))
}
