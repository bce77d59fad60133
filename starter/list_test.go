package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/durationpb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/internal/wire"
	"github.com/lacuna-seq/lacuna/sequence"
)

func TestPlacesOfListsAreReadBack(t *testing.T) {
	for _, n := range []sequence.Number{
		{},
		{ID: 7, SeqNo: "A-000007", State: sequence.Confirmed},
		{ID: 7, SeqNo: "A-000007", State: sequence.Abandoned, Deadline: time.Date(2026, 12, 1, 10, 0, 0, 123_000, time.UTC)},
	} {
		read, err := placeOf(placeToken(n))
		require.NoError(t, err)
		require.Equal(t, n, read)
	}
	for _, token := range []string{"7", "7.1.0", "0.1.0.A-1", "7.9.0.A-1", "7.1.x.A-1", "7.1.0.", "7.1.0.A 1"} {
		_, err := placeOf(token)
		require.ErrorContains(t, err, "pageToken", token)
	}
}

func TestNumberFilters(t *testing.T) {
	unknown := lacunav1.State(9)
	for field, m := range map[string]*lacunav1.ListNumbersRequest{
		"bizType": {BizType: "order"},
		"seqNo":   {BizType: "ORDER", FromSeqNo: "A 1"},
		"state":   {BizType: "ORDER", State: &unknown},
		"bizKey":  {BizType: "ORDER", BizKey: "a\nb"},
		"until":   {BizType: "ORDER", FromSeqNo: "A-1", Since: wire.Time(time.Now()), Until: wire.Time(time.Unix(1, 0))},
	} {
		_, err := numberFilterOf(m)
		require.ErrorContains(t, err, field)
	}
	f, err := numberFilterOf(&lacunav1.ListNumbersRequest{OverdueFor: durationpb.New(time.Minute)})
	require.NoError(t, err)
	require.True(t, f.Overdue)
	require.Equal(t, time.Minute, f.OverdueFor)
	require.Nil(t, f.State)
}
