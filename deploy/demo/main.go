package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
)

// settings are flags, each also an environment variable.
type settings struct {
	Events   string        `name:"events" default:"deploy/demo/events-short.csv" help:"Traffic to replay: at_ms,key,outcome,duration_ms."`
	Speed    float64       `name:"speed" default:"1" help:"How much faster than recorded the traffic is replayed."`
	URL      string        `name:"url" env:"LACUNA_URL" default:"http://127.0.0.1:8080" help:"Lacuna's API."`
	ShopDSN  string        `name:"shop-dsn" env:"LACUNA_SHOP_DSN" help:"The shop's own database."`
	DSN      string        `name:"mysql-dsn" env:"LACUNA_MYSQL_DSN" help:"The ledger, to check the orders against."`
	BizType  string        `name:"biz-type" default:"DEMO"`
	Patience time.Duration `name:"patience" default:"30s" help:"How much longer than its times a number may take to come to rest, before it is reported as held."`
	Generate string        `name:"generate" enum:",short,long" default:"" help:"Print traffic instead: short (1,000 events) or long (10,000)."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	switch {
	case errors.Is(err, errBroken):
		os.Exit(2)
	case err != nil && ctx.Err() == nil:
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	var s settings
	parser, err := kong.New(&s, kong.Name("demo"), kong.Description("A shop that takes its order numbers from Lacuna. Exit code 2: an invariant is broken."))
	if err != nil {
		return err
	}
	if _, err := parser.Parse(args); err != nil {
		return err
	}
	if s.Generate != "" {
		return writeEvents(os.Stdout, generate(s.Generate == "long"))
	}
	if s.Speed <= 0 {
		return fmt.Errorf("--speed %g is not above 0", s.Speed)
	}
	events, err := readFile(s.Events)
	if err != nil {
		return err
	}
	shop, err := openShop(ctx, s)
	if err != nil {
		return err
	}
	defer shop.close()
	return shop.trade(ctx, events, s.Speed)
}
