package sequence_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/sequence"
)

// adopter is a biz type whose numbers begin at 10: window 120 s, confirm timeout 15 min, two replays.
func adopter(t *testing.T, template string) sequence.BizType {
	t.Helper()
	format, err := sequence.ParseFormat(template)
	require.NoError(t, err)
	b := sequence.NewBizType("ORDER", format)
	b.Start = 10
	return b
}

func TestWhatBecomesOfAnImportedNumber(t *testing.T) {
	now := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	windowEnd, confirmBy := now.Add(120*time.Second), now.Add(15*time.Minute)
	never := func(b *sequence.BizType) { b.Reuse, b.DurableIssue = sequence.ReuseNever, true }
	probed := func(b *sequence.BizType) { b.Probe = sequence.Probe{DSN: "shop", Query: "SELECT 1 FROM o WHERE n = ?"} }
	for name, tt := range map[string]struct {
		in    sequence.Imported
		rules func(*sequence.BizType)
		want  sequence.Number // besides its name and its value
	}{
		"CONFIRMED stays, with what is known of it": {
			in: sequence.Imported{State: sequence.Confirmed, Life: 3, BizKey: "cart-1", Reason: "paid", IssuedTime: ago(time.Hour), AbandonedTime: ago(30 * time.Minute), ConfirmedTime: ago(time.Minute)},
			want: sequence.Number{State: sequence.Confirmed, Life: 3, Replays: 2, BizKey: "cart-1", Reason: "paid", IssuedTime: ago(time.Hour),
				AbandonedTime: ago(30 * time.Minute), ConfirmedTime: ago(time.Minute)},
		},
		"CONFIRMED, nobody knows when": {
			in:   sequence.Imported{State: sequence.Confirmed},
			want: sequence.Number{State: sequence.Confirmed, Life: 1, IssuedTime: now, ConfirmedTime: now},
		},
		"CONFIRMED by a clock that is a little ahead": {
			in:   sequence.Imported{State: sequence.Confirmed, ConfirmedTime: now.Add(time.Second)},
			want: sequence.Number{State: sequence.Confirmed, Life: 1, IssuedTime: now, ConfirmedTime: now},
		},
		"ABANDONED waits out a full window, however long ago it was": {
			in: sequence.Imported{State: sequence.Abandoned, IssuedTime: ago(48 * time.Hour), AbandonedTime: ago(24 * time.Hour)},
			want: sequence.Number{State: sequence.Abandoned, Life: 1, IssuedTime: ago(48 * time.Hour), AbandonedTime: now, Deadline: windowEnd,
				Reason: "imported as ABANDONED, given up at 2026-05-05T07:08:09Z"},
		},
		"REPLAYABLE after its window is free": {
			in: sequence.Imported{State: sequence.Replayable, Life: 2, BatchID: "seg-7", AbandonedTime: ago(120 * time.Second)},
			want: sequence.Number{State: sequence.Replayable, Life: 2, Replays: 1, IssuedTime: ago(120 * time.Second), AbandonedTime: ago(120 * time.Second), Deadline: now,
				Reason: "imported as REPLAYABLE, given up at 2026-05-06T07:06:09Z, of batch seg-7"},
		},
		"REPLAYABLE within its window waits out a full one": {
			in: sequence.Imported{State: sequence.Replayable, AbandonedTime: ago(119 * time.Second)},
			want: sequence.Number{State: sequence.Abandoned, Life: 1, IssuedTime: ago(119 * time.Second), AbandonedTime: now, Deadline: windowEnd,
				Reason: "imported as REPLAYABLE, given up at 2026-05-06T07:06:10Z"},
		},
		"REPLAYABLE since nobody knows when waits out a full one": {
			in:   sequence.Imported{State: sequence.Replayable, Reason: "risk rule"},
			want: sequence.Number{State: sequence.Abandoned, Life: 1, IssuedTime: now, AbandonedTime: now, Deadline: windowEnd, Reason: "imported as REPLAYABLE: risk rule"},
		},
		"REPLAYABLE as often as is allowed is left to the step that retires it": {
			in: sequence.Imported{State: sequence.Replayable, Life: 3, AbandonedTime: ago(time.Hour)},
			want: sequence.Number{State: sequence.Abandoned, Life: 3, Replays: 2, IssuedTime: ago(time.Hour), AbandonedTime: now, Deadline: windowEnd,
				Reason: "imported as REPLAYABLE, given up at 2026-05-06T06:08:09Z"},
		},
		"REPLAYABLE where no number is issued again": {
			rules: never,
			in:    sequence.Imported{State: sequence.Replayable, AbandonedTime: ago(time.Hour)},
			want: sequence.Number{State: sequence.Abandoned, Life: 1, IssuedTime: ago(time.Hour), AbandonedTime: now, Deadline: windowEnd,
				Reason: "imported as REPLAYABLE, given up at 2026-05-06T06:08:09Z"},
		},
		"REPLAYABLE where the business is asked first": {
			rules: probed,
			in:    sequence.Imported{State: sequence.Replayable, AbandonedTime: ago(time.Hour)},
			want: sequence.Number{State: sequence.Abandoned, Life: 1, IssuedTime: ago(time.Hour), AbandonedTime: now, Deadline: windowEnd,
				Reason: "imported as REPLAYABLE, given up at 2026-05-06T06:08:09Z"},
		},
		"ALLOCATED may be confirmed for a full timeout": {
			in: sequence.Imported{State: sequence.Allocated, BizKey: "cart-2", IssuedTime: ago(time.Hour)},
			want: sequence.Number{State: sequence.Allocated, Life: 1, BizKey: "cart-2", IssuedTime: ago(time.Hour), Deadline: confirmBy,
				Reason: "imported as ALLOCATED"},
		},
		"REPLAYED may have a holder": {
			in: sequence.Imported{State: sequence.Replayed, Life: 2, AbandonedTime: ago(time.Hour)},
			want: sequence.Number{State: sequence.Allocated, Life: 2, Replays: 1, IssuedTime: ago(time.Hour), Deadline: confirmBy,
				Reason: "imported as REPLAYED, given up at 2026-05-06T06:08:09Z"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			rules := adopter(t, "A-{seq:6}")
			if tt.rules != nil {
				tt.rules(&rules)
			}
			tt.in.SeqNo = "A-000017"
			tt.want.BizType, tt.want.SeqNo, tt.want.Value = "ORDER", "A-000017", 17
			got, err := rules.Import(tt.in, now)
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
			require.True(t, sequence.ImportedBefore(got, got))
		})
	}
}

