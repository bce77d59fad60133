package devenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// stopGrace is how long a child has after SIGTERM where the caller's context sets no end.
const stopGrace = 20 * time.Second

// Spec says how to run a child.
type Spec struct {
	Name string // in messages
	Path string
	Args []string
	Env  []string // added to this process's environment
	Dir  string
	// Log is the file that the child's output is appended to; with Output set it goes there.
	Log    string
	Output io.Writer
}

// Child is one running process, in a process group of its own, so that a terminal's Ctrl-C does
// not reach it before its parent has decided. It does not survive its parent.
type Child struct {
	spec   Spec
	cmd    *exec.Cmd
	logged int64 // how much of the log is an earlier child's
	done   chan struct{}
	exit   error // of os/exec
	err    error // for people
}

// Start runs a child. It is up as a process when Start returns, not necessarily ready.
func Start(spec Spec) (*Child, error) {
	c := &Child{spec: spec, done: make(chan struct{})}
	c.cmd = exec.Command(spec.Path, spec.Args...)
	c.cmd.Dir, c.cmd.Env = spec.Dir, append(os.Environ(), spec.Env...)
	c.cmd.SysProcAttr = childAttributes()
	c.cmd.Stdout, c.cmd.Stderr = spec.Output, spec.Output
	if spec.Output == nil {
		log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, fmt.Errorf("start %s: open its log: %w", spec.Name, err)
		}
		defer log.Close() //nolint:errcheck // the child has its own handle
		if c.logged, err = log.Seek(0, io.SeekEnd); err != nil {
			return nil, fmt.Errorf("start %s: measure its log: %w", spec.Name, err)
		}
		c.cmd.Stdout, c.cmd.Stderr = log, log
	}
	if err := onSpawner(c.cmd.Start); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	go func() {
		c.exit = c.cmd.Wait()
		c.err = errors.New(c.ending() + c.lastWords())
		close(c.done)
	}()
	return c, nil
}

// Name is the child's name in messages.
func (c *Child) Name() string { return c.spec.Name }

// Pid is the child's process ID.
func (c *Child) Pid() int { return c.cmd.Process.Pid }

// Done is closed when the child has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Err says how the child ended, with the last lines of its log; nil while it runs.
func (c *Child) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// ExitError is how the child ended, as of os/exec; nil where it ended well or runs.
func (c *Child) ExitError() error {
	select {
	case <-c.done:
		return c.exit
	default:
		return nil
	}
}

// Stop asks the child to end and waits; when ctx ends, or after 20 s, it is killed.
func (c *Child) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	c.signal(syscall.SIGCONT)
	c.signal(syscall.SIGTERM)
	select {
	case <-c.done:
		return nil
	case <-ctx.Done():
		c.Kill()
		return fmt.Errorf("%s did not end in time and was killed", c.spec.Name)
	}
}

// Kill ends the child and what it started, as kill -9 does, and waits until it is gone.
func (c *Child) Kill() {
	if err := syscall.Kill(-c.Pid(), syscall.SIGKILL); err != nil {
		c.signal(syscall.SIGKILL)
	}
	<-c.done
}

// Pause freezes the child (SIGSTOP) until Resume.
func (c *Child) Pause() { c.signal(syscall.SIGSTOP) }

// Resume lets a paused child go on.
func (c *Child) Resume() { c.signal(syscall.SIGCONT) }

// signal reaches a child that may have ended; then there is nothing to do.
func (c *Child) signal(s syscall.Signal) { _ = c.cmd.Process.Signal(s) }

// ending says in a few words how the child ended.
func (c *Child) ending() string { return fmt.Sprintf("%s ended (%s)", c.spec.Name, c.cmd.ProcessState) }

func (c *Child) lastWords() string {
	if words := c.LogTail(5); words != "" {
		return fmt.Sprintf(", last lines of %s:\n%s", c.spec.Log, words)
	}
	return ""
}

// AwaitReady asks ready until it answers, the child ends or ctx does; then the child is killed.
func (c *Child) AwaitReady(ctx context.Context, ready func(context.Context) error) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil && c.Err() == nil {
			return nil
		}
		select {
		case <-c.done:
			return c.err
		case <-ctx.Done():
			c.Kill()
			return errors.Join(fmt.Errorf("%s did not become ready: %w", c.spec.Name, err), ctx.Err())
		case <-tick.C:
		}
	}
}
