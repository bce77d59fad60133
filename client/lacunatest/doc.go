// Package lacunatest is a double of the Lacuna service for the tests of services that use it: in memory, on
// loopback, in the test's own process.
//
// New serves one until the test ends. BizType makes a numbering, Client gives the client that a service uses, and
// Advance moves the time: numbers time out, windows end, and what was given up is issued again with the next life.
// Fail, Outage and LoseAnswers make trouble; Confirmed, Abandoned, Outstanding and Await tell what became of numbers.
//
// Every step is decided by sequence.Decide, and requests and answers are those of package wire, as in the service
// itself; one suite of named behaviours, internal/conformance, is run against both. What the double leaves out:
// tokens (it takes any, or none), runs in Temporal that could be signalled, probes (nobody is asked, and no number
// is found), and the operators' calls, but for reading a biz type.
//
//	lacuna := lacunatest.New(t)
//	lacuna.BizType("ORDER", "A-{seq:6}")
//	shop := NewShop(db, lacuna.Client())
package lacunatest
