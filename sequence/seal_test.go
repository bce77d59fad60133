package sequence_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/sequence"
)

func sha(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// What was sealed once must be recomputed alike for good, by others too: these spellings never change.
func TestWhatASealHashes(t *testing.T) {
	b := sequence.NewBlockHash()
	b.Number(1, "A-000001", sequence.Confirmed, 1)
	b.Number(2, "A-000002", sequence.Retired, 3)
	b.Skip(3, 9)
	b.Number(10, "A-000010", sequence.Confirmed, 2)
	sum := b.Sum()
	require.Equal(t, sequence.BlockSum{
		Confirmed: 2, Retired: 1, Skipped: 7, Lives: 6,
		ContentHash: sha("1|A-000001|CONFIRMED|1\n2|A-000002|RETIRED|3\n3-9|SKIPPED\n10|A-000010|CONFIRMED|2\n"),
	}, sum)

	at := time.Date(2026, 12, 9, 8, 7, 6, 5000, time.UTC)
	seal := sequence.Seal{BizType: "ORDER", Number: 1, Kind: sequence.SealOfBlock, Lo: 1, Hi: 10, BlockSum: sum, SealedTime: at, PreviousHash: sequence.NoSeal}
	require.Equal(t, "ORDER|1|SEAL||1|10|2|1|7|6|"+sum.ContentHash+"||0|2026-12-09T08:07:06.000005Z|"+sequence.NoSeal+"|\n", seal.Text())
	require.Equal(t, sha(seal.Text()), seal.Sum())

	amendment := sequence.Seal{
		BizType: "INV", Number: 2, Kind: sequence.SealAmendment, Period: "202612", Lo: 2, Hi: 2,
		SeqNo: "INV202612-02", Life: 3, BizKey: "a|b", SealedTime: at, PreviousHash: seal.Sum(),
	}
	require.Equal(t, "INV|2|AMENDMENT|202612|2|2|0|0|0|0||INV202612-02|3|2026-12-09T08:07:06.000005Z|"+seal.Sum()+"|a|b\n", amendment.Text())
}

func TestArchiveAfterIsNeverOrNotTooSoon(t *testing.T) {
	b := sequence.NewBizType("ORDER", mustFormat(t, "A-{seq:6}"))
	for _, d := range []time.Duration{0, time.Second, sequence.MaxArchiveAfter} {
		b.ArchiveAfter = d
		require.NoError(t, b.Validate(), d)
	}
	for _, d := range []time.Duration{-1, time.Millisecond, sequence.MaxArchiveAfter + 1} {
		b.ArchiveAfter = d
		require.ErrorContains(t, b.Validate(), "archiveAfter", d)
	}
}

func mustFormat(t *testing.T, template string) sequence.Format {
	t.Helper()
	format, err := sequence.ParseFormat(template)
	require.NoError(t, err)
	return format
}