func TestTheTimeThatAnImportGaveIsNotTakenAwayByAChangeOfTheRules(t *testing.T) {
	now := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	rules := adopter(t, "A-{seq:6}")
	for _, state := range []sequence.State{sequence.Allocated, sequence.Abandoned} {
		n, err := rules.Import(sequence.Imported{SeqNo: "A-000017", State: state, IssuedTime: now.Add(-time.Hour), AbandonedTime: now.Add(-time.Hour)}, now)
		require.NoError(t, err)
		d := sequence.Decide(rules, n, sequence.Command{Kind: sequence.Retime, Ticket: n.Ticket()}, now.Add(time.Second))
		require.Equal(t, sequence.OutcomeUnchanged, d.Outcome)
	}
}

func TestAnImportTakesThePeriodFromTheNumber(t *testing.T) {
	rules := adopter(t, "INV{yyyy}{MM}-{seq:6}{luhn}")
	n, err := rules.Import(sequence.Imported{SeqNo: rules.Format.Print("202501", 42), State: sequence.Confirmed}, time.Now())
	require.NoError(t, err)
	require.Equal(t, "202501", n.Period)
	require.Equal(t, int64(42), n.Value)
}

func TestAnImportRefuses(t *testing.T) {
	now := time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	checked := adopter(t, "A-{seq:4}{luhn}")
	good := checked.Format.Print("", 17)
	wrong := good[:len(good)-1] + string('0'+(good[len(good)-1]-'0'+1)%10)
	for name, tt := range map[string]struct {
		in    sequence.Imported
		field string
	}{
		"another format":          {sequence.Imported{SeqNo: "B-00017", State: sequence.Confirmed}, "seqNo"},
		"a wider number":          {sequence.Imported{SeqNo: "A-1000017", State: sequence.Confirmed}, "seqNo"},
		"a wrong check digit":     {sequence.Imported{SeqNo: wrong, State: sequence.Confirmed}, "seqNo"},
		"a value below the start": {sequence.Imported{SeqNo: checked.Format.Print("", 9), State: sequence.Confirmed}, "seqNo"},
		"a state of memory":       {sequence.Imported{SeqNo: good, State: sequence.Reserved}, "state"},
		"a state of ours":         {sequence.Imported{SeqNo: good, State: sequence.Dead}, "state"},
		"a negative life":         {sequence.Imported{SeqNo: good, State: sequence.Confirmed, Life: -1}, "life"},
		"too many lives":          {sequence.Imported{SeqNo: good, State: sequence.Confirmed, Life: sequence.MaxImportedLife + 1}, "life"},
		"a long biz key":          {sequence.Imported{SeqNo: good, State: sequence.Confirmed, BizKey: strings.Repeat("x", 129)}, "bizKey"},
		"a long reason":           {sequence.Imported{SeqNo: good, State: sequence.Confirmed, Reason: strings.Repeat("x", 256)}, "reason"},
		"a time to come":          {sequence.Imported{SeqNo: good, State: sequence.Abandoned, AbandonedTime: now.Add(2 * time.Hour)}, "abandonedTime"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := checked.Import(tt.in, now)
			var invalid *sequence.InvalidError
			require.ErrorAs(t, err, &invalid)
			require.Equal(t, tt.field, invalid.Field)
		})
	}
}

