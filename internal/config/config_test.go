package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/config"
)

func TestParse(t *testing.T) {
	t.Run("reads the environment, and flags before it", func(t *testing.T) {
		t.Setenv("LACUNA_MYSQL_DSN", "u:p@tcp(localhost:3306)/lacuna")
		t.Setenv("LACUNA_REDIS_URL", "redis://localhost:6379/0")
		t.Setenv("LACUNA_LISTEN", ":9999")
		var s config.Starter
		require.NoError(t, config.Parse("starter", "", []string{"--listen", ":7777"}, &s))
		require.Equal(t, "u:p@tcp(localhost:3306)/lacuna", s.DSN)
		require.Equal(t, ":7777", s.Listen)
		require.Equal(t, ":8081", s.OpsListen)
		require.Equal(t, "info", s.LogLevel)
	})
	t.Run("reports all faults at once, each with its key and without its secret", func(t *testing.T) {
		t.Setenv("LACUNA_MYSQL_DSN", "u:secret-1")
		t.Setenv("LACUNA_REDIS_URL", "http://:secret-2@x")
		t.Setenv("LACUNA_LISTEN", "nonsense")
		t.Setenv("LACUNA_LOG_LEVEL", "loud")
		t.Setenv("LACUNA_LOG_FORMAT", "xml")
		t.Setenv("LACUNA_TEMPORAL_UI_URL", "ui")
		var s config.Starter
		err := config.Parse("starter", "", nil, &s)
		require.Error(t, err)
		for _, key := range []string{
			"LACUNA_MYSQL_DSN", "LACUNA_REDIS_URL", "LACUNA_LISTEN", "LACUNA_LOG_LEVEL", "LACUNA_LOG_FORMAT", "LACUNA_TEMPORAL_UI_URL",
		} {
			require.ErrorContains(t, err, key)
		}
		require.NotContains(t, err.Error(), "secret")
	})
	t.Run("says what is missing", func(t *testing.T) {
		t.Setenv("LACUNA_MYSQL_DSN", "")
		t.Setenv("LACUNA_REDIS_URL", "")
		var w config.Worker
		err := config.Parse("worker", "", nil, &w)
		require.ErrorContains(t, err, "LACUNA_MYSQL_DSN is missing")
		require.ErrorContains(t, err, "LACUNA_REDIS_URL is missing")
	})
	t.Run("refuses a flag that does not exist", func(t *testing.T) {
		var w config.Worker
		require.ErrorContains(t, config.Parse("worker", "", []string{"--nonsense"}, &w), "--nonsense")
	})
}
