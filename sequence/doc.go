// Package sequence holds the words and rules of sequence numbers, and nothing else.
//
// Its parts are the names (BizType, Ticket, Format), the row of one number (Number, State),
// and Decide, the one function that says what a command does to a number. SQL, workflows, API
// and tests all read that function; nobody else moves a number from one state to another.
//
// The package is pure: no clock, no randomness, no input or output. Everybody may import it,
// and it imports nothing of this module.
package sequence
