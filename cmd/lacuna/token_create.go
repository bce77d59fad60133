package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/internal/access"
)

type tokenCreate struct {
	api
	Name          string        `arg:"" help:"Whose it is: [a-z][a-z0-9-]{0,31}. It stands with what its holder does, and is never given twice."`
	Role          string        `required:"" enum:"caller,auditor,operator,admin" help:"caller, auditor, operator or admin."`
	BizType       []string      `name:"biz-type" placeholder:"ORDER" help:"What a caller may touch; may be repeated, * for all."`
	Expires       time.Duration `placeholder:"720h" help:"How long it lasts; for good where nothing is said."`
	Rate          int32         `placeholder:"10000" help:"How many calls a second one starter takes."`
	AbandonBudget int64         `placeholder:"10000" help:"How many numbers it may abandon a minute, at one starter, before people are told."`
	Ledger        bool          `help:"Write it to the ledger itself (LACUNA_MYSQL_DSN) and not by the API: the way to the first token."`
	File          string        `name:"out" placeholder:"file" help:"Write the text to a new file that only its owner reads, and not to the terminal."`
}

// Run prints the text on a line of its own, so that it can be put where it is needed.
func (c tokenCreate) Run(ctx context.Context, out io.Writer) error {
	keep := out
	if c.File != "" {
		f, err := os.OpenFile(c.File, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) // before the token is made: nobody could be told it later
		if err != nil {
			return err
		}
		defer f.Close() //nolint:errcheck // Fprintln tells of a full disk
		keep = f
	}
	create := c.byAPI
	if c.Ledger {
		create = c.byLedger
	}
	text, err := create(ctx)
	if err != nil {
		if c.File != "" {
			err = errors.Join(err, os.Remove(c.File))
		}
		return err
	}
	if _, err := fmt.Fprintln(keep, text); err != nil {
		return fmt.Errorf("the text of token %s could not be written; revoke it, and make another: %w", c.Name, err)
	}
	return nil
}

func (c tokenCreate) byAPI(ctx context.Context) (string, error) {
	r := &lacunav1.CreateTokenRequest{
		Name: c.Name, Role: lacunav1.Role(lacunav1.Role_value[rolePrefix+strings.ToUpper(c.Role)]), BizTypes: c.BizType, Rate: c.Rate, AbandonBudget: c.AbandonBudget,
	}
	if c.Expires != 0 {
		r.Lifetime = durationpb.New(c.Expires)
	}
	response, err := c.operator().CreateToken(ctx, connect.NewRequest(r))
	if err != nil {
		return "", fmt.Errorf("make token %s: %w", c.Name, err)
	}
	return response.Msg.GetText(), nil
}

// byLedger is for whoever may write the ledger: they may do everything anyway.
func (c tokenCreate) byLedger(ctx context.Context) (string, error) {
	role, err := access.ParseRole(c.Role)
	if err != nil {
		return "", err
	}
	token := access.Token{Name: c.Name, Role: role, BizTypes: c.BizType, Rate: int(c.Rate), AbandonBudget: c.AbandonBudget, CreatedBy: "lacuna token create --ledger"}
	if err := token.Validate(c.Expires); err != nil {
		return "", err
	}
	dsn := os.Getenv("LACUNA_MYSQL_DSN") // no flag: it holds a password, and flags stand in lists of processes
	if dsn == "" {
		return "", errors.New("LACUNA_MYSQL_DSN is missing: --ledger writes to the ledger itself")
	}
	text, hash := access.NewText(c.Name)
	token.Hash = hash
	return text, withLedger(ctx, dsn, func(l *ledger.Ledger) error { return l.CreateToken(ctx, token, c.Expires) })
}
