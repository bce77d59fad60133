package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/api/lacuna/v1/lacunav1connect"
	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/db/migrations"
	"github.com/lacuna-seq/lacuna/internal/access"
	"github.com/lacuna-seq/lacuna/internal/testkit"
)

// keeper keeps tokens, and what was sent to it.
type keeper struct {
	lacunav1connect.UnimplementedOperatorServiceHandler
	created *lacunav1.CreateTokenRequest
	tokens  []*lacunav1.Token
	sent    string
}

func (k *keeper) CreateToken(_ context.Context, r *connect.Request[lacunav1.CreateTokenRequest]) (*connect.Response[lacunav1.CreateTokenResponse], error) {
	k.created, k.sent = r.Msg, r.Header().Get("Authorization")
	if r.Msg.GetName() == "taken" {
		return nil, connect.NewError(connect.CodeAlreadyExists, errors.New("token taken: names are never given twice"))
	}
	return connect.NewResponse(&lacunav1.CreateTokenResponse{Text: "lacuna_shop_secret"}), nil
}

func (k *keeper) ListTokens(context.Context, *connect.Request[lacunav1.ListTokensRequest]) (*connect.Response[lacunav1.ListTokensResponse], error) {
	return connect.NewResponse(&lacunav1.ListTokensResponse{Tokens: k.tokens}), nil
}

func (k *keeper) RevokeToken(_ context.Context, r *connect.Request[lacunav1.RevokeTokenRequest]) (*connect.Response[lacunav1.RevokeTokenResponse], error) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return connect.NewResponse(&lacunav1.RevokeTokenResponse{Token: &lacunav1.Token{Name: r.Msg.GetName(), RevokedBy: "mia", RevokedTime: timestamppb.New(at)}}), nil
}

func (k *keeper) lacuna(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return against(t, k, args...)
}

func TestTokenCommands(t *testing.T) {
	t.Setenv("LACUNA_TOKEN", "lacuna_mia_secret")
	k := &keeper{}
	out, err := k.lacuna(t, "token", "create", "shop", "--role", "caller", "--biz-type", "ORDER", "--biz-type", "INVOICE", "--expires", "720h", "--rate", "50")
	require.NoError(t, err)
	require.Equal(t, "lacuna_shop_secret\n", out, "alone, for scripts")
	require.Equal(t, "Bearer lacuna_mia_secret", k.sent)
	require.Equal(t, lacunav1.Role_ROLE_CALLER, k.created.GetRole())
	require.Equal(t, []string{"ORDER", "INVOICE"}, k.created.GetBizTypes())
	require.Equal(t, 720*time.Hour, k.created.GetLifetime().AsDuration())
	require.Equal(t, int32(50), k.created.GetRate())

	t.Run("keep the text in a file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "token")
		out, err := k.lacuna(t, "token", "create", "mia", "--role", "admin", "--out", file)
		require.NoError(t, err)
		require.Empty(t, out)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, "lacuna_shop_secret\n", string(text))
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		_, err = k.lacuna(t, "token", "create", "mia", "--role", "admin", "--out", file)
		require.ErrorIs(t, err, os.ErrExist, "before a token is made")
		gone := filepath.Join(t.TempDir(), "token")
		_, err = k.lacuna(t, "token", "create", "taken", "--role", "admin", "--out", gone)
		require.ErrorContains(t, err, "make token taken")
		require.NoFileExists(t, gone)
	})

	k.tokens = []*lacunav1.Token{
		{Name: "shop", Role: lacunav1.Role_ROLE_CALLER, BizTypes: []string{"ORDER", "INVOICE"}, Rate: 50, AbandonBudget: 10_000, CreatedBy: "mia", CreatedTime: timestamppb.New(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))},
		{Name: "old", Role: lacunav1.Role_ROLE_AUDITOR, Rate: 10_000, AbandonBudget: 10_000, ExpireTime: timestamppb.New(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))},
	}
	out, err = k.lacuna(t, "token", "list")
	require.NoError(t, err)
	require.Contains(t, out, "shop  caller   ORDER,INVOICE  50/s     10000/min  2026-03-01T12:00Z by mia  -")
	require.Contains(t, out, "2026-01-01T00:00Z")
	out, err = k.lacuna(t, "token", "list", "--output", "json")
	require.NoError(t, err)
	require.Contains(t, out, "ROLE_AUDITOR")
	_, err = k.lacuna(t, "token", "revoke", "shop")
	require.ErrorContains(t, err, "add --yes")
	out, err = k.lacuna(t, "token", "revoke", "shop", "--yes")
	require.NoError(t, err)
	require.Equal(t, "shop: revoked 2026-03-01T12:00Z by mia\n", out)
}

func TestTheFirstTokenIsMadeInTheLedger(t *testing.T) {
	dsn := testkit.MariaDB(t)
	l, err := ledger.Open(dsn)
	require.NoError(t, err)
	defer l.Close() //nolint:errcheck // every statement has ended
	_, err = migrations.Up(t.Context(), l.DB())
	require.NoError(t, err)
	create := []string{"token", "create", "mia", "--role", "admin", "--ledger"}
	t.Setenv("LACUNA_MYSQL_DSN", "")
	require.ErrorContains(t, run(t.Context(), create, &bytes.Buffer{}), "LACUNA_MYSQL_DSN is missing")
	t.Setenv("LACUNA_MYSQL_DSN", dsn)
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), create, &out))
	_, hash, ok := access.HashOf(strings.TrimSpace(out.String()))
	require.True(t, ok)
	kept, err := l.Token(t.Context(), "mia")
	require.NoError(t, err)
	require.Equal(t, hash, kept.Hash)
	require.Equal(t, access.RoleAdmin, kept.Role)
	require.ErrorIs(t, run(t.Context(), create, &out), ledger.ErrExists)
	require.ErrorContains(t, run(t.Context(), []string{"token", "create", "shop", "--role", "caller", "--ledger"}, &out), "bizTypes")
}
