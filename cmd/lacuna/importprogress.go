package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/lacuna-seq/lacuna/db/ledger"
)

// How often progress is shown: on a terminal one line is written over, elsewhere lines follow each other.
const (
	progressOnTerminal = time.Second
	progressElsewhere  = 10 * time.Second
)

// progress shows how far a long command has come.
type progress struct {
	out      io.Writer
	now      func() time.Time
	every    time.Duration
	terminal bool
	next     time.Time
	open     bool // the line on the terminal has not ended
}

func newProgress(out io.Writer, now func() time.Time) *progress {
	p := &progress{out: out, now: now, every: progressElsewhere}
	if f, ok := out.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			p.terminal, p.every = true, progressOnTerminal
		}
	}
	p.next = now().Add(p.every)
	return p
}

func (p *progress) show(at ledger.ImportProgress) {
	now := p.now()
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(p.every)
	line := fmt.Sprintf("%s %d", at.Step, at.Done)
	if at.Total > 0 {
		line += fmt.Sprintf(" of %d (%d %%)", at.Total, 100*at.Done/at.Total)
	}
	if p.terminal {
		fmt.Fprintf(p.out, "\r\033[K%s", line)
		p.open = true
		return
	}
	fmt.Fprintln(p.out, line)
}

// end leaves the line for what comes next.
func (p *progress) end() {
	if p.open {
		fmt.Fprint(p.out, "\r\033[K")
	}
	p.open = false
}
