package devenv

import (
	"fmt"
	"net"
	"strconv"
)

// FreePort is a TCP port on loopback that nobody listened on a moment ago.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // a TCP listener has a TCP address
	return port, l.Close()
}

// CheckPort returns an error that names who wants the port and how to move it, when it is in use.
func CheckPort(name string, port int, setting string) error {
	l, err := net.Listen("tcp", Address(port))
	if err != nil {
		return fmt.Errorf("port %d, which %s needs, is in use: stop what listens there, or choose another with %s", port, name, setting)
	}
	return l.Close()
}

// Address is a port on loopback.
func Address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
