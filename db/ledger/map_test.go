package ledger_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/sequence"
)

// mapped maps what the filter means, all parts of it, and holds every cell that was allocated against an audit of
// the same values.
func (b bundle) mapped(t *testing.T, f ledger.MapFilter) ledger.NumberMap {
	t.Helper()
	whole, err := b.Map(t.Context(), f)
	require.NoError(t, err)
	for next := whole.Next; next != 0; {
		f.Period, f.From, f.To, f.Width, f.Begin = whole.Period, &whole.From, &whole.To, whole.Width, next
		part, err := b.Map(t.Context(), f)
		require.NoError(t, err)
		whole.Cells, next = append(whole.Cells, part.Cells...), part.Next
	}
	at := whole.From
	for _, c := range whole.Cells {
		require.Equal(t, at, c.First, "the cells lie side by side")
		require.Equal(t, c.Last-c.First+1, c.Sum(), "each value is in exactly one class")
		at = c.Last + 1
		if c.First > whole.Cursor {
			require.Equal(t, c.Sum(), c.Unallocated)
			continue
		}
		a := b.audit(t, ledger.AuditFilter{BizType: f.BizType, Period: whole.Period, Lo: &c.First, Hi: &c.Last})
		r := a.Reports[0]
		require.Equal(t, r.States, c.States, "the cell from %d to %d", c.First, c.Last)
		require.Equal(t, []int64{r.Skipped, r.Unaccounted, r.UnknownStatus}, []int64{c.Skipped, c.Unaccounted, c.UnknownStatus}, "the cell from %d to %d", c.First, c.Last)
	}
	require.Equal(t, whole.To+1, at)
	return whole
}

func (b bundle) mapOrder(t *testing.T, from, to int64, cells int) ledger.NumberMap {
	t.Helper()
	return b.mapped(t, ledger.MapFilter{BizType: "ORDER", From: &from, To: &to, Cells: cells})
}

func (b bundle) skip(t *testing.T, lo, hi int64) {
	t.Helper()
	b.exec(t, `INSERT INTO t_seq_skip (biz_type, period, lo, hi, reason, declared_time) VALUES ('ORDER', '', ?, ?, 'for a test', UTC_TIMESTAMP(6))`, lo, hi)
}

func TestAMapCountsNumbersInEveryState(t *testing.T) {
	b := setup(t)
	b.everyState(t)
	for cells, width := range map[int]int64{1: 100, 9: 100, 10: 10, 99: 10, 100: 1, 1_000: 1} {
		m := b.mapped(t, ledger.MapFilter{BizType: "ORDER", Cells: cells})
		require.Equal(t, width, m.Width, "%d cells", cells)
		require.Equal(t, []int64{1, 100, 999_999, 1, 100}, []int64{m.First, m.Cursor, m.Last, m.From, m.To})
		require.Len(t, m.Cells, int(100/width))
		require.Equal(t, []string{""}, m.Periods)
	}
	m := b.mapped(t, ledger.MapFilter{BizType: "ORDER", Cells: 100})
	for i, c := range m.Cells {
		require.Equal(t, int64(i+1), c.Number.Value)
		require.Equal(t, int64(1), c.States[c.Number.State])
		require.False(t, c.Archived)
	}
	require.Equal(t, "A-000066", m.Cells[65].Number.SeqNo)
	require.Equal(t, sequence.Dead, m.Cells[65].Number.State)
}

func TestAMapIsMadeWiderToWholeCells(t *testing.T) {
	b := setup(t)
	b.everyState(t)
	m := b.mapOrder(t, 37, 112, 10)
	require.Equal(t, []int64{10, 31, 120}, []int64{m.Width, m.From, m.To})
	require.Equal(t, int64(10), m.Cells[8].Unallocated)
	m = b.mapOrder(t, 0, 1_000_000_000, 100)
	require.Equal(t, []int64{10_000, 1, 999_999}, []int64{m.Width, m.From, m.To}, "it ends where the format does")
	require.Equal(t, int64(9_900), m.Cells[0].Unallocated)
	require.Equal(t, int64(9_999), m.Cells[99].Unallocated)
	m = b.mapOrder(t, 101, 101, 100)
	require.Len(t, m.Cells, 1)
	require.Nil(t, m.Cells[0].Number)
}

