package sequence

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxWidth is the widest {seq:W}: 10^18 - 1 is the largest such value that an int64 holds.
const MaxWidth = 18

const (
	fieldOpen  = "{seq:"
	fieldClose = "}"
)

// Format prints values as seq nos: literal text around one zero-padded {seq:W}, e.g.
// A-{seq:6} prints 129032 as A-129032. The zero Format prints nothing; use ParseFormat.
type Format struct {
	prefix, suffix string
	width          int
}

// ParseFormat reads a template. Literals are of [A-Za-z0-9_-], the field {seq:W} occurs exactly
// once with W from 1 to 18, and the seq no is at most 64 bytes long; anything else is an
// InvalidError of the field "format".
func ParseFormat(template string) (Format, error) {
	prefix, rest, ok := strings.Cut(template, fieldOpen)
	digits, suffix, ok2 := strings.Cut(rest, fieldClose)
	if !ok || !ok2 {
		return Format{}, Invalidf("format", "%s has no field {seq:W}", quote(template))
	}
	width, err := strconv.Atoi(digits)
	if err != nil || width < 1 || width > MaxWidth || strconv.Itoa(width) != digits {
		return Format{}, Invalidf("format", "%s: the width of {seq:W} is a whole number from 1 to %d", quote(template), MaxWidth)
	}
	f := Format{prefix: prefix, suffix: suffix, width: width}
	if err := ValidateSeqNo(f.Print(0)); err != nil {
		return Format{}, Invalidf("format", "%s: besides one {seq:W} only [A-Za-z0-9_-] may stand, and a seq no has at most %d bytes", quote(template), MaxSeqNo)
	}
	return f, nil
}

// String is the template that ParseFormat read.
func (f Format) String() string {
	return f.prefix + fieldOpen + strconv.Itoa(f.width) + fieldClose + f.suffix
}

// Max is the largest value that fits: 10^W - 1.
func (f Format) Max() int64 {
	most := int64(1)
	for range f.width {
		most *= 10
	}
	return most - 1
}

// Print formats a value from 0 to Max. A larger one would be a wider number, which no allocation makes.
func (f Format) Print(value int64) string {
	return fmt.Sprintf("%s%0*d%s", f.prefix, f.width, value, f.suffix)
}

// Parse is the inverse of Print; what Print never gives is an InvalidError of the field "seqNo".
func (f Format) Parse(seqNo string) (int64, error) {
	rest, ok := strings.CutPrefix(seqNo, f.prefix)
	digits, ok2 := strings.CutSuffix(rest, f.suffix)
	if ok && ok2 && len(digits) == f.width {
		if value, err := strconv.ParseUint(digits, 10, 63); err == nil {
			return int64(value), nil
		}
	}
	return 0, Invalidf("seqNo", "%s is not of the format %s", quote(seqNo), f)
}
