package sequence

import (
	"strconv"
	"unicode"
	"unicode/utf8"
)

// Bounds of the names, in bytes.
const (
	MaxBizTypeName = 32
	MaxSeqNo       = 64
	MaxBizKey      = 128
)

// ValidateBizTypeName accepts [A-Z][A-Z0-9_]{0,31} and answers anything else with an
// InvalidError of the field "bizType".
func ValidateBizTypeName(s string) error {
	valid := len(s) >= 1 && len(s) <= MaxBizTypeName && isUpper(s[0])
	for i := 1; valid && i < len(s); i++ {
		valid = isUpper(s[i]) || isDigit(s[i]) || s[i] == '_'
	}
	if !valid {
		return Invalidf("bizType", "%s is not of the form [A-Z][A-Z0-9_]{0,31}", quote(s))
	}
	return nil
}

// ValidateSeqNo accepts [A-Za-z0-9_-]{1,64} and answers anything else with an InvalidError of
// the field "seqNo".
func ValidateSeqNo(s string) error {
	valid := len(s) >= 1 && len(s) <= MaxSeqNo
	for i := 0; valid && i < len(s); i++ {
		valid = isSeqNoByte(s[i])
	}
	if !valid {
		return Invalidf("seqNo", "%s is not of the form [A-Za-z0-9_-]{1,64}", quote(s))
	}
	return nil
}

// ValidateBizKey accepts at most 128 bytes of UTF-8 without control characters, the empty
// string included, and answers anything else with an InvalidError of the field "bizKey".
func ValidateBizKey(s string) error {
	return validateText("bizKey", s, MaxBizKey)
}

// validateText accepts at most so many bytes of UTF-8 without control characters.
func validateText(field, s string, most int) error {
	if len(s) > most {
		return Invalidf(field, "has %d bytes, the limit is %d", len(s), most)
	}
	if !utf8.ValidString(s) {
		return Invalidf(field, "is not valid UTF-8")
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return Invalidf(field, "contains the control character %U", r)
		}
	}
	return nil
}

func isUpper(b byte) bool { return b >= 'A' && b <= 'Z' }
func isDigit(b byte) bool { return b >= '0' && b <= '9' }

func isSeqNoByte(b byte) bool {
	return isUpper(b) || isDigit(b) || b >= 'a' && b <= 'z' || b == '_' || b == '-'
}

// quote makes foreign input safe and short enough to stand in a message.
func quote(s string) string {
	const most = 80
	if len(s) > most {
		return strconv.QuoteToASCII(s[:most]) + "…"
	}
	return strconv.QuoteToASCII(s)
}