func TestAMapShowsWhatNoRowStandsFor(t *testing.T) {
	b := setup(t)
	b.everyState(t)
	b.exec(t, `DELETE FROM t_seq_issue_log WHERE value IN (1, 2, 50, 51, 100)`)
	b.skip(t, 2, 2)
	b.skip(t, 50, 50)
	b.skip(t, 101, 20_300_000)
	b.exec(t, `UPDATE t_seq_cursor SET value = 20300005`)
	b.exec(t, `UPDATE t_seq_biz_type SET format = 'A-{seq:12}'`)
	for _, r := range [][2]int64{{1, 100}, {1, 130}, {45, 54}, {1, 20_300_005}, {20_299_990, 20_300_010}} {
		for _, cells := range []int{1, 7, 100, 1_000} {
			b.mapOrder(t, r[0], r[1], cells)
		}
	}
	m := b.mapOrder(t, 1, 100, 100)
	require.Equal(t, int64(1), m.Cells[0].Unaccounted)
	require.Equal(t, int64(1), m.Cells[1].Skipped)

	b.skip(t, 60, 70) // and rows: an audit's finding, and counted once here as there
	m = b.mapOrder(t, 1, 100, 10)
	require.Equal(t, int64(1), m.Cells[0].Skipped)
	require.Zero(t, m.Cells[6].Skipped)
	b.mapOrder(t, 51, 90, 40)
}

func TestAMapOfAStateThatThereIsNot(t *testing.T) {
	b := setup(t)
	b.allocate(t, "batch-1", 20)
	b.exec(t, `ALTER TABLE t_seq_issue_log DROP CONSTRAINT ck_issue_status, DROP CONSTRAINT ck_issue_owner, DROP CONSTRAINT ck_issue_life`)
	b.exec(t, `UPDATE t_seq_issue_log SET status = 9 WHERE value = 7`)
	require.Equal(t, int64(1), b.mapOrder(t, 1, 20, 2).Cells[0].UnknownStatus)
	require.Equal(t, int64(1), b.mapOrder(t, 1, 20, 20).Cells[6].UnknownStatus)
}

// What is sealed is counted without its rows, also where it was confirmed late since, and archived.
func TestAMapCountsSealedBlocksByTheirSeals(t *testing.T) {
	b := setup(t)
	for i := range 3 {
		b.allocate(t, fmt.Sprintf("batch-%d", i), 10_000)
	}
	b.exec(t, `UPDATE t_seq_issue_log SET status = 7, life = 1, owner = '', durable = FALSE, issued_time = UTC_TIMESTAMP(6), abandoned_time = UTC_TIMESTAMP(6) WHERE value % 1000 = 7`)
	b.confirmAll(t)
	b.exec(t, `DELETE FROM t_seq_issue_log WHERE value BETWEEN 101 AND 110`)
	b.skip(t, 101, 110)
	b.exec(t, `UPDATE t_seq_issue_log SET status = 1, confirmed_time = NULL, deadline = UTC_TIMESTAMP(6) WHERE value = 12000`)
	require.Equal(t, 2, b.seal(t))
	late, _, err := b.Get(t.Context(), "ORDER", "A-021007")
	require.NoError(t, err)
	b.apply(t, sequence.OutcomeRescued, commands(sequence.Confirm, []sequence.Number{late}, 0)...)

	looks := func(t *testing.T) {
		t.Helper()
		m := b.mapOrder(t, 1, 30_000, 3)
		require.Equal(t, int64(10_000), m.Width)
		require.Equal(t, []int64{9_980, 10, 10}, []int64{m.Cells[0].States[sequence.Confirmed], m.Cells[0].States[sequence.Retired], m.Cells[0].Skipped})
		require.Equal(t, int64(1), m.Cells[1].States[sequence.Allocated])
		require.Equal(t, int64(9), m.Cells[2].States[sequence.Retired], "one was confirmed late")
		b.mapOrder(t, 1, 30_000, 1)
		b.mapOrder(t, 1, 300_000, 10)
		b.mapOrder(t, 9_000, 11_000, 4)
		b.mapOrder(t, 95, 115, 100)
	}
	looks(t)
	b.archive(t)
	looks(t)
	m := b.mapOrder(t, 1, 10, 10)
	require.True(t, m.Cells[0].Archived)
	require.Equal(t, "A-000001", m.Cells[0].Number.SeqNo)

	b.exec(t, `DELETE FROM t_seq_archive WHERE value BETWEEN 1 AND 10000`)
	from, to := int64(1), int64(10_000)
	blind, err := b.Map(t.Context(), ledger.MapFilter{BizType: "ORDER", From: &from, To: &to, Cells: 1})
	require.NoError(t, err)
	require.Equal(t, int64(9_980), blind.Cells[0].States[sequence.Confirmed], "no row of a sealed block was read")
}

