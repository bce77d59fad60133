package ledger_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/access"
	"github.com/lacuna-seq/lacuna/sequence"
)

func TestSessions(t *testing.T) {
	b := setup(t)
	_, hash := access.NewText("mia")
	require.NoError(t, b.CreateToken(t.Context(), access.Token{Name: "mia", Hash: hash, Role: access.RoleAdmin}, 0))
	id, other := access.NewSessionID(), access.NewSessionID()
	require.NotEqual(t, id, other)
	require.NoError(t, b.CreateSession(t.Context(), id.Hash(), "mia"))
	require.NoError(t, b.CreateSession(t.Context(), other.Hash(), "mia"))
	token, err := b.SessionToken(t.Context(), id.Hash())
	require.NoError(t, err)
	require.Equal(t, "mia", token)
	require.Zero(t, b.count(t, "SELECT COUNT(*) FROM t_seq_session WHERE hash = ?", []byte(id)), "the id itself is nowhere")

	t.Run("are of a token that there is", func(t *testing.T) {
		require.ErrorIs(t, b.CreateSession(t.Context(), access.NewSessionID().Hash(), "nobody"), sequence.ErrNotFound)
		_, err := b.SessionToken(t.Context(), access.NewSessionID().Hash())
		require.ErrorIs(t, err, sequence.ErrNotFound)
	})
	t.Run("are seen once a minute", func(t *testing.T) {
		b.exec(t, "UPDATE t_seq_session SET seen_time = UTC_TIMESTAMP(6) - INTERVAL 2 MINUTE")
		_, err := b.SessionToken(t.Context(), id.Hash())
		require.NoError(t, err)
		require.Equal(t, 1, b.count(t, "SELECT COUNT(*) FROM t_seq_session WHERE seen_time > UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE"))
	})
	t.Run("end by signing out", func(t *testing.T) {
		require.NoError(t, b.DeleteSession(t.Context(), id.Hash()))
		require.NoError(t, b.DeleteSession(t.Context(), id.Hash()))
		_, err := b.SessionToken(t.Context(), id.Hash())
		require.ErrorIs(t, err, sequence.ErrNotFound)
		_, err = b.SessionToken(t.Context(), other.Hash())
		require.NoError(t, err)
	})
	t.Run("end by themselves", func(t *testing.T) {
		b.exec(t, "UPDATE t_seq_session SET expire_time = UTC_TIMESTAMP(6)")
		_, err := b.SessionToken(t.Context(), other.Hash())
		require.ErrorIs(t, err, sequence.ErrNotFound)
		require.NoError(t, b.CreateSession(t.Context(), access.NewSessionID().Hash(), "mia"))
		require.Equal(t, 1, b.count(t, "SELECT COUNT(*) FROM t_seq_session"), "what is over is deleted")
	})
}
