package ledger

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"sort"
)

// valuesPerPage is how many values share a page of a valueSet.
const valuesPerPage = 1024

// valueSet is a set of values from 0 on, a bit each. A million that lie close together take 200 KB; far
// apart they take some 200 bytes each.
type valueSet map[int64]*[valuesPerPage / 64]uint64

// add adds a value and reports whether it is new.
func (s valueSet) add(value int64) bool {
	page := s[value/valuesPerPage]
	if page == nil {
		page = new([valuesPerPage / 64]uint64)
		s[value/valuesPerPage] = page
	}
	at := value % valuesPerPage
	word, bit := &page[at/64], uint64(1)<<(at%64)
	fresh := *word&bit == 0
	*word |= bit
	return fresh
}

func (s valueSet) has(value int64) bool {
	page := s[value/valuesPerPage]
	at := value % valuesPerPage
	return page != nil && page[at/64]&(1<<(at%64)) != 0
}

// any reports whether one of the values from lo to hi is there.
func (s valueSet) any(lo, hi int64) bool {
	all := []span{{lo, hi}}
	return lo <= hi && !slices.Equal(s.gaps(lo, hi), all)
}

// span is the values from lo to hi.
type span struct{ lo, hi int64 }

// gaps are the values from lo to hi, both at least 0, that are not there, in their order.
func (s valueSet) gaps(lo, hi int64) []span {
	var all []span
	next := lo // the first value that is not decided
	gap := func(to int64) {
		if to = min(to, hi); next <= to {
			all = append(all, span{next, to})
		}
	}
	for _, number := range slices.Sorted(maps.Keys(s)) {
		first := number * valuesPerPage
		if first+valuesPerPage <= lo || first > hi {
			continue
		}
		for i, word := range s[number] {
			for word != 0 {
				run := span{lo: first + int64(64*i+bits.TrailingZeros64(word))}
				length := bits.TrailingZeros64(^(word >> bits.TrailingZeros64(word)))
				run.hi = run.lo + int64(length) - 1
				word &^= (^uint64(0) >> (64 - length)) << (run.lo - first - int64(64*i))
				gap(run.lo - 1)
				next = max(next, run.hi+1)
			}
		}
	}
	gap(hi)
	return all
}

// without gives what is left of spans after others, both in order, are cut out.
func without(spans, cut []span) []span {
	slices.SortFunc(cut, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
	var left []span
	from := 0
	for _, s := range spans {
		for from < len(cut) && cut[from].hi < s.lo {
			from++
		}
		for i := from; i < len(cut) && cut[i].lo <= s.hi; i++ {
			if cut[i].lo > s.lo {
				left = append(left, span{s.lo, cut[i].lo - 1})
			}
			s.lo = max(s.lo, cut[i].hi+1)
		}
		if s.lo <= s.hi {
			left = append(left, s)
		}
	}
	return left
}

func (s valueSet) clone() valueSet {
	c := make(valueSet, len(s))
	for number, page := range s {
		copied := *page
		c[number] = &copied
	}
	return c
}

// within reports whether one of the spans, which are in order and apart, has the value.
func within(spans []span, value int64) bool {
	after := sort.Search(len(spans), func(i int) bool { return spans[i].lo > value })
	return after > 0 && value <= spans[after-1].hi
}
