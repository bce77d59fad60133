package console

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// timeWords is a time as people read it, to the second, in UTC.
func timeWords(t time.Time) string {
	if t.IsZero() {
		return "—"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// durationWords is a duration in its two largest units, e.g. 2 h 5 min.
func durationWords(d time.Duration) string {
	if d < 0 {
		return "0 s"
	}
	if d < time.Second && d > 0 {
		return fmt.Sprintf("%d ms", max(d.Milliseconds(), 1))
	}
	d = d.Round(time.Second)
	parts := []struct {
		n    time.Duration
		unit string
	}{{d / (24 * time.Hour), "d"}, {d % (24 * time.Hour) / time.Hour, "h"}, {d % time.Hour / time.Minute, "min"}, {d % time.Minute / time.Second, "s"}}
	var words []string
	for _, p := range parts {
		if p.n > 0 {
			words = append(words, fmt.Sprintf("%d %s", p.n, p.unit))
		} else if len(words) > 0 {
			break
		}
		if len(words) == 2 {
			break
		}
	}
	if len(words) == 0 {
		return "0 s"
	}
	return strings.Join(words, " ")
}

// shareWords is a share in per cent. What is hardly anything is not called nothing.
func shareWords(percent float64) string {
	if percent > 0 && percent < 0.1 {
		return "< 0.1 %"
	}
	return fmt.Sprintf("%.1f %%", percent)
}

// counted is countWords of a number that may be nowhere, as in templates.
func counted(n any) (string, error) {
	switch n := n.(type) {
	case int64:
		return countWords(n), nil
	case *int64:
		if n == nil {
			return "—", nil
		}
		return countWords(*n), nil
	case int32:
		return countWords(int64(n)), nil
	case int:
		return countWords(int64(n)), nil
	}
	return "", fmt.Errorf("%T is no count", n)
}

// countWords is a count with a comma between its thousands.
func countWords(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}
