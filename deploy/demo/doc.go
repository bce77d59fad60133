// Command demo is a small shop that takes its order numbers from Lacuna, as a user's service would:
// concurrent shoppers, real transactions through client.InTx, an orders table with a unique key on
// the number. It replays recorded traffic and ends with a report in which it checks its own orders
// against the ledger.
//
// events.go reads traffic, generate.go makes the two files beside it, shop.go is the shop, books.go
// its tables, audit.go the check, live.go and report.go what is printed.
package main
