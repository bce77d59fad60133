// Package access says who calls and what they may do: callers carry tokens, a token has a role, and a role
// has rights.
//
// role.go has the rules, token.go what the ledger keeps of a token, text.go the text that its holder has.
// Keyring knows the tokens: it is asked for each call, in memory, and follows the ledger by Watch. meter.go
// bounds what one token may do. The starter puts these in front of its services.
package access
