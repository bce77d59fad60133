package main

import (
	"strconv"

	"github.com/lacuna-seq/lacuna/sequence"
)

// Bounds of a page of a list.
const (
	defaultPage = 100
	maxPage     = 1_000
)

// cutPage keeps so many of a list that was asked for one more, and names the page after it by the last one's
// id; "" where there is none.
func cutPage[T any](all []T, size int, id func(T) int64) (page []T, next string) {
	if len(all) <= size {
		return all, ""
	}
	return all[:size], strconv.FormatInt(id(all[size-1]), 10)
}

// pageOf reads which page is asked for: how long it is, and after which id it begins.
func pageOf(m interface {
	GetPageSize() int32
	GetPageToken() string
}) (size int, after int64, err error) {
	if m.GetPageToken() != "" {
		if after, err = strconv.ParseInt(m.GetPageToken(), 10, 64); err != nil || after < 1 {
			return 0, 0, sequence.Invalidf("pageToken", "is not one that an answer gave")
		}
	}
	size, err = oneTo("pageSize", m.GetPageSize(), defaultPage, maxPage)
	return size, after, err
}

// oneTo reads a bound whose 0 means its default.
func oneTo(field string, asked int32, byDefault, most int) (int, error) {
	if asked == 0 {
		return byDefault, nil
	}
	if asked < 0 || int(asked) > most {
		return 0, sequence.Invalidf(field, "%d is not from 1 to %d", asked, most)
	}
	return int(asked), nil
}
