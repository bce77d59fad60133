package ledger_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/sequence"
)

// list reads all pages of a list, of two numbers each.
func (b bundle) list(t *testing.T, f ledger.NumberFilter) (seqNos []string) {
	t.Helper()
	var after sequence.Number
	for range 100 {
		page, last, err := b.List(t.Context(), f, after, 2)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page), 2)
		for _, n := range page {
			seqNos = append(seqNos, n.SeqNo)
		}
		if last.ID == 0 {
			return seqNos
		}
		after = sequence.Number{ID: last.ID, State: last.State, SeqNo: last.SeqNo, Deadline: last.Deadline}
	}
	t.Fatal("the list does not end")
	return nil
}

func TestListFindsByIndexes(t *testing.T) {
	b := setup(t)
	block := b.allocate(t, "batch-1", 12)
	at := time.Now().UTC().Truncate(time.Microsecond)
	seqNo := func(from, to int) (all []string) {
		for i := from; i <= to; i++ {
			all = append(all, fmt.Sprintf("A-%06d", i))
		}
		return all
	}
	// 1 to 8 were handed out, one a minute; 1 to 3 are confirmed, 4 to 6 are abandoned, 7 and 8 with callers.
	b.apply(t, sequence.OutcomeRecorded, commands(sequence.Record, block[:8], 1)...)
	b.apply(t, sequence.OutcomeConfirmed, commands(sequence.Confirm, block[:3], 1)...)
	b.apply(t, sequence.OutcomeAbandoned, commands(sequence.Abandon, block[3:6], 1)...)
	for i := range 8 {
		b.exec(t, "UPDATE t_seq_issue_log SET issued_time = ?, biz_key = ? WHERE seq_no = ?", at.Add(time.Duration(i+1)*time.Minute), fmt.Sprintf("cart-%d", i%2), seqNo(i+1, i+1)[0])
	}
	state := func(s sequence.State) *sequence.State { return &s }
	minute := func(n int) time.Time { return at.Add(time.Duration(n) * time.Minute) }
	for name, c := range map[string]struct {
		filter ledger.NumberFilter
		want   []string
	}{
		"all":                     {ledger.NumberFilter{BizType: "ORDER"}, seqNo(1, 12)},
		"a range":                 {ledger.NumberFilter{BizType: "ORDER", From: "A-000003", To: "A-000007"}, seqNo(3, 7)},
		"a range and a state":     {ledger.NumberFilter{BizType: "ORDER", From: "A-000005", State: state(sequence.Abandoned)}, seqNo(5, 6)},
		"confirmed":               {ledger.NumberFilter{BizType: "ORDER", State: state(sequence.Confirmed)}, seqNo(1, 3)},
		"with callers":            {ledger.NumberFilter{BizType: "ORDER", State: state(sequence.Allocated)}, seqNo(7, 8)},
		"held":                    {ledger.NumberFilter{BizType: "ORDER", State: state(sequence.Reserved)}, seqNo(9, 12)},
		"a key":                   {ledger.NumberFilter{BizType: "ORDER", BizKey: "cart-0"}, []string{"A-000001", "A-000003", "A-000005", "A-000007"}},
		"a key and a state":       {ledger.NumberFilter{BizType: "ORDER", BizKey: "cart-0", State: state(sequence.Confirmed)}, []string{"A-000001", "A-000003"}},
		"a state and times":       {ledger.NumberFilter{BizType: "ORDER", State: state(sequence.Abandoned), Since: minute(5), Until: minute(6)}, seqNo(5, 5)},
		"a range and an end":      {ledger.NumberFilter{BizType: "ORDER", To: "A-000012", Until: minute(3)}, seqNo(1, 2)},
		"nothing of another type": {ledger.NumberFilter{BizType: "NONE", State: state(sequence.Allocated)}, nil},
		"nothing is overdue":      {ledger.NumberFilter{Overdue: true}, nil},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, b.list(t, c.filter)) })
	}
	t.Run("overdue, of all states and types", func(t *testing.T) {
		b.exec(t, "UPDATE t_seq_issue_log SET deadline = UTC_TIMESTAMP(6) - INTERVAL value MINUTE WHERE status IN (1, 3)")
		require.Equal(t, []string{"A-000008", "A-000007", "A-000006", "A-000005", "A-000004"}, b.list(t, ledger.NumberFilter{Overdue: true, OverdueFor: time.Minute}))
		require.Equal(t, []string{"A-000006"}, b.list(t, ledger.NumberFilter{BizType: "ORDER", State: state(sequence.Abandoned), Overdue: true, OverdueFor: 6 * time.Minute}))
	})
}

func TestListRefusesWhatNoIndexFinds(t *testing.T) {
	confirmed, dead := sequence.Confirmed, sequence.Dead
	now := time.Now()
	for words, f := range map[string]ledger.NumberFilter{
		"bizType":                {State: &confirmed},
		"no index leads":         {BizType: "ORDER", Since: now},
		"other than CONFIRMED":   {BizType: "ORDER", State: &confirmed, Until: now},
		"bizType and state":      {BizType: "ORDER", Overdue: true, BizKey: "cart-1"},
		"has no deadline":        {State: &dead, Overdue: true},
		"365 days":               {Overdue: true, OverdueFor: -time.Second},
		"comes before":           {BizType: "ORDER", From: "A-2", To: "A-1"},
		"until: is before since": {BizType: "ORDER", BizKey: "cart-1", Since: now, Until: now.Add(-time.Second)},
	} {
		require.ErrorContains(t, f.Validate(), words)
	}
}

func TestListsReadTheirIndex(t *testing.T) {
	b := setup(t)
	block := b.allocate(t, "batch-1", 2_000)
	b.apply(t, sequence.OutcomeRecorded, commands(sequence.Record, block, 1)...)
	b.exec(t, "ANALYZE TABLE t_seq_issue_log")
	at := time.Now().UTC()
	for index, q := range map[string]struct {
		query string
		args  []any
	}{
		"idx_biz_key":         {ledger.QueryByKey, []any{"ORDER", "cart-1", 7, 500}},
		"uk_biz_seq":          {ledger.QueryBySeqNo, []any{"ORDER", "", "A-000005", "~", 500}},
		"idx_status_deadline": {ledger.QueryByDeadline, []any{1, at, at, 7, 500}},
		`"status"`:            {ledger.QueryByState, []any{0, 7, 500}},
	} {
		var plan string
		require.NoError(t, b.DB().QueryRowContext(t.Context(), "EXPLAIN FORMAT=JSON "+q.query, q.args...).Scan(&plan), index)
		require.True(t, json.Valid([]byte(plan)))
		require.Contains(t, plan, index)
		require.NotContains(t, plan, "filesort", "%s: %s", index, plan)
	}
}
