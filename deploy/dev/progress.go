package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// progress prints one line per step with its time, and the lines that steps have to say.
type progress struct {
	mu  sync.Mutex
	out io.Writer
}

// step runs f and prints its line when it is done.
func (p *progress) step(name string, f func() (detail string, err error)) error {
	begun := time.Now()
	detail, err := f()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	p.say("  %-10s %-66s %5.1f s", name, detail, time.Since(begun).Seconds())
	return nil
}

func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, format+"\n", args...)
}

// tell is for what comes up in between.
func (p *progress) tell(format string, args ...any) { p.say("  · "+format, args...) }
