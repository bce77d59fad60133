//go:build !linux

package devenv

import "syscall"

// childAttributes puts a child into a process group of its own.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
