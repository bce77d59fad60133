package sequence

import "strconv"

// Source is where the values of a biz type come from.
type Source int8

const (
	// SourceSegment takes blocks off the cursor in the ledger. It is the only one for periods.
	SourceSegment Source = iota + 1
	// SourceRedis takes blocks off a counter in Redis; while Redis is away, off the cursor.
	SourceRedis
	// SourceAutoinc takes blocks off a table with AUTO_INCREMENT.
	SourceAutoinc
)

// Sources lists every source.
var Sources = [...]Source{SourceSegment, SourceRedis, SourceAutoinc}

// String is the source in capitals, e.g. "SEGMENT".
func (s Source) String() string {
	switch s {
	case SourceSegment:
		return "SEGMENT"
	case SourceRedis:
		return "REDIS"
	case SourceAutoinc:
		return "AUTOINC"
	}
	return "SOURCE_" + strconv.Itoa(int(s))
}

// ParseSource reads what String spelled.
func ParseSource(name string) (Source, error) { return named(Sources[:], "source", name) }

// named finds the one of all that is spelled so.
func named[T interface{ String() string }](all []T, what, name string) (T, error) {
	for _, known := range all {
		if known.String() == name {
			return known, nil
		}
	}
	var none T
	return none, Invalidf(what, "%s is not one of %v", quote(name), all)
}
