package devenv

import (
	"io"
	"os"
	"strings"
)

// tailBytes bounds what is read of a log for its last lines.
const tailBytes = 64 << 10

// LogTail is the last lines that this child, not an earlier one, wrote to its log; empty where it
// wrote nothing or has no log of its own.
func (c *Child) LogTail(lines int) string {
	if c.spec.Output != nil {
		return ""
	}
	f, err := os.Open(c.spec.Log)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // it was only read
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	begin := max(c.logged, size-tailBytes)
	out, err := io.ReadAll(io.NewSectionReader(f, begin, size-begin))
	if err != nil {
		return ""
	}
	return lastLines(out, lines)
}

// lastLines is the end of what a program printed.
func lastLines(out []byte, n int) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
