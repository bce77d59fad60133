package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/db/migrations"
	"github.com/lacuna-seq/lacuna/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestTheDevelopmentToken(t *testing.T) {
	l, err := ledger.Open(testkit.MariaDB(t))
	require.NoError(t, err)
	defer l.Close() //nolint:errcheck // every statement has ended
	_, err = migrations.Up(t.Context(), l.DB())
	require.NoError(t, err)
	valid := func(text string) bool {
		ok, err := isAdmins(t.Context(), l, text)
		require.NoError(t, err)
		return ok
	}
	require.False(t, valid(""))
	first, err := newToken(t.Context(), l)
	require.NoError(t, err)
	require.True(t, valid(first))
	second, err := newToken(t.Context(), l)
	require.NoError(t, err)
	require.True(t, valid(second))
	require.False(t, valid(first), "one whose text was lost is ended")
}
