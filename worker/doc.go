// Command worker is the Temporal worker: it runs the lifecycles of numbers and their activities.
// run.go assembles and ends the process.
package main
