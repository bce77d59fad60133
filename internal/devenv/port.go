package devenv

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"syscall"
)

// ErrPortInUse is why a server was not started: its port is another's.
var ErrPortInUse = errors.New("somebody else listens there")

// Ports that FreePort chooses from: below those that systems give to outgoing connections, which
// could take a port between its choice and its use.
const (
	firstFreePort = 20_000
	lastFreePort  = 32_000
)

// given are the ports that this process has been given already.
var given sync.Map

// FreePort is a TCP port on loopback that nobody listened on a moment ago. It gives no port twice.
func FreePort() (int, error) {
	for range 1000 {
		port := firstFreePort + rand.IntN(lastFreePort-firstFreePort)
		if _, taken := given.LoadOrStore(port, true); taken {
			continue
		}
		if l, err := net.Listen("tcp", Address(port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("find a free port: none of 1,000 between %d and %d is free", firstFreePort, lastFreePort)
}

// CheckPort returns an ErrPortInUse that names who wants the port and the setting that moves it.
func CheckPort(name string, port int, setting string) error {
	err := checkPort(name, port)
	if errors.Is(err, ErrPortInUse) {
		return fmt.Errorf("%w; stop it, or choose another port with %s", err, setting)
	}
	if err != nil {
		return fmt.Errorf("%w; choose another with %s", err, setting)
	}
	return nil
}

func checkPort(name string, port int) error {
	l, err := net.Listen("tcp", Address(port))
	if errors.Is(err, syscall.EADDRINUSE) {
		err = ErrPortInUse
	}
	if err != nil {
		return fmt.Errorf("port %d, which %s needs, cannot be had: %w", port, name, err)
	}
	return l.Close()
}

// Address is a port on loopback.
func Address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
