package sequence_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/sequence"
)

func TestTicketHasOneSpelling(t *testing.T) {
	want := sequence.Ticket{BizType: "ORDER", SeqNo: "A-129032", Life: 1}
	got, err := sequence.ParseTicket("ORDER~A-129032~1")
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, "ORDER~A-129032~1", got.String())

	for _, s := range []string{
		"", "~", "~~", "ORDER", "ORDER~A-1", "ORDER~A-1~", "ORDER~A-1~0", "ORDER~A-1~01", "ORDER~A-1~+1", "ORDER~A-1~-1",
		"ORDER~A-1~1 ", " ORDER~A-1~1", "order~A-1~1", "ORDER~A 1~1", "ORDER~~1", "~A-1~1", "ORDER~A-1~1~1", "ORDER~A-1~2147483648",
		"ORDER~A-1~1\n", "ORDER~A-é~1", "OR\x00DER~A-1~1", "ORDER~" + strings.Repeat("9", 65) + "~1",
	} {
		_, err := sequence.ParseTicket(s)
		require.ErrorIs(t, err, sequence.ErrInvalid, "%q", s)
		var invalid *sequence.InvalidError
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, "ticket", invalid.Field)
	}
}

func FuzzParseTicket(f *testing.F) {
	f.Add("ORDER~A-129032~1")
	f.Add("ORDER~A~2147483647")
	f.Fuzz(func(t *testing.T, s string) {
		if ticket, err := sequence.ParseTicket(s); err == nil && ticket.String() != s {
			t.Errorf("%q was read as %q", s, ticket)
		}
	})
}

func TestNamesAreChecked(t *testing.T) {
	type test struct {
		validate func(string) error
		good     []string
		bad      []string
	}
	for name, tt := range map[string]test{
		"biz type": {sequence.ValidateBizTypeName,
			[]string{"O", "ORDER", "PU_2", strings.Repeat("A", 32)},
			[]string{"", "order", "ORDER ", " ORDER", "ORDER\t", "ORDER\u00a0", "1ORDER", "_O", "OR-DER", "OR~DER", "{x}", "ＯＲＤＥＲ", "O\x00", "O\xff", strings.Repeat("A", 33)}},
		"seq no": {sequence.ValidateSeqNo,
			[]string{"1", "A-000001", "a_b", strings.Repeat("9", 64)},
			[]string{"", "A-1 ", "A 1", "A~1", "A/1", "A#1", "号-1", "A\n", strings.Repeat("9", 65)}},
		"biz key": {sequence.ValidateBizKey,
			[]string{"", "o-1", "订单 1", "a'b\"<script>", strings.Repeat("k", 128)},
			[]string{"a\nb", "a\x00", "\x7f", "\u0085", "\xff", strings.Repeat("k", 129), strings.Repeat("号", 43)}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, s := range tt.good {
				require.NoError(t, tt.validate(s), "%q", s)
			}
			for _, s := range tt.bad {
				require.ErrorIs(t, tt.validate(s), sequence.ErrInvalid, "%q", s)
			}
		})
	}
}

func TestFormat(t *testing.T) {
	for _, tt := range []struct {
		template string
		value    int64
		want     string
	}{
		{"A-{seq:6}", 123, "A-000123"},
		{"{seq:7}", 123, "0000123"},
		{"2026-{seq:6}", 123, "2026-000123"},
		{"ORDER{seq:3}", 123, "ORDER123"},
		{"A{seq:4}_x", 0, "A0000_x"},
		{"{seq:18}", 999_999_999_999_999_999, "999999999999999999"},
		{"{seq:16}", 9_007_199_254_740_993, "9007199254740993"},
	} {
		f, err := sequence.ParseFormat(tt.template)
		require.NoError(t, err)
		require.Equal(t, tt.template, f.String())
		require.Equal(t, tt.want, f.Print(tt.value))
		value, err := f.Parse(tt.want)
		require.NoError(t, err)
		require.Equal(t, tt.value, value)
	}
	for _, template := range []string{
		"", "A-", "A-{seq}", "{seq:}", "{seq:0}", "{seq:19}", "{seq:06}", "{seq:-1}", "{seq:6", "{seq:6}{seq:6}", "A {seq:6}", "A~{seq:6}",
		"号{seq:6}", "A{SEQ:6}", strings.Repeat("A", 59) + "{seq:6}",
	} {
		_, err := sequence.ParseFormat(template)
		require.ErrorIs(t, err, sequence.ErrInvalid, "%q", template)
	}
	f, err := sequence.ParseFormat("A-{seq:3}")
	require.NoError(t, err)
	require.Equal(t, int64(999), f.Max())
	for _, s := range []string{"", "A-", "A-12", "A-1234", "B-123", "A-12x", "A--12", "A-+12", "A-123 "} {
		_, err := f.Parse(s)
		require.ErrorIs(t, err, sequence.ErrInvalid, "%q", s)
	}
}

