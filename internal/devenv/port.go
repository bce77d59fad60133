package devenv

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

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
