// Package console is the web console: pages for the people who run Lacuna, rendered here, readable without
// JavaScript.
//
// It is a client of the API and of nothing else: a page asks what a command of the command line would ask, in the
// name of whoever is signed in, so that rules, budgets and records are the same for a person as for a token. console.go
// joins the parts; session.go says who is signed in, guard.go keeps other sites out, render.go makes HTML, fault.go
// says errors in words. Every page is a file, with its template of the same name.
//
// The starter mounts it at / and gives it the API, served in process.
package console
