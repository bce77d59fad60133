package access

import (
	"strconv"

	"github.com/lacuna-seq/lacuna/sequence"
)

// Right is what a call needs.
type Right int8

// The rights. Those over numbers reach a caller's own biz types only.
const (
	RightIssue      Right = iota + 1 // to take numbers
	RightSettle                      // to confirm, to abandon, to ask for more time
	RightLook                        // to read a number or the rules of a biz type
	RightRead                        // to read what is about the whole
	RightOperate                     // to act on dead letters and on the pool
	RightAdminister                  // to make and change biz types and tokens
)

// Rights lists every right.
var Rights = [...]Right{RightIssue, RightSettle, RightLook, RightRead, RightOperate, RightAdminister}

// String is the right as it ends the words "the right to", e.g. "take numbers".
func (r Right) String() string {
	switch r {
	case RightIssue:
		return "take numbers"
	case RightSettle:
		return "settle numbers"
	case RightLook:
		return "read numbers"
	case RightRead:
		return "read everything"
	case RightOperate:
		return "operate"
	case RightAdminister:
		return "administer"
	}
	return "RIGHT_" + strconv.Itoa(int(r))
}

// Role is what a token may do.
type Role int8

const (
	// RoleCaller is a service: it takes and settles numbers of the biz types that its token names, and reads them.
	RoleCaller Role = iota + 1
	// RoleAuditor reads everything and changes nothing.
	RoleAuditor
	// RoleOperator is an auditor who acts on dead letters and the pool, and settles numbers by hand.
	RoleOperator
	// RoleAdmin may do everything.
	RoleAdmin
)

// Roles lists every role.
var Roles = [...]Role{RoleCaller, RoleAuditor, RoleOperator, RoleAdmin}

// String is the role's name, e.g. "caller".
func (r Role) String() string {
	switch r {
	case RoleCaller:
		return "caller"
	case RoleAuditor:
		return "auditor"
	case RoleOperator:
		return "operator"
	case RoleAdmin:
		return "admin"
	}
	return "ROLE_" + strconv.Itoa(int(r))
}

// ParseRole reads what String spelled.
func ParseRole(name string) (Role, error) {
	for _, r := range Roles {
		if r.String() == name {
			return r, nil
		}
	}
	return 0, sequence.Invalidf("role", "%q is not caller, auditor, operator or admin", name)
}

// Has reports whether the role has the right, on some biz types at least.
func (r Role) Has(right Right) bool {
	switch r {
	case RoleCaller:
		return right == RightIssue || right == RightSettle || right == RightLook
	case RoleAuditor:
		return right == RightLook || right == RightRead
	case RoleOperator:
		return right == RightLook || right == RightRead || right == RightSettle || right == RightOperate
	case RoleAdmin:
		return right >= RightIssue && right <= RightAdminister
	}
	return false
}

// rolesWith names the roles that have the right, for people.
func rolesWith(right Right) string {
	var names string
	for _, r := range Roles {
		if r.Has(right) {
			if names != "" {
				names += ", "
			}
			names += r.String()
		}
	}
	return names
}
