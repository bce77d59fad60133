// Command dev is `make run`: Lacuna with all its servers on one machine, for development.
//
// settings.go has the ports and folders, system.go starts the parts in order and keeps them
// running, progress.go prints a line for each step.
package main
