// Package conformance is what a service may rely on, as named behaviours: Run holds a target to them. They are run
// against the real programs (e2e) and against the double of client/lacunatest, so that a service which passes its
// tests with the double meets nothing else in production.
//
// A behaviour has a biz type of its own and speaks through the client or plain JSON only.
package conformance
