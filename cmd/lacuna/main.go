// Command lacuna is the operators' command line: each command is a file of this folder. What asks a
// running system goes through the starter's API; migrate and import work on the ledger itself.
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

	"github.com/lacuna-seq/lacuna/internal/buildinfo"
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
	Get        getCommand        `cmd:"" help:"Show what is known of a number, and why it is not in use."`
	List       listCommand       `cmd:"" help:"List numbers of a biz type: by state, by whom they are for, by range, by time."`
	Stuck      stuckCommand      `cmd:"" help:"List what needs a hand, each with what to do. Exit code 2 where something does."`
	Doctor     doctorCommand     `cmd:"" help:"Check every server, the patrol and the clocks. Exit code 2 where something is wrong."`
	Dead       deadCommands      `cmd:"" help:"List the numbers that wait for a person, send them back, or write them off."`
	Conflicts  conflictsCommand  `cmd:"" help:"List where two holders of a number met."`
	Audit      auditCommand      `cmd:"" help:"Say where every number is, and whether all adds up. Exit code 2 where it does not."`
	Map        mapCommand        `cmd:"" help:"Draw where the numbers of a range are, a letter for many or for one."`
	Verify     verifyCommand     `cmd:"" help:"Recompute the seals of numbers that are final. Exit code 2 where one does not agree."`
	Window     windowCommand     `cmd:"" help:"Weigh safety windows by the confirms that came late."`
	Pool       poolCommands      `cmd:"" help:"Compare the pool in Redis with the ledger, and bring it back."`
	Ledger     ledgerCommands    `cmd:"" help:"Find out whether the ledger stepped back, and raise it."`
	Types      typesCommands     `cmd:"" help:"List, read and change biz types."`
	Next       nextCommand       `cmd:"" help:"Take numbers, as a service would."`
	Confirm    confirmCommand    `cmd:"" help:"Say that numbers are in use. Exit code 2 where one was refused."`
	Abandon    abandonCommand    `cmd:"" help:"Give numbers up. Exit code 2 where one was refused."`
	Token      tokenCommands     `cmd:"" help:"Make, list and revoke the tokens that callers carry."`
	Migrate    migrateCommands   `cmd:"" help:"Bring the ledger's tables up to date."`
	Import     importCommand     `cmd:"" help:"Take the numbers of another system into the ledger."`
	Completion completionCommand `cmd:"" help:"Print what makes a shell complete commands and flags."`

	Version kong.VersionFlag `help:"Print the version, the commit and its date."`
}

func run(ctx context.Context, args []string, out io.Writer) error {
	return runAt(ctx, args, out, openTerminal())
}

// runAt is run for a person at the terminal.
func runAt(ctx context.Context, args []string, out io.Writer, t *terminal) error {
	var c commands
	parser, err := newParser(ctx, &c, out, t)
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

func newParser(ctx context.Context, c *commands, out io.Writer, t *terminal) (*kong.Kong, error) {
	return kong.New(c, kong.Name("lacuna"), kong.Description("Lacuna: sequence numbers without lasting gaps."), kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Writers(out, os.Stderr), kong.BindTo(ctx, (*context.Context)(nil)), kong.BindTo(out, (*io.Writer)(nil)),
		kong.Bind(t), kong.Vars{"version": "lacuna " + buildinfo.Read().String()})
}
