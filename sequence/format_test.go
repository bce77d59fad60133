package sequence_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/sequence"
)

func format(t testing.TB, template string) sequence.Format {
	f, err := sequence.ParseFormat(template)
	require.NoError(t, err)
	require.Equal(t, template, f.String())
	return f
}

// C56, C73: a seq no is a string, zeros and prefix and all, and no integer is read out of it but by its format.
func TestFormatPrintsAndReads(t *testing.T) {
	for _, tt := range []struct {
		template, period string
		value            int64
		want             string
	}{
		{"A-{seq:6}", "", 129032, "A-129032"},
		{"A-{seq:6}", "", 123, "A-000123"},
		{"{seq:7}", "", 123, "0000123"},
		{"2026-{seq:6}", "", 123, "2026-000123"},
		{"ORDER{seq:3}", "", 123, "ORDER123"},
		{"{seq:16}", "", 9007199254740993, "9007199254740993"},
		{"{seq:1}x", "", 0, "0x"},
		{"{seq:18}", "", 999_999_999_999_999_999, "999999999999999999"},
		{"INV{yyyy}{MM}-{seq:6}", "202612", 1, "INV202612-000001"},
		{"{dd}{MM}{yy}{seq:2}", "20261201", 7, "01122607"},
		{"{seq:3}-{yyyy}", "2026", 42, "042-2026"},
		{"US{seq:9}{luhn}", "", 37833100, "US0378331005"},                  // the ISIN of a well-known share
		{"{seq:10}{luhn}", "", 7992739871, "79927398713"},                  // the example of the Luhn algorithm
		{"{seq:3}{mod97}", "", 794, "79444"},                               // the example of ISO 7064
		{"HWUPKR0MPOU8FGXBT{seq:1}{mod97}", "", 3, "HWUPKR0MPOU8FGXBT394"}, // a legal entity identifier (ISO 17442)
		{"INV{yyyy}{MM}-{seq:6}{luhn}", "202612", 1, "INV202612-0000015"},
	} {
		f := format(t, tt.template)
		require.Equal(t, tt.want, f.Print(tt.period, tt.value))
		period, value, err := f.Parse(tt.want)
		require.NoError(t, err)
		require.Equal(t, tt.value, value)
		require.Equal(t, tt.period, period)
	}
	require.Equal(t, int64(999), format(t, "A-{seq:3}").Max())
}

func TestFormatRefusesWhatItCannotKeepApart(t *testing.T) {
	for _, template := range []string{
		"", "A-", "A-{seq}", "{seq:}", "{seq:0}", "{seq:19}", "{seq:06}", "{seq:-1}", "{seq:6", "{seq:6}{seq:6}", "A {seq:6}", "A~{seq:6}",
		"号{seq:6}", "A{SEQ:6}", strings.Repeat("A", 59) + "{seq:6}", "{}", "}{seq:6}",
		"{MM}{seq:6}", "{yyyy}{dd}{seq:6}", "{dd}{seq:6}", "{yyyy}{yy}{seq:6}", "{yyyy}{yyyy}{seq:6}", "{luhn}{seq:6}", "{seq:6}{luhn}{mod97}",
		"{seq:6}{luhn}-", "{yyyy}{luhn}", "{hh}{seq:6}",
	} {
		_, err := sequence.ParseFormat(template)
		require.ErrorIs(t, err, sequence.ErrInvalid, "%q", template)
	}
}

func TestParseRefusesWhatIsNeverPrinted(t *testing.T) {
	for template, wrong := range map[string][]string{
		"A-{seq:3}":               {"", "A-", "A-12", "A-1234", "B-123", "A-12x", "A--12", "A-+12", "A-123 "},
		"{yyyy}{MM}{dd}-{seq:2}":  {"20260230-01", "20261301-01", "00001201-01", "2026121-01"},
		"{yy}{MM}{seq:2}":         {"260001", "261301"},
		"US{seq:9}{luhn}":         {"US0378331004", "US0378331050"},
		"{seq:3}{mod97}":          {"79445", "97444"},
		"INV{yyyy}-{seq:6}{luhn}": {"INV2026-000001x"},
	} {
		for _, s := range wrong {
			_, _, err := format(t, template).Parse(s)
			require.ErrorIs(t, err, sequence.ErrInvalid, "%s: %q", template, s)
		}
	}
}

func FuzzFormatReadsWhatItPrints(f *testing.F) {
	for _, template := range []string{"A-{seq:6}-z", "{seq:18}", "INV{yyyy}{MM}-{seq:6}{luhn}", "{dd}{MM}{yy}{seq:1}{mod97}", "{yyyy}_{seq:9}"} {
		f.Add(template, int64(123), int64(1_796_083_200))
		f.Add(template, int64(999_999_999_999_999_999), int64(946_684_800))
	}
	f.Fuzz(func(t *testing.T, template string, value, at int64) {
		const y2000, y2100 = 946_684_800, 4_102_444_800
		parsed, err := sequence.ParseFormat(template)
		if err != nil || value < 0 || value > parsed.Max() || at < y2000 || at >= y2100 {
			return
		}
		period := parsed.Period(time.Unix(at, 0).UTC())
		seqNo := parsed.Print(period, value)
		if err := sequence.ValidateSeqNo(seqNo); err != nil {
			t.Errorf("%s printed %q: %v", template, seqNo, err)
		}
		gotPeriod, got, err := parsed.Parse(seqNo)
		if err != nil || got != value || gotPeriod != period {
			t.Errorf("%s: %d of %q was read back as %d of %q: %v", template, value, period, got, gotPeriod, err)
		}
	})
}

func TestPeriodFollowsTheZoneOfItsBizType(t *testing.T) {
	b := sequence.NewBizType("INV", format(t, "{yyyy}{MM}{dd}-{seq:4}"))
	at := time.Date(2026, 12, 31, 23, 30, 0, 0, time.UTC)
	require.Equal(t, "20261231", b.Period(at))
	require.Equal(t, time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), b.PeriodEnd(at))

	var err error
	b.TimeZone, err = sequence.ParseZone("Europe/Berlin")
	require.NoError(t, err)
	require.Equal(t, "20270101", b.Period(at))
	require.True(t, b.PeriodEnd(at).Equal(time.Date(2027, 1, 1, 23, 0, 0, 0, time.UTC)))

	shorter := time.Date(2027, 3, 28, 12, 0, 0, 0, time.UTC) // the day on which summer begins has 23 hours
	require.True(t, b.PeriodEnd(shorter).Equal(time.Date(2027, 3, 28, 22, 0, 0, 0, time.UTC)))

	for template, end := range map[string]time.Time{
		"{yyyy}-{seq:4}":      time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
		"{yy}{MM}-{seq:4}":    time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
		"ORDER-{seq:4}{luhn}": {},
	} {
		require.Equal(t, end, sequence.NewBizType("X", format(t, template)).PeriodEnd(at))
	}
	for _, name := range []string{"Local", "Mars/Olympus", "../etc/passwd"} {
		_, err := sequence.ParseZone(name)
		require.ErrorIs(t, err, sequence.ErrInvalid, name)
	}
}

func TestAWallClockOfAZone(t *testing.T) {
	zone, err := sequence.ParseZone("Europe/Berlin")
	require.NoError(t, err)
	shown := time.Date(2026, 7, 1, 12, 0, 0, 1000, time.UTC)
	require.Equal(t, time.Date(2026, 7, 1, 10, 0, 0, 1000, time.UTC), zone.Wall(shown))
	require.Equal(t, shown, sequence.Zone{}.Wall(shown))
}
