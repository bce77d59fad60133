package ledger_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/internal/access"
	"github.com/lacuna-seq/lacuna/sequence"
)

func TestTokens(t *testing.T) {
	b := setup(t)
	_, hash := access.NewText("shop")
	shop := access.Token{Name: "shop", Hash: hash, Role: access.RoleCaller, BizTypes: []string{"ORDER", "INVOICE"}, Rate: 7, AbandonBudget: 9, CreatedBy: "mia"}
	none, err := b.TokensVersion(t.Context())
	require.NoError(t, err)
	require.NoError(t, b.CreateToken(t.Context(), shop, time.Hour))
	require.NoError(t, b.CreateToken(t.Context(), access.Token{Name: "mia", Hash: access.Hash{1}, Role: access.RoleAdmin}, 0))
	made, err := b.TokensVersion(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, none, made)

	all, err := b.Tokens(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 2)
	got := all[0]
	require.InDelta(t, time.Hour, got.Left, float64(time.Minute))
	require.Equal(t, time.Hour, got.ExpireTime.Sub(got.CreatedTime), "by one clock")
	require.True(t, got.LastUsedTime.IsZero())
	shop.ID, shop.CreatedTime, shop.ExpireTime, shop.Left = got.ID, got.CreatedTime, got.ExpireTime, got.Left
	require.Equal(t, shop, got)
	require.True(t, all[1].ExpireTime.IsZero())
	require.Empty(t, all[1].BizTypes)

	t.Run("are never given twice", func(t *testing.T) {
		require.ErrorIs(t, b.CreateToken(t.Context(), shop, 0), ledger.ErrExists)
	})
	t.Run("are touched once a minute", func(t *testing.T) {
		used := func() time.Time {
			token, err := b.Token(t.Context(), "shop")
			require.NoError(t, err)
			return token.LastUsedTime
		}
		require.NoError(t, b.TouchTokens(t.Context(), nil))
		require.NoError(t, b.TouchTokens(t.Context(), []int64{got.ID}))
		first := used()
		require.False(t, first.IsZero())
		require.NoError(t, b.TouchTokens(t.Context(), []int64{got.ID}))
		require.Equal(t, first, used())
	})
	t.Run("are revoked once", func(t *testing.T) {
		revoked, err := b.RevokeToken(t.Context(), "shop", "mia")
		require.NoError(t, err)
		require.Equal(t, "mia", revoked.RevokedBy)
		require.False(t, revoked.RevokedTime.IsZero())
		again, err := b.RevokeToken(t.Context(), "shop", "ben")
		require.NoError(t, err)
		require.Equal(t, revoked.RevokedTime, again.RevokedTime)
		require.Equal(t, "mia", again.RevokedBy)
		after, err := b.TokensVersion(t.Context())
		require.NoError(t, err)
		require.NotEqual(t, made, after)
		_, err = b.RevokeToken(t.Context(), "nobody", "mia")
		require.ErrorIs(t, err, sequence.ErrNotFound)
		require.ErrorIs(t, b.CreateToken(t.Context(), shop, 0), ledger.ErrExists, "not even then")
	})
	t.Run("of a role that a later version knows have no rights", func(t *testing.T) {
		_, err := b.DB().ExecContext(t.Context(), "UPDATE t_seq_token SET role = 'emperor' WHERE name = 'mia'")
		require.NoError(t, err)
		token, err := b.Token(t.Context(), "mia")
		require.NoError(t, err)
		for _, right := range access.Rights {
			require.Error(t, token.May(right, ""))
		}
	})
}
