package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strings"
)

// terminal is where a person can be asked.
type terminal struct {
	in     io.Reader
	out    io.Writer // not the standard output, which may be a file
	person bool      // somebody sits there
}

// openTerminal asks on standard error, where standard input is a terminal.
func openTerminal() *terminal {
	return &terminal{in: os.Stdin, out: os.Stderr, person: typedAt(os.Stdin)}
}

// typedAt says whether a file is a device that somebody types at. Jobs have the null device for their standard input.
func typedAt(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// asks is what commands embed that cannot be taken back by another command.
type asks struct {
	Yes bool `help:"Do it without a question."`
}

// acts is asks where the record says who.
type acts struct {
	asks
	Actor string `env:"LACUNA_ACTOR" help:"Who does it, for the record; your name on this machine where nothing is said."`
}

// errNo ends a command that a person did not want.
var errNo = errors.New("nothing was done: the answer was not y")

// agreed asks whether to do it, unless --yes says so; nil means yes. Where nobody can be asked it is refused.
func (a asks) agreed(t *terminal, what string) error {
	if a.Yes {
		return nil
	}
	if !t.person {
		return fmt.Errorf("nothing was done: %s? There is no terminal to ask on: add --yes", what)
	}
	fmt.Fprintf(t.out, "%s? [y/N] ", what)
	answer, err := bufio.NewReader(t.in).ReadString('\n')
	if err != nil && answer == "" {
		return errNo
	}
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return errNo
	}
	return nil
}

// actor is who acts.
func (a acts) actor() (string, error) {
	if name := strings.TrimSpace(a.Actor); name != "" {
		return name, nil
	}
	u, err := user.Current()
	if err != nil {
		return "", fmt.Errorf("find out who acts: %w: say it by --actor or LACUNA_ACTOR", err)
	}
	return u.Username, nil
}
