package sequence

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxWidth is the widest {seq:W}: 10^18 - 1 is the largest such value that an int64 holds.
const MaxWidth = 18

// Format prints values as seq nos: literal text, exactly one zero-padded {seq:W}, an optional date
// of {yyyy} or {yy}, {MM} and {dd}, and an optional check {luhn} or {mod97} at the end. E.g.
// A-{seq:6} prints 129032 as A-129032, and INV{yyyy}{MM}-{seq:6}{luhn} prints 1 of December 2026 as
// INV202612-0000015. Every part has a fixed width. The zero Format prints nothing; use ParseFormat.
type Format struct {
	parts  []part
	width  int // of {seq:W}
	length int // of a seq no, in bytes
	period field
}

// part is literal text or a field.
type part struct {
	field field
	text  string // of a literal
	width int    // in bytes
}

type field int8

const (
	fieldNone field = iota // a literal, or no such field
	fieldSeq
	fieldYear
	fieldShortYear
	fieldMonth
	fieldDay
	fieldLuhn
	fieldMod97
)

// fields are the parts of a template in braces, but {seq:W}, and how wide they print.
var fields = []struct {
	name  string
	field field
	width int
}{
	{"yyyy", fieldYear, 4},
	{"yy", fieldShortYear, 2},
	{"MM", fieldMonth, 2},
	{"dd", fieldDay, 2},
	{"luhn", fieldLuhn, 1},
	{"mod97", fieldMod97, 2},
}

// ParseFormat reads a template. Anything that is not as Format says, or that prints more than 64
// bytes, is an InvalidError of the field "format". A day needs its month, and a month its year: two
// periods must not print the same seq no.
func ParseFormat(template string) (Format, error) {
	var f Format
	for rest := template; rest != ""; {
		p, after, err := cutPart(rest)
		if err != nil {
			return Format{}, Invalidf("format", "%s: %s", quote(template), err)
		}
		if p.field != fieldNone && f.has(p.field) {
			return Format{}, Invalidf("format", "%s: a field occurs once at most", quote(template))
		}
		if p.field == fieldSeq {
			f.width = p.width
		}
		f.parts, f.length, rest = append(f.parts, p), f.length+p.width, after
	}
	if err := f.validate(); err != nil {
		return Format{}, Invalidf("format", "%s: %s", quote(template), err)
	}
	switch {
	case f.has(fieldDay):
		f.period = fieldDay
	case f.has(fieldMonth):
		f.period = fieldMonth
	case f.has(fieldYear) || f.has(fieldShortYear):
		f.period = fieldYear
	}
	return f, nil
}

// cutPart cuts the first literal or field off a template.
func cutPart(template string) (p part, rest string, err error) {
	if template[0] != '{' {
		end := strings.IndexByte(template, '{')
		if end < 0 {
			end = len(template)
		}
		literal := template[:end]
		for i := range len(literal) {
			if !isSeqNoByte(literal[i]) {
				return part{}, "", fmt.Errorf("besides its fields only [A-Za-z0-9_-] may stand")
			}
		}
		return part{text: literal, width: len(literal)}, template[end:], nil
	}
	name, rest, ok := strings.Cut(template[1:], "}")
	if !ok {
		return part{}, "", fmt.Errorf("a brace is not closed")
	}
	if digits, ok := strings.CutPrefix(name, "seq:"); ok {
		width, err := strconv.Atoi(digits)
		if err != nil || width < 1 || width > MaxWidth || strconv.Itoa(width) != digits {
			return part{}, "", fmt.Errorf("the width of {seq:W} is a whole number from 1 to %d", MaxWidth)
		}
		return part{field: fieldSeq, width: width}, rest, nil
	}
	for _, known := range fields {
		if known.name == name {
			return part{field: known.field, width: known.width}, rest, nil
		}
	}
	return part{}, "", fmt.Errorf("the fields are {seq:W}, {yyyy}, {yy}, {MM}, {dd}, {luhn} and {mod97}, not {%s}", name)
}

func (f Format) validate() error {
	year := f.has(fieldYear) || f.has(fieldShortYear)
	switch {
	case !f.has(fieldSeq):
		return fmt.Errorf("there is no field {seq:W}")
	case f.length > MaxSeqNo:
		return fmt.Errorf("a seq no would have %d bytes, the limit is %d", f.length, MaxSeqNo)
	case f.has(fieldYear) && f.has(fieldShortYear):
		return fmt.Errorf("{yyyy} and {yy} exclude each other")
	case f.has(fieldMonth) && !year:
		return fmt.Errorf("{MM} needs {yyyy} or {yy}: its numbers would come again next year")
	case f.has(fieldDay) && !f.has(fieldMonth):
		return fmt.Errorf("{dd} needs {MM}: its numbers would come again next month")
	case f.has(fieldLuhn) && f.has(fieldMod97):
		return fmt.Errorf("{luhn} and {mod97} exclude each other")
	}
	if i := slices.IndexFunc(f.parts, func(p part) bool { return p.field.isCheck() }); i >= 0 && i < len(f.parts)-1 {
		return fmt.Errorf("the check stands at the end")
	}
	return nil
}

