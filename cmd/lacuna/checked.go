package main

// verdict is what a check came to.
type verdict string

const (
	ok      verdict = "ok"
	warning verdict = "warning"
	wrong   verdict = "wrong"
	skipped verdict = "skipped"
)

// checked is a check of the doctor: what was looked at, what was seen, and what to do.
type checked struct {
	What    string  `json:"check"`
	Verdict verdict `json:"verdict"`
	Seen    string  `json:"seen"`
	Do      string  `json:"do,omitempty"`
}

var checkedColumns = []column[checked]{
	{"check", func(c checked) string { return c.What }},
	{"verdict", func(c checked) string { return string(c.Verdict) }},
	{"seen", func(c checked) string { return c.Seen }},
	{"do", func(c checked) string { return c.Do }},
}

// failure is a check that an error ended.
func failure(what string, err error, do string) checked {
	return checked{What: what, Verdict: wrong, Seen: err.Error(), Do: do}
}
