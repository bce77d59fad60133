package devenv

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrHeld says that another process has a folder.
var ErrHeld = errors.New("in use")

// Hold takes a folder of data for this process, so that no second one starts servers on it or removes it. The error
// is an ErrHeld with the other's process ID where another has it. What is held ends with its process at the latest.
func Hold(dir string) (release func(), err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("hold the data folder: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		holder, _ := io.ReadAll(io.LimitReader(f, 20))
		err = fmt.Errorf("%s is %w by process %s", dir, ErrHeld, strings.TrimSpace(string(holder)))
	}
	if err == nil {
		if err = f.Truncate(0); err == nil {
			_, err = f.WriteAt(fmt.Appendln(nil, os.Getpid()), 0)
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { _ = f.Close() }, nil
}
