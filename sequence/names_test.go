package sequence_test

import (
	"errors"
	"math"
	"net/url"
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

// A ticket stands in the address of its run's page as it is (C43).
func TestATicketNeedsNoEscaping(t *testing.T) {
	for _, seqNo := range []string{"A-000001", "a_b", "INV202612-0000015", strings.Repeat("9", 64)} {
		text := sequence.Ticket{BizType: "PU_2", SeqNo: seqNo, Life: 12}.String()
		require.Equal(t, text, url.PathEscape(text))
		require.Equal(t, text, url.QueryEscape(text))
	}
}

// What is equal on one server and different on the other never gets that far: white space at the ends (C31),
// lengths, encodings and zero bytes (C35).
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
			[]string{"", "A-1 ", " A-1", "A-1\t", "A-1\u00a0", "A-1\x00", "A\xff", "Ａ-1", "A 1", "A~1", "A/1", "A#1", "号-1", "A\n", strings.Repeat("9", 65)}},
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
	require.Equal(t, []string{"bizType", "format", "source", "stepMin", "stepMax", "confirmTimeout", "safetyWindow", "maxReplays", "reuse", "poolOrder", "onTimeout", "retryDelays", "track", "trackAfter"}, fields)
}

func TestErrorsAreSentinels(t *testing.T) {
	asked := sequence.Ticket{BizType: "ORDER", SeqNo: "A-1", Life: 1}
	current := sequence.Ticket{BizType: "ORDER", SeqNo: "A-1", Life: 2}
	err := error(&sequence.RefusedError{Outcome: sequence.OutcomeStale, Asked: asked, Current: current, State: sequence.Allocated})
	require.ErrorIs(t, err, sequence.ErrStale)
	require.Contains(t, err.Error(), "ORDER~A-1~2, ALLOCATED")
	err = &sequence.RefusedError{Outcome: sequence.OutcomeConflict, Asked: asked, Current: asked, State: sequence.Confirmed}
	require.ErrorIs(t, err, sequence.ErrConflict)
	require.Contains(t, err.Error(), "for another biz key")
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
