// Package devenv finds, installs and runs the servers that Lacuna needs: MariaDB, Redis and the
// Temporal development server, as children of the calling process, on loopback.
//
// Find gives the binaries and installs what is missing; StartMariaDB, StartRedis and
// StartTemporal run them; Child is one running process; Supervisor keeps several running.
// Nothing on the system is configured or started beyond what the caller owns.
//
// `make run` (deploy/dev) and the test kit assemble it. No serving process imports it.
package devenv
