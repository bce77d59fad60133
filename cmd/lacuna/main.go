// Command lacuna is the operators' command line: each command is a file of this folder. What asks a
// running system goes through the starter's API; migrate works on the ledger itself.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// Exit codes, for scripts.
const (
	exitFailed   = 1 // the command could not do what was asked
	exitFindings = 2 // it did, and what it found needs a person
)

// errFindings ends a command that worked and whose findings need a person; it has printed them.
var errFindings = errors.New("see the findings above")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "lacuna:", err)
		os.Exit(exitCode(err))
	}
}

func exitCode(err error) int {
	if errors.Is(err, errFindings) {
		return exitFindings
	}
	return exitFailed
}

// commands is the command line. Each command has a Run method, which kong gives what it asks for.
type commands struct {
	Audit   auditCommand    `cmd:"" help:"Say where every number is, and whether all adds up. Exit code 2 where it does not."`
	Migrate migrateCommands `cmd:"" help:"Bring the ledger's tables up to date."`
	Window  windowCommand   `cmd:"" help:"Weigh safety windows by the confirms that came late."`
	Pool    poolCommands    `cmd:"" help:"Compare the pool in Redis with the ledger, and bring it back."`
	Token   tokenCommands   `cmd:"" help:"Make, list and revoke the tokens that callers carry."`
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var c commands
	parser, err := kong.New(&c, kong.Name("lacuna"), kong.Description("Lacuna: sequence numbers without lasting gaps."), kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Writers(out, os.Stderr), kong.BindTo(ctx, (*context.Context)(nil)), kong.BindTo(out, (*io.Writer)(nil)))
	if err != nil {
		return err
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		return err
	}
	return parsed.Run(&c)
}
