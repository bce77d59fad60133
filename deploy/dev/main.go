package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/lacuna-seq/lacuna/internal/devenv"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err := run(ctx, os.Args[1:])
	var shop shopEnded
	if errors.As(err, &shop) {
		os.Exit(shop.code)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "make run:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	var s settings
	parser, err := kong.New(&s, kong.Name("dev"), kong.Description("Lacuna with all its servers on this machine."))
	if err != nil {
		return err
	}
	if _, err := parser.Parse(args); err != nil {
		return err
	}
	if s.Dir, err = filepath.Abs(s.Dir); err != nil {
		return err
	}
	release, err := devenv.Hold(s.Dir)
	if errors.Is(err, devenv.ErrHeld) {
		return fmt.Errorf("%w: Lacuna runs there already; stop that, or name another folder by LACUNA_DEV_DIR, and other ports", err)
	}
	if err != nil {
		return err
	}
	defer release()
	if s.Forget {
		return s.forget()
	}
	return newSystem(s, os.Stdout).run(ctx)
}
