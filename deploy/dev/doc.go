// Command dev is `make run`: Lacuna with all its servers on one machine, for development.
//
// settings.go has the ports and folders, system.go starts the parts in order and keeps them
// running, token.go makes an admin's token, progress.go prints a line for each step.
package main