func TestALongReasonIsCutAtACharacter(t *testing.T) {
	n, err := adopter(t, "A-{seq:6}").Import(sequence.Imported{SeqNo: "A-000017", State: sequence.Abandoned, Reason: strings.Repeat("ü", 120)}, time.Now())
	require.NoError(t, err)
	require.LessOrEqual(t, len(n.Reason), sequence.MaxReason)
	require.True(t, strings.HasSuffix(n.Reason, "ü"))
}

func TestImportedStates(t *testing.T) {
	for text, want := range map[string]sequence.State{
		"1": sequence.Allocated, "2": sequence.Confirmed, "3": sequence.Abandoned, "4": sequence.Replayable, "5": sequence.Replayed,
		"ALLOCATED": sequence.Allocated, "confirmed": sequence.Confirmed, "Abandoned": sequence.Abandoned, "REPLAYABLE": sequence.Replayable, "replayed": sequence.Replayed,
	} {
		got, err := sequence.ParseImportedState(text)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "0", "6", "7", "01", "DEAD", "RETIRED", "RESERVED", "used"} {
		_, err := sequence.ParseImportedState(text)
		require.ErrorContains(t, err, "state: ", text)
	}
}

func TestWhatAnImportLeftMayHaveMovedOn(t *testing.T) {
	at := func(state sequence.State, life int32) sequence.Number {
		return sequence.Number{State: state, Life: life}
	}
	for name, tt := range map[string]struct {
		imported, now sequence.Number
		want          bool
	}{
		"the same":                            {at(sequence.Abandoned, 1), at(sequence.Abandoned, 1), true},
		"another state of its life":           {at(sequence.Abandoned, 1), at(sequence.Replayable, 1), true},
		"rescued":                             {at(sequence.Abandoned, 1), at(sequence.Confirmed, 1), true},
		"issued again":                        {at(sequence.Abandoned, 1), at(sequence.Confirmed, 2), true},
		"confirmed there since":               {at(sequence.Confirmed, 1), at(sequence.Abandoned, 1), false},
		"confirmed there, issued again here":  {at(sequence.Confirmed, 1), at(sequence.Confirmed, 2), false},
		"issued again there since":            {at(sequence.Abandoned, 2), at(sequence.Abandoned, 1), false},
		"a hole that the source names by now": {at(sequence.Allocated, 1), at(sequence.Replayable, 0), false},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tt.want, sequence.ImportedBefore(tt.imported, tt.now)) })
	}
}
