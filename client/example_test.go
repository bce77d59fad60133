package client_test

import (
	"context"
	"fmt"
	"log"

	"github.com/lacuna-seq/lacuna/client"
)

// A service takes a number, uses it and says so. With a database, InTx does it all.
func Example() {
	address, stop := exampleService() // e.g. http://localhost:8080
	defer stop()

	ctx := context.Background()
	lacuna, err := client.Dial(address)
	if err != nil {
		log.Fatal(err)
	}
	defer lacuna.Close(ctx) //nolint:errcheck // nothing is left to say

	number, err := lacuna.Next(ctx, "ORDER", client.ForBizKey("cart-17"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(number.SeqNo, "life", number.Life)

	outcome, err := lacuna.Confirm(ctx, number.Ticket)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(outcome)
	// Output:
	// A-000001 life 1
	// CONFIRMED
}
