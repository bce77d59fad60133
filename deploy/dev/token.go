package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/internal/access"
	"github.com/lacuna-seq/lacuna/sequence"
)

// tokenName is the development token's; further ones, after a file was lost, count up.
const tokenName = "dev"

// maxTokens bounds the search for a name that was never given.
const maxTokens = 1000

func (y *system) tokenFile() string  { return y.settings.path("token") }
func (y *system) headerFile() string { return y.settings.path("header") } // of curl, whose arguments stand in lists of processes

// makeToken makes an admin's token for this machine, or goes on with the one that is there and valid.
func (y *system) makeToken(ctx context.Context) (string, error) {
	l, err := ledger.Open(y.dsn(ledgerDatabase))
	if err != nil {
		return "", err
	}
	defer l.Close() //nolint:errcheck // every statement has ended
	text, err := os.ReadFile(y.tokenFile())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	y.token = strings.TrimSpace(string(text))
	valid, err := isAdmins(ctx, l, y.token)
	if err != nil {
		return "", err
	}
	if !valid {
		if y.token, err = newToken(ctx, l); err != nil {
			return "", err
		}
	}
	return "an admin's, in " + near(y.tokenFile()),
		errors.Join(writePrivately(y.tokenFile(), y.token), writePrivately(y.headerFile(), "Authorization: Bearer "+y.token))
}

func isAdmins(ctx context.Context, l *ledger.Ledger, text string) (bool, error) {
	name, hash, ok := access.HashOf(text)
	if !ok {
		return false, nil
	}
	kept, err := l.Token(ctx, name)
	if errors.Is(err, sequence.ErrNotFound) {
		return false, nil
	}
	return kept.Hash == hash && kept.Role == access.RoleAdmin && kept.RevokedTime.IsZero() && kept.ExpireTime.IsZero(), err
}

// newToken makes one under the first name that was never given, and ends those before it, whose texts are lost.
func newToken(ctx context.Context, l *ledger.Ledger) (string, error) {
	for i := range maxTokens {
		name := tokenName
		if i > 0 {
			name = fmt.Sprintf("%s-%d", tokenName, i+1)
		}
		text, hash := access.NewText(name)
		err := l.CreateToken(ctx, access.Token{Name: name, Hash: hash, Role: access.RoleAdmin, CreatedBy: "make run"}, 0)
		if !errors.Is(err, ledger.ErrExists) {
			return text, err
		}
		if _, err := l.RevokeToken(ctx, name, "make run"); err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("%d development tokens were made before: run `make clean-dev`", maxTokens)
}

// writePrivately replaces a file by one that only its owner reads.
func writePrivately(name, text string) error {
	next := name + ".next"
	if err := os.Remove(next); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(next, []byte(text+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(next, name)
}

// near is a path as it is typed from the present folder, where it is below that.
func near(path string) string {
	wd, err := os.Getwd()
	if err != nil {
		return path
	}
	relative, err := filepath.Rel(wd, path)
	if err != nil || strings.HasPrefix(relative, "..") {
		return path
	}
	return relative
}
