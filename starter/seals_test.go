package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/db/ledger"
)

func TestTheAPISpeaksEveryKindOfSealFault(t *testing.T) {
	require.Len(t, lacunav1.SealFaultKind_value, len(ledger.SealFaultKinds)+1)
	for _, k := range ledger.SealFaultKinds {
		require.Equal(t, sealFaultKindPrefix+string(k), sealFaultKindMessage(k).String())
	}
}
