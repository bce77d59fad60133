package main

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/api/lacuna/v1/lacunav1connect"
)

// notary answers VerifySeals, and keeps what it was asked.
type notary struct {
	lacunav1connect.UnimplementedOperatorServiceHandler
	answer *lacunav1.VerifySealsResponse
	asked  *lacunav1.VerifySealsRequest
}

func (n *notary) VerifySeals(_ context.Context, r *connect.Request[lacunav1.VerifySealsRequest]) (*connect.Response[lacunav1.VerifySealsResponse], error) {
	n.asked = r.Msg
	return connect.NewResponse(n.answer), nil
}

func runVerify(t *testing.T, n *notary, args ...string) (string, error) {
	t.Helper()
	return against(t, n, append([]string{"verify"}, args...)...)
}

func sealedChains(faults ...*lacunav1.SealFault) *notary {
	at := timestamppb.New(time.Date(2026, 12, 8, 12, 0, 0, 0, time.UTC))
	return &notary{answer: &lacunav1.VerifySealsResponse{
		Time: at, Clean: len(faults) == 0, Faults: faults,
		Chains: []*lacunav1.SealChain{
			{BizType: "INVOICE"},
			{BizType: "ORDER", Seals: 3, Values: 30_000, Amendments: 1, Number: 4, Hash: "abc", SealedTime: at},
		},
	}}
}

func TestVerifyWritesTheChains(t *testing.T) {
	n := sealedChains()
	out, err := runVerify(t, n)
	require.NoError(t, err)
	require.Empty(t, n.asked.GetBizType())
	require.Regexp(t, `(?m)^ORDER +3 +30000 +1 +4:abc +2026-12-08T12:00:00Z *$`, out)
	require.Regexp(t, `(?m)^INVOICE +0 +0 +0 +- +- *$`, out)
	require.Contains(t, out, "every sealed number is what its seal says\n")
}

func TestVerifyEndsWithFindings(t *testing.T) {
	n := sealedChains(
		&lacunav1.SealFault{Kind: lacunav1.SealFaultKind_SEAL_FAULT_KIND_NUMBERS, BizType: "ORDER", Number: 2, Lo: 10_001, Hi: 20_000, Expected: "abc", Found: "def", Words: "they differ"},
		&lacunav1.SealFault{Kind: lacunav1.SealFaultKind_SEAL_FAULT_KIND_COVER, BizType: "INV", Period: "202612", Lo: 1, Hi: 9, Expected: "x", Found: "y", Words: "a hole"})
	n.answer.FaultsLeft = 5
	out, err := runVerify(t, n, "ORDER", "--anchor", "3:def")
	require.ErrorIs(t, err, errFindings)
	require.Equal(t, "ORDER", n.asked.GetBizType())
	require.Equal(t, int64(3), n.asked.GetAnchorNumber())
	require.Equal(t, "def", n.asked.GetAnchorHash())
	require.Contains(t, out, "7 faults:\n  ORDER: entry 2, values 10001 to 20000: NUMBERS: they differ; expected abc, found def\n"+
		"  INV 202612: values 1 to 9: COVER: a hole; expected x, found y\n  and 5 more\n")

	out, err = runVerify(t, n, "--output", "json")
	require.ErrorIs(t, err, errFindings)
	require.True(t, json.Valid([]byte(out)), out)
}

func TestVerifyRefusesAnAnchorThatIsNone(t *testing.T) {
	for _, anchor := range []string{"3", "3:", "x:abc", ":abc"} {
		_, err := runVerify(t, sealedChains(), "ORDER", "--anchor", anchor)
		require.ErrorContains(t, err, "number:hash", anchor)
	}
}
