package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/lacuna-seq/lacuna/internal/wait"
)

// screen prints whole lines, and on a terminal one live line below them.
type screen struct {
	mu       sync.Mutex
	out      io.Writer
	terminal bool
	live     string
	troubles int
}

func newScreen(out *os.File) *screen {
	info, err := out.Stat()
	return &screen{out: out, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

func (s *screen) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	fmt.Fprintf(s.out, format+"\n", args...)
}

// trouble counts a failed try, and prints the first of a kind of times.
func (s *screen) trouble(err error) {
	s.mu.Lock()
	s.troubles++
	n := s.troubles
	s.mu.Unlock()
	if n == 1 || n%100 == 0 {
		s.say("%d tries failed and are repeated, the last: %.120s", n, err.Error())
	}
}

// update replaces the live line; elsewhere than on a terminal it prints one.
func (s *screen) update(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.terminal {
		fmt.Fprintln(s.out, line)
		return
	}
	s.erase()
	s.live = line
	fmt.Fprint(s.out, line)
}

func (s *screen) erase() {
	if s.live != "" {
		fmt.Fprint(s.out, "\r\033[K")
		s.live = ""
	}
}

// watch keeps the live line true until ctx ends.
func (s *shop) watch(ctx context.Context) {
	every := time.Second
	if !s.screen.terminal {
		every = 10 * time.Second
	}
	for wait.For(ctx, every) == nil {
		t, err := s.count(ctx)
		if err != nil {
			s.screen.trouble(err)
			continue
		}
		s.screen.update(fmt.Sprintf("issued %d  confirmed %d  abandoned %d  in window %d  re-issued %d  gaps %d",
			t.issued, t.confirmed, t.abandoned, t.inWindow, t.reissued, t.gaps))
	}
}