func TestAMapOfManyRowsComesInParts(t *testing.T) {
	b := setup(t)
	const rows = 450_000
	b.exec(t, `INSERT INTO t_seq_issue_log (biz_type, seq_no, value, batch_id, status, owner)
		WITH RECURSIVE d AS (SELECT 0 AS i UNION ALL SELECT i + 1 FROM d WHERE i < 9)
		SELECT 'ORDER', CONCAT('A-', LPAD(v + 1, 6, '0')), v + 1, 'batch-1', 0, ? FROM
		(SELECT a.i + 10 * b.i + 100 * c.i + 1000 * e.i + 10000 * f.i + 100000 * g.i AS v FROM d a, d b, d c, d e, d f, d g) n WHERE v < ?`, me, rows)
	b.exec(t, `INSERT INTO t_seq_cursor (biz_type, period, value) VALUES ('ORDER', '', ?)`, rows)
	m, err := b.Map(t.Context(), ledger.MapFilter{BizType: "ORDER", Cells: 1})
	require.NoError(t, err)
	require.Equal(t, int64(200_001), m.Next)
	require.Len(t, m.Cells, 1, "a cell in which a part ends is in both")
	require.Equal(t, int64(200_000), m.Cells[0].Sum())
	m = b.mapped(t, ledger.MapFilter{BizType: "ORDER", Cells: 1})
	require.Len(t, m.Cells, 3)
	require.Equal(t, int64(999_999-400_000), m.Cells[2].Sum())
	m = b.mapped(t, ledger.MapFilter{BizType: "ORDER", Cells: 10})
	require.Len(t, m.Cells, 5)
}

func TestAMapIsOfOnePeriod(t *testing.T) {
	b := setup(t)
	b.daily(t)
	_, err := b.Map(t.Context(), ledger.MapFilter{BizType: "INV", Cells: 10})
	require.ErrorIs(t, err, sequence.ErrNotFound)
	b.past(t, 3, 4, 2, true)
	b.past(t, 2, 1, 0, false)
	now, err := b.Now(t.Context())
	require.NoError(t, err)
	latest, before := now.AddDate(0, 0, -2).Format("20060102"), now.AddDate(0, 0, -3).Format("20060102")
	m := b.mapped(t, ledger.MapFilter{BizType: "INV", Cells: 10})
	require.Equal(t, latest, m.Period)
	require.Equal(t, []string{latest, before}, m.Periods)
	m = b.mapped(t, ledger.MapFilter{BizType: "INV", Period: before, Cells: 10})
	require.Equal(t, []int64{5, 5, 11}, []int64{m.First, m.From, m.To}, "cells begin where the period does")
	_, err = b.Map(t.Context(), ledger.MapFilter{BizType: "INV", Period: "19990101", Cells: 10})
	require.ErrorIs(t, err, sequence.ErrNotFound)
	_, err = b.Map(t.Context(), ledger.MapFilter{BizType: "NONE", Cells: 10})
	require.ErrorIs(t, err, sequence.ErrNotFound)
}

func TestAMapThatMeansNothing(t *testing.T) {
	b := setup(t)
	b.allocate(t, "batch-1", 10)
	at := func(value int64) *int64 { return &value }
	for name, f := range map[string]ledger.MapFilter{
		"no biz type":                 {Cells: 1},
		"no cells":                    {BizType: "ORDER"},
		"too many cells":              {BizType: "ORDER", Cells: 1_001},
		"a value below 0":             {BizType: "ORDER", Cells: 1, From: at(-1)},
		"an end below 0":              {BizType: "ORDER", Cells: 1, To: at(-1)},
		"an end before its beginning": {BizType: "ORDER", Cells: 1, From: at(8), To: at(7)},
		"an end before the first":     {BizType: "ORDER", Cells: 1, To: at(0)},
		"a beginning after the last":  {BizType: "ORDER", Cells: 1, From: at(1_000_000)},
		"a part of too many cells":    {BizType: "ORDER", Cells: 1, From: at(1), To: at(2_000), Width: 1, Begin: 7},
		"a part after the end":        {BizType: "ORDER", Cells: 1, From: at(1), To: at(10), Width: 1, Begin: 11},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := b.Map(t.Context(), f)
			require.ErrorIs(t, err, sequence.ErrInvalid)
		})
	}
}