func (f field) isCheck() bool { return f == fieldLuhn || f == fieldMod97 }

func (f Format) has(wanted field) bool {
	return slices.ContainsFunc(f.parts, func(p part) bool { return p.field == wanted })
}

// String is the template that ParseFormat read.
func (f Format) String() string {
	var b strings.Builder
	for _, p := range f.parts {
		switch p.field {
		case fieldNone:
			b.WriteString(p.text)
		case fieldSeq:
			fmt.Fprintf(&b, "{seq:%d}", p.width)
		default:
			for _, known := range fields {
				if known.field == p.field {
					b.WriteString("{" + known.name + "}")
				}
			}
		}
	}
	return b.String()
}

// Max is the largest value that fits: 10^W - 1. Each period has its own values up to it.
func (f Format) Max() int64 {
	most := int64(1)
	for range f.width {
		most *= 10
	}
	return most - 1
}

// HasPeriod reports whether the format has a date, so that each period has a cursor of its own.
func (f Format) HasPeriod() bool { return f.period != fieldNone }

// Period names the period that a time falls in, by its own location: "" without a date, else the
// digits of the year, month and day as far as the format has them, e.g. "202612".
func (f Format) Period(t time.Time) string {
	switch f.period {
	case fieldYear:
		return t.Format("2006")
	case fieldMonth:
		return t.Format("200601")
	case fieldDay:
		return t.Format("20060102")
	default:
		return ""
	}
}

// PeriodEnd is when the period that a time falls in is over; the zero time without a date.
func (f Format) PeriodEnd(t time.Time) time.Time {
	y, m, d := t.Date()
	switch f.period {
	case fieldYear:
		return time.Date(y+1, 1, 1, 0, 0, 0, 0, t.Location())
	case fieldMonth:
		return time.Date(y, m+1, 1, 0, 0, 0, 0, t.Location())
	case fieldDay:
		return time.Date(y, m, d+1, 0, 0, 0, 0, t.Location())
	default:
		return time.Time{}
	}
}

// Print formats a value from 0 to Max of a period that Period gave. A larger one would be a wider
// number, which no allocation makes.
func (f Format) Print(period string, value int64) string {
	out := make([]byte, 0, f.length)
	for _, p := range f.parts {
		switch p.field {
		case fieldNone:
			out = append(out, p.text...)
		case fieldSeq:
			out = appendPadded(out, value, p.width)
		case fieldYear:
			out = append(out, period[:4]...)
		case fieldShortYear:
			out = append(out, period[2:4]...)
		case fieldMonth:
			out = append(out, period[4:6]...)
		case fieldDay:
			out = append(out, period[6:8]...)
		case fieldLuhn, fieldMod97:
			out = append(out, checkOf(p.field, string(out))...)
		}
	}
	return string(out)
}

func appendPadded(out []byte, value int64, width int) []byte {
	digits := strconv.FormatInt(value, 10)
	for range width - len(digits) {
		out = append(out, '0')
	}
	return append(out, digits...)
}

// Parse is the inverse of Print; what Print never gives is an InvalidError of the field "seqNo".
// Two digits of a year mean 2000 to 2099.
func (f Format) Parse(seqNo string) (period string, value int64, err error) {
	fault := func() (string, int64, error) {
		return "", 0, Invalidf("seqNo", "%s is not of the format %s", quote(seqNo), f)
	}
	if len(seqNo) != f.length || f.width == 0 {
		return fault()
	}
	var year, month, day string
	at := 0
	for _, p := range f.parts {
		text := seqNo[at : at+p.width]
		if p.field == fieldNone {
			if text != p.text {
				return fault()
			}
		} else if !allDigits(text) {
			return fault()
		}
		switch p.field {
		case fieldSeq:
			if value, err = strconv.ParseInt(text, 10, 64); err != nil {
				return fault()
			}
		case fieldYear:
			year = text
		case fieldShortYear:
			year = "20" + text
		case fieldMonth:
			month = text
		case fieldDay:
			day = text
		case fieldLuhn, fieldMod97:
			if checkOf(p.field, seqNo[:at]) != text {
				return fault()
			}
		case fieldNone:
		}
		at += p.width
	}
	period = year + month + day
	if period != "" {
		if _, err := time.Parse("20060102"[:len(period)], period); err != nil || year == "0000" {
			return fault()
		}
	}
	return period, value, nil
}

func allDigits(s string) bool {
	for i := range len(s) {
		if !isDigit(s[i]) {
			return false
		}
	}
	return true
}
