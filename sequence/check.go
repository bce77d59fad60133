package sequence

import (
	"fmt"
	"strconv"
)

// checkOf is the check over everything that stands before it in a seq no. Digits count as they are,
// letters of either case as 10 to 35 (as in ISO 6166 and ISO 7064), hyphens and underscores not at all.
func checkOf(f field, text string) string {
	digits := expand(text)
	if f == fieldLuhn {
		return strconv.Itoa(luhn(digits))
	}
	return fmt.Sprintf("%02d", mod97(digits))
}

// expand spells a text in digits.
func expand(text string) []byte {
	digits := make([]byte, 0, 2*len(text))
	for i := range len(text) {
		c := text[i]
		switch {
		case isDigit(c):
			digits = append(digits, c-'0')
		case c >= 'a' && c <= 'z':
			n := c - 'a' + 10
			digits = append(digits, n/10, n%10)
		case isUpper(c):
			n := c - 'A' + 10
			digits = append(digits, n/10, n%10)
		}
	}
	return digits
}

// luhn is the digit that makes the sum of ISO/IEC 7812-1, annex B, a multiple of ten.
func luhn(digits []byte) int {
	sum := 0
	for i := range digits {
		d := int(digits[len(digits)-1-i])
		if i%2 == 0 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return (10 - sum%10) % 10
}

// mod97 is the two digits that make the whole 1 modulo 97, as in ISO 7064 MOD 97-10.
func mod97(digits []byte) int {
	rest := 0
	for _, d := range digits {
		rest = (10*rest + int(d)) % 97
	}
	return 98 - 100*rest%97
}