func FuzzFormatReadsWhatItPrints(f *testing.F) {
	f.Add("A-", "-z", 6, int64(123))
	f.Add("", "", 18, int64(999_999_999_999_999_999))
	f.Fuzz(func(t *testing.T, prefix, suffix string, width int, value int64) {
		format, err := sequence.ParseFormat(prefix + "{seq:" + "6" + "}" + suffix)
		if width >= 1 && width <= sequence.MaxWidth {
			format, err = sequence.ParseFormat(prefix + "{seq:" + string(digits(width)) + "}" + suffix)
		}
		if err != nil || value < 0 || value > format.Max() {
			return
		}
		got, err := format.Parse(format.Print(value))
		if err != nil || got != value {
			t.Errorf("%s: %d was read back as %d: %v", format, value, got, err)
		}
	})
}

func digits(width int) []byte {
	if width < 10 {
		return []byte{byte('0' + width)}
	}
	return []byte{'1', byte('0' + width - 10)}
}

func TestBizTypeReportsAllFaultsAtOnce(t *testing.T) {
	format, err := sequence.ParseFormat("A-{seq:6}")
	require.NoError(t, err)
	require.NoError(t, sequence.NewBizType("ORDER", format).Validate())

	bad := sequence.BizType{Name: "order", StepMin: 0, StepMax: math.MaxInt32, MaxReplays: -1}
	faults, ok := bad.Validate().(interface{ Unwrap() []error })
	require.True(t, ok)
	var fields []string
	for _, fault := range faults.Unwrap() {
		var invalid *sequence.InvalidError
		require.ErrorAs(t, fault, &invalid)
		fields = append(fields, invalid.Field)
	}
	require.Equal(t, []string{"bizType", "format", "stepMin", "stepMax", "confirmTimeout", "safetyWindow", "maxReplays"}, fields)
}

func TestErrorsAreSentinels(t *testing.T) {
	asked := sequence.Ticket{BizType: "ORDER", SeqNo: "A-1", Life: 1}
	current := sequence.Ticket{BizType: "ORDER", SeqNo: "A-1", Life: 2}
	err := error(&sequence.RefusedError{Outcome: sequence.OutcomeStale, Asked: asked, Current: current, State: sequence.Allocated})
	require.ErrorIs(t, err, sequence.ErrStale)
	require.Contains(t, err.Error(), "ORDER~A-1~2, ALLOCATED")
	cause := errors.New("connection refused")
	err = &sequence.UnavailableError{What: "the ledger is away", Cause: cause}
	require.ErrorIs(t, err, sequence.ErrUnavailable)
	require.ErrorIs(t, err, cause)
}

func TestEveryNameIsItsOwn(t *testing.T) {
	names := map[string]bool{}
	for _, s := range sequence.States {
		names["state "+s.String()] = true
	}
	for _, o := range sequence.Outcomes {
		names["outcome "+o.String()] = true
	}
	for _, k := range sequence.Kinds {
		names["kind "+k.String()] = true
	}
	require.Len(t, names, len(sequence.States)+len(sequence.Outcomes)+len(sequence.Kinds))
	require.Equal(t, "STATE_99", sequence.State(99).String())
}

func TestNamesAreReadBack(t *testing.T) {
	for _, s := range sequence.States {
		var got sequence.State
		text, err := s.MarshalText()
		require.NoError(t, err)
		require.NoError(t, got.UnmarshalText(text))
		require.Equal(t, s, got)
	}
	for _, o := range sequence.Outcomes {
		var got sequence.Outcome
		text, err := o.MarshalText()
		require.NoError(t, err)
		require.NoError(t, got.UnmarshalText(text))
		require.Equal(t, o, got)
	}
	var s sequence.State
	require.ErrorIs(t, s.UnmarshalText([]byte("SOLD")), sequence.ErrInvalid)
	var o sequence.Outcome
	require.ErrorIs(t, o.UnmarshalText([]byte("SOLD")), sequence.ErrInvalid)
}
