package client_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/client"
)

func TestTokensAreSentWithEveryCall(t *testing.T) {
	var sent []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent = append(sent, r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(`{"code":"unauthenticated","message":"the token is not known"}`))
	}))
	defer server.Close()
	call := func(t *testing.T, option client.Option) error {
		t.Helper()
		sent = nil
		c, err := client.Dial(server.URL, option)
		require.NoError(t, err)
		defer c.Close(t.Context()) //nolint:errcheck // nothing is left to say
		_, err = c.Next(t.Context(), "ORDER")
		return err
	}

	err := call(t, client.WithToken("lacuna_shop_1"))
	require.ErrorContains(t, err, "the token is not known", "and is not tried again")
	require.NotContains(t, err.Error(), "lacuna_shop_1")
	require.Equal(t, []string{"Bearer lacuna_shop_1"}, sent)

	t.Run("from a file that may change", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "token")
		t.Setenv("LACUNA_TOKEN", "")
		t.Setenv("LACUNA_TOKEN_FILE", file)
		require.ErrorContains(t, call(t, client.WithTokenFrom(client.TokenFromEnvironment)), "LACUNA_TOKEN_FILE")
		require.Empty(t, sent)
		for _, text := range []string{"lacuna_shop_1\n", "lacuna_shop_2\n"} {
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			require.Error(t, call(t, client.WithTokenFrom(client.TokenFromEnvironment)))
			require.Equal(t, []string{"Bearer " + text[:len(text)-1]}, sent)
		}
		t.Setenv("LACUNA_TOKEN", "lacuna_shop_3")
		require.Error(t, call(t, client.WithTokenFrom(client.TokenFromEnvironment)))
		require.Equal(t, []string{"Bearer lacuna_shop_3"}, sent)
	})
	t.Run("or none", func(t *testing.T) {
		t.Setenv("LACUNA_TOKEN", "")
		t.Setenv("LACUNA_TOKEN_FILE", "")
		require.Error(t, call(t, client.WithTokenFrom(client.TokenFromEnvironment)))
		require.Equal(t, []string{""}, sent)
	})
}
