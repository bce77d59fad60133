package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/wire"
	"github.com/lacuna-seq/lacuna/issuer"
)

func TestTheBoundsOfTheAPIAreTheIssuers(t *testing.T) {
	require.Equal(t, issuer.MaxSettle, wire.MaxSettle)
}
