package ledger_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/sequence"
)

// list is a source in memory. before is called before each number of the second read.
type list struct {
	numbers []sequence.Imported
	faults  map[int]error // by line
	before  func(i int) error
	reads   int
}

func (s *list) Name() string { return "the list" }

func (s *list) Identity(context.Context) (string, error) { return "list", nil }

func (s *list) Read(_ context.Context, do func(ledger.ImportLine) error) error {
	s.reads++
	for i, n := range s.numbers {
		if s.reads%2 == 0 && s.before != nil {
			if err := s.before(i); err != nil {
				return err
			}
		}
		if err := do(ledger.ImportLine{Line: i + 1, Number: n, Fault: s.faults[i+1]}); err != nil {
			return err
		}
	}
	return nil
}

func seqNo(value int) string { return fmt.Sprintf("A-%06d", value) }

// confirmed are the numbers from lo to hi, in use.
func confirmed(lo, hi int) []sequence.Imported {
	var all []sequence.Imported
	for v := lo; v <= hi; v++ {
		all = append(all, sequence.Imported{SeqNo: seqNo(v), State: sequence.Confirmed, BizKey: fmt.Sprint("cart-", v)})
	}
	return all
}

func (b bundle) importAll(t *testing.T, holes ledger.Holes, numbers ...sequence.Imported) ledger.ImportReport {
	t.Helper()
	report, err := b.Import(t.Context(), ledger.Import{BizType: "ORDER", Source: &list{numbers: numbers}, Holes: holes})
	require.NoError(t, err, "%+v", report.Faults)
	return report
}

func (b bundle) importRefused(t *testing.T, numbers ...sequence.Imported) ledger.ImportReport {
	t.Helper()
	before := b.dump(t)
	report, err := b.Import(t.Context(), ledger.Import{BizType: "ORDER", Source: &list{numbers: numbers}, Holes: ledger.HolesRefuse})
	require.ErrorIs(t, err, ledger.ErrImportRefused)
	require.Equal(t, before, b.dump(t), "nothing was written")
	return report
}

// dump is what an import may write, without the times of the database.
func (b bundle) dump(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, query := range []string{
		`SELECT CONCAT_WS(' ', seq_no, period, value, life, replays, batch_id, status, tracked, biz_key, reason, version) FROM t_seq_issue_log ORDER BY period, value`,
		`SELECT CONCAT_WS(' ', 'cursor', period, value) FROM t_seq_cursor ORDER BY period`,
		`SELECT CONCAT_WS(' ', 'skip', period, lo, hi, reason) FROM t_seq_skip ORDER BY period, lo`,
		`SELECT CONCAT_WS(' ', source, holes, state, numbers, position, holes_closed) FROM t_seq_import ORDER BY batch_id`,
		`SELECT CONCAT_WS(' ', 'range', period, lo, hi) FROM t_seq_import_range ORDER BY period, lo`,
	} {
		rows, err := b.DB().QueryContext(t.Context(), query)
		require.NoError(t, err)
		for rows.Next() {
			var line string
			require.NoError(t, rows.Scan(&line))
			all = append(all, line)
		}
		require.NoError(t, errors.Join(rows.Err(), rows.Close()))
	}
	return all
}

// mixed is 1200 numbers with holes at 11 to 15, 700, and 1201 to 1300; numbers 1 to 4 stand in each other state.
func mixed() []sequence.Imported {
	all := slices.Concat(confirmed(1, 10), confirmed(16, 699), confirmed(701, 1200), confirmed(1301, 1301))
	ago := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	for i, s := range []sequence.State{sequence.Allocated, sequence.Abandoned, sequence.Replayable, sequence.Replayed} {
		all[i].State, all[i].AbandonedTime, all[i].Life = s, ago, 2
	}
	return all
}

func TestAnImportBringsEveryNumberAndAddsUp(t *testing.T) {
	b := setup(t)
	report := b.importAll(t, ledger.HolesDeclare, mixed()...)
	require.Equal(t, int64(1195), report.Numbers)
	require.Equal(t, int64(1195), report.Imported)
	require.Equal(t, int64(106), report.Closed)
	require.True(t, report.Done)
	require.Equal(t, map[ledger.ImportMove]int64{
		{From: sequence.Confirmed, To: sequence.Confirmed}:   1191,
		{From: sequence.Allocated, To: sequence.Allocated}:   1,
		{From: sequence.Abandoned, To: sequence.Abandoned}:   1,
		{From: sequence.Replayable, To: sequence.Replayable}: 1,
		{From: sequence.Replayed, To: sequence.Allocated}:    1,
	}, report.Moves)
	require.Equal(t, []ledger.ImportPeriod{{Numbers: 1195, Lo: 1, Hi: 1301, Cursor: 0, CursorAfter: 1301, Holes: 106}}, report.Periods)
	require.Equal(t, []ledger.ImportHole{{Lo: 11, Hi: 15}, {Lo: 700, Hi: 700}, {Lo: 1201, Hi: 1300}}, report.Holes)

	a := b.auditOrder(t)
	require.True(t, a.Clean(), "%+v", a.Findings)
	require.Equal(t, int64(106), a.Reports[0].Skipped)
	require.Equal(t, [8]int64{sequence.Allocated: 2, sequence.Confirmed: 1191, sequence.Abandoned: 1, sequence.Replayable: 1}, a.Reports[0].States)
	require.Equal(t, int64(1301), a.Reports[0].Cursor)
	require.Equal(t, "A-001302", b.allocate(t, "batch-1", 1)[0].SeqNo)

	n, _, err := b.Get(t.Context(), "ORDER", "A-000004")
	require.NoError(t, err)
	require.Equal(t, int32(2), n.Life)
	require.WithinDuration(t, time.Now().Add(15*time.Minute), n.Deadline, time.Minute)
	b.apply(t, sequence.OutcomeConfirmed, commands(sequence.Confirm, []sequence.Number{n}, 0)...)
}

func TestHolesThatNobodyEverHeldArePooled(t *testing.T) {
	b := setup(t)
	report, err := b.Import(t.Context(), ledger.Import{BizType: "ORDER", Source: &list{numbers: mixed()}, Holes: ledger.HolesPool, Reason: "the old counter jumped"})
	require.NoError(t, err)
	require.Equal(t, int64(106), report.Closed)
	require.Equal(t, 106, b.count(t, "SELECT COUNT(*) FROM t_seq_issue_log WHERE status = 4 AND life = 0 AND reason = 'the old counter jumped'"))
	require.Zero(t, b.count(t, "SELECT COUNT(*) FROM t_seq_skip"))
	require.True(t, b.auditOrder(t).Clean())
}

func TestHolesAreRefusedIfNothingElseIsSaid(t *testing.T) {
	b := setup(t)
	report := b.importRefused(t, slices.Concat(confirmed(3, 5), confirmed(7, 7))...)
	require.Equal(t, []ledger.ImportHole{{Lo: 1, Hi: 2}, {Lo: 6, Hi: 6}}, report.Holes)
	require.Equal(t, int64(3), report.HoleCount())
}

func TestADryRunWritesNothing(t *testing.T) {
	b := setup(t)
	before := b.dump(t)
	source := &list{numbers: mixed()}
	report, err := b.Import(t.Context(), ledger.Import{BizType: "ORDER", Source: source, Holes: ledger.HolesRefuse, DryRun: true})
	require.NoError(t, err)
	require.Equal(t, int64(1195), report.Numbers)
	require.Equal(t, int64(106), report.HoleCount())
	require.Contains(t, report.Refusal(ledger.HolesRefuse), "106 values")
	require.Empty(t, report.Refusal(ledger.HolesPool))
	require.False(t, report.Done)
	require.Equal(t, before, b.dump(t))
	require.Equal(t, 1, source.reads)
}

func TestAnImportOfDatedNumbersRaisesEachPeriod(t *testing.T) {
	b := setup(t)
	format, err := sequence.ParseFormat("INV{yyyy}{MM}-{seq:4}{luhn}")
	require.NoError(t, err)
	require.NoError(t, b.CreateBizType(t.Context(), sequence.NewBizType("INVOICE", format)))
	var numbers []sequence.Imported
	for period, n := range map[string]int64{"202411": 3, "202412": 600, "202501": 1} {
		for v := int64(1); v <= n; v++ {
			numbers = append(numbers, sequence.Imported{SeqNo: format.Print(period, v), State: sequence.Confirmed})
		}
	}
	report, err := b.Import(t.Context(), ledger.Import{BizType: "INVOICE", Source: &list{numbers: numbers}, Holes: ledger.HolesRefuse})
	require.NoError(t, err)
	require.Len(t, report.Periods, 3)
	require.Equal(t, 600, b.count(t, "SELECT value FROM t_seq_cursor WHERE biz_type = 'INVOICE' AND period = '202412'"))
	require.True(t, b.audit(t, ledger.AuditFilter{BizType: "INVOICE"}).Clean())
}

func TestAnImportRefusesFaults(t *testing.T) {
	b := setup(t)
	source := &list{
		numbers: append(confirmed(1, 5), sequence.Imported{SeqNo: "B-1", State: sequence.Confirmed}, sequence.Imported{SeqNo: seqNo(3), State: sequence.Confirmed},
			sequence.Imported{SeqNo: seqNo(6), State: sequence.Retired}, sequence.Imported{SeqNo: seqNo(7)}),
		faults: map[int]error{9: sequence.Invalidf("state", "x is none")},
	}
	report, err := b.Import(t.Context(), ledger.Import{BizType: "ORDER", Source: source, Holes: ledger.HolesPool})
	require.ErrorIs(t, err, ledger.ErrImportRefused)
	require.ErrorContains(t, err, "4 faults")
	require.Equal(t, []ledger.ImportFault{
		{6, "B-1", `seqNo: "B-1" is not of the format A-{seq:6}`},
		{7, "A-000003", "seqNo: stands in the source before"},
		{8, "A-000006", "state: RETIRED is none that an import knows"},
		{9, "A-000007", "state: x is none"},
	}, report.Faults)
	require.Empty(t, b.dump(t))
}

func TestAnImportListsSomeFaultsAndCountsAll(t *testing.T) {
	b := setup(t)
	var numbers []sequence.Imported
	for range 1000 {
		numbers = append(numbers, sequence.Imported{SeqNo: "B", State: sequence.Confirmed})
	}
	report := b.importRefused(t, numbers...)
	require.Len(t, report.Faults, ledger.MaxImportFaults)
	require.Equal(t, int64(1000), report.FaultCount())
}

func TestAnImportMeansSomething(t *testing.T) {
	b := setup(t)
	for name, i := range map[string]ledger.Import{
		"no rule for holes": {BizType: "ORDER"},
		"no biz type":       {Holes: ledger.HolesRefuse},
		"no good reason":    {BizType: "ORDER", Holes: ledger.HolesRefuse, Reason: "a\nb"},
	} {
		t.Run(name, func(t *testing.T) {
			i.Source = &list{}
			_, err := b.Import(t.Context(), i)
			require.ErrorIs(t, err, sequence.ErrInvalid)
		})
	}
	_, err := b.Import(t.Context(), ledger.Import{BizType: "NONE", Source: &list{}, Holes: ledger.HolesRefuse})
	require.ErrorIs(t, err, sequence.ErrNotFound)
	require.ErrorContains(t, b.importRefusedError(t), "names no number")
}

func (b bundle) importRefusedError(t *testing.T) error {
	t.Helper()
	_, err := b.Import(t.Context(), ledger.Import{BizType: "ORDER", Source: &list{}, Holes: ledger.HolesRefuse})
	return err
}

func TestAnImportRunsTwice(t *testing.T) {
	b := setup(t)
	for _, holes := range []ledger.Holes{ledger.HolesPool, ledger.HolesRefuse} {
		before := b.dump(t)
		report := b.importAll(t, holes, mixed()...)
		require.True(t, report.Done)
		if holes == ledger.HolesRefuse { // the second time
			require.Equal(t, int64(1195), report.Known)
			require.Zero(t, report.Imported+report.Closed+report.HoleCount())
			require.Equal(t, before, b.dump(t))
		}
	}
}

func TestWhatMovedOnSinceAnImportIsPassedOver(t *testing.T) {
	b := setup(t)
	numbers := confirmed(1, 3)
	numbers[0].State, numbers[1].State = sequence.Abandoned, sequence.Abandoned
	b.importAll(t, ledger.HolesRefuse, numbers...)
	b.passWindow(t)
	var waiting []sequence.Number
	for v := range 2 {
		n, _, err := b.Get(t.Context(), "ORDER", seqNo(v+1))
		require.NoError(t, err)
		waiting = append(waiting, n)
	}
	b.apply(t, sequence.OutcomeReplayable, commands(sequence.Replay, waiting, 0)...)
	claim := commands(sequence.Claim, waiting[:1], 0)
	claim[0].BatchID = "claim-1"
	b.apply(t, sequence.OutcomeClaimed, claim...)
	report := b.importAll(t, ledger.HolesRefuse, numbers...)
	require.Equal(t, int64(3), report.Known)
	require.Zero(t, report.Imported)
}

func TestAnImportRefusesWhatStandsInTheLedger(t *testing.T) {
	b := setup(t)
	issued := b.issue(t, "batch-1", 3)
	b.apply(t, sequence.OutcomeConfirmed, commands(sequence.Confirm, issued, 0)...)
	b.exec(t, "DELETE FROM t_seq_issue_log WHERE value = 3")
	report := b.importRefused(t, confirmed(1, 4)...)
	require.Len(t, report.Faults, 3)
	require.Contains(t, report.Faults[0].Words, "CONFIRMED of life 1, and not by this import")
	require.Contains(t, report.Faults[2].Words, "below the cursor, 3, and has no row")
}

// A hole that was pooled and one that was declared are no numbers that the source brought, whatever became of them.
func TestASourceThatNamesAClosedHoleLaterIsAtFault(t *testing.T) {
	for holes, words := range map[ledger.Holes]string{ledger.HolesPool: "not by this import", ledger.HolesDeclare: "declared as skipped"} {
		t.Run(string(holes), func(t *testing.T) {
			b := setup(t)
			b.importAll(t, holes, confirmed(2, 3)...)
			report := b.importRefused(t, confirmed(1, 3)...)
			require.Len(t, report.Faults, 1)
			require.Contains(t, report.Faults[0].Words, words)
		})
	}
}

// The same table grew, and Lacuna had not issued yet.
func TestAnImportBringsWhatCameInSince(t *testing.T) {
	b := setup(t)
	b.importAll(t, ledger.HolesRefuse, confirmed(1, 600)...)
	report := b.importAll(t, ledger.HolesRefuse, confirmed(1, 700)...)
	require.Equal(t, int64(600), report.Known)
	require.Equal(t, int64(100), report.Imported)
	require.Equal(t, 2, b.count(t, "SELECT COUNT(*) FROM t_seq_import_range"))
	require.True(t, b.auditOrder(t).Clean())

	b.allocate(t, "batch-1", 10)
	report = b.importRefused(t, confirmed(1, 711)...)
	require.Equal(t, int64(10), report.FaultCount())
}

// imports counts the same in two databases: one import that ran through, and one that was cut off.
func sameAsUncut(t *testing.T, cut bundle) {
	t.Helper()
	whole := setup(t)
	whole.importAll(t, ledger.HolesPool, mixed()...)
	require.Equal(t, whole.dump(t), cut.dump(t))
	require.True(t, cut.auditOrder(t).Clean())
}

func TestAnImportThatWasCutOffGoesOn(t *testing.T) {
	for _, at := range []int{0, 500, 501, 1194} {
		t.Run(fmt.Sprint("before line ", at+1), func(t *testing.T) {
			b := setup(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			source := &list{numbers: mixed(), before: func(i int) error {
				if i == at {
					cancel()
				}
				return ctx.Err()
			}}
			_, err := b.Import(ctx, ledger.Import{BizType: "ORDER", Source: source, Holes: ledger.HolesPool})
			require.ErrorIs(t, err, context.Canceled)

			a := b.auditOrder(t)
			require.False(t, a.Clean())
			for _, f := range a.Findings {
				require.Contains(t, f.Words, "the import of the list is under way")
			}
			require.Equal(t, "A-001302", b.allocate(t, "batch-1", 1)[0].SeqNo)
			b.exec(t, "DELETE FROM t_seq_issue_log WHERE value = 1302")
			b.exec(t, "UPDATE t_seq_cursor SET value = 1301")

			report := b.importAll(t, ledger.HolesPool, mixed()...)
			require.True(t, report.Resumed)
			require.Equal(t, int64(at/500*500), report.Known)
			sameAsUncut(t, b)
		})
	}
}

// Cut off between the holes: what was pooled or declared is not closed twice.
func TestAnImportThatWasCutOffInItsHolesGoesOn(t *testing.T) {
	for _, holes := range []ledger.Holes{ledger.HolesPool, ledger.HolesDeclare} {
		t.Run(string(holes), func(t *testing.T) {
			b := setup(t)
			var numbers []sequence.Imported
			for v := 2; v <= 2400; v += 2 { // 1200 holes
				numbers = append(numbers, confirmed(v, v)...)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			_, err := b.Import(ctx, ledger.Import{BizType: "ORDER", Source: &list{numbers: numbers}, Holes: holes, Progress: func(p ledger.ImportProgress) {
				if p.Step == "closed" {
					cancel()
				}
			}})
			require.ErrorIs(t, err, context.Canceled)
			require.NotEmpty(t, b.auditOrder(t).Findings)
			report := b.importAll(t, holes, numbers...)
			require.Equal(t, int64(700), report.Closed)
			require.Equal(t, 1200, b.count(t, "SELECT holes_closed FROM t_seq_import"))
			require.True(t, b.auditOrder(t).Clean())
		})
	}
}

// What was archived since is there all the same: it is passed over, and its value is no hole.
func TestAnImportGoesOnAfterItsNumbersWereArchived(t *testing.T) {
	b := setup(t)
	archive := func() {
		b.exec(t, "INSERT INTO t_seq_archive ("+ledger.NumberColumns+", archived_time) SELECT "+ledger.NumberColumns+", UTC_TIMESTAMP(6) FROM t_seq_issue_log WHERE status = 2 AND value <= 600")
		b.exec(t, "DELETE FROM t_seq_issue_log WHERE status = 2 AND value <= 600")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	numbers := confirmed(1, 1000)
	source := &list{numbers: numbers, before: func(i int) error {
		if i == 800 {
			cancel()
		}
		return ctx.Err()
	}}
	_, err := b.Import(ctx, ledger.Import{BizType: "ORDER", Source: source, Holes: ledger.HolesPool})
	require.ErrorIs(t, err, context.Canceled)
	archive()
	for _, known := range []int64{500, 1000} { // it goes on, and is repeated
		report := b.importAll(t, ledger.HolesPool, numbers...)
		require.Equal(t, known, report.Known)
		require.Zero(t, report.HoleCount())
		require.True(t, b.auditOrder(t).Clean())
		archive()
	}
	require.Equal(t, 600, b.count(t, "SELECT COUNT(*) FROM t_seq_archive"))
}

// Whether the COMMIT whose answer is lost happened or not: each number is there once.
func TestAnImportWhoseCommitsAreUnknown(t *testing.T) {
	for _, undo := range []bool{false, true} {
		t.Run(fmt.Sprint("undone: ", undo), func(t *testing.T) {
			b := setup(t)
			f := &forgetful{}
			l, err := ledger.Open(b.dsn, ledger.WithOpenDB(func(c driver.Connector) *sql.DB {
				f.Connector = c
				return sql.OpenDB(f)
			}), ledger.WithLogger(slog.New(slog.DiscardHandler)))
			require.NoError(t, err)
			defer l.Close() //nolint:errcheck // the server goes with the test
			f.undo.Store(undo)
			lost := 0
			lose := func() {
				f.lose.Store(true)
				lost++
			}
			source := &list{numbers: mixed(), before: func(i int) error {
				if i%500 == 0 {
					lose()
				}
				return nil
			}}
			progress := func(p ledger.ImportProgress) {
				if p.Step == "checked" && lost == 0 || p.Step == "imported" && p.Done == p.Total || p.Step == "closed" {
					lose() // of the begin, of the holes, of the end
				}
			}
			_, err = l.Import(t.Context(), ledger.Import{BizType: "ORDER", Source: source, Holes: ledger.HolesPool, Progress: progress})
			require.NoError(t, err)
			require.GreaterOrEqual(t, lost, 6)
			sameAsUncut(t, b)
		})
	}
}

func TestAProcessWhoseImportAnotherTookStops(t *testing.T) {
	b := setup(t)
	source := &list{numbers: mixed(), before: func(i int) error {
		if i == 600 {
			b.importAll(t, ledger.HolesPool, mixed()...)
		}
		return nil
	}}
	_, err := b.Import(t.Context(), ledger.Import{BizType: "ORDER", Source: source, Holes: ledger.HolesPool})
	require.ErrorContains(t, err, "another process goes on with this import")
	sameAsUncut(t, b)
}

// other is another source of the same biz type.
type other struct{ list }

func (*other) Identity(context.Context) (string, error) { return "other", nil }

func TestOneImportOfABizTypeAtATime(t *testing.T) {
	b := setup(t)
	source := &list{numbers: confirmed(1, 3), before: func(int) error { return errors.New("cut off") }}
	_, err := b.Import(t.Context(), ledger.Import{BizType: "ORDER", Source: source, Holes: ledger.HolesRefuse})
	require.ErrorContains(t, err, "cut off")
	_, err = b.Import(t.Context(), ledger.Import{BizType: "ORDER", Source: &other{list{numbers: confirmed(4, 5)}}, Holes: ledger.HolesRefuse})
	require.ErrorIs(t, err, sequence.ErrInvalid)
	require.ErrorContains(t, err, "an import of the list into ORDER is under way")
	b.importAll(t, ledger.HolesRefuse, confirmed(1, 3)...)
	report, err := b.Import(t.Context(), ledger.Import{BizType: "ORDER", Source: &other{list{numbers: confirmed(4, 5)}}, Holes: ledger.HolesRefuse})
	require.NoError(t, err)
	require.Equal(t, int64(2), report.Imported)
	require.True(t, b.auditOrder(t).Clean())
}

func TestASourceThatChangesWhileItIsImported(t *testing.T) {
	for name, change := range map[string]func(*list){
		"a number more":     func(s *list) { s.numbers = append(s.numbers, confirmed(2000, 2000)...) },
		"a number less":     func(s *list) { s.numbers = s.numbers[:len(s.numbers)-1] },
		"a number twice":    func(s *list) { s.numbers[1] = s.numbers[0] },
		"a faulty number":   func(s *list) { s.numbers[1].SeqNo = "B" },
		"an unreadable one": func(s *list) { s.faults = map[int]error{2: errors.New("x")} },
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			source := &list{numbers: confirmed(1, 1000)}
			progress := func(p ledger.ImportProgress) {
				if p.Step == "checked" && p.Total > 0 {
					change(source)
				}
			}
			_, err := b.Import(t.Context(), ledger.Import{BizType: "ORDER", Source: source, Holes: ledger.HolesRefuse, Progress: progress})
			require.ErrorIs(t, err, sequence.ErrInvalid)
			require.ErrorContains(t, err, "the list was changed while it was imported")
			require.Equal(t, "A-001001", b.allocate(t, "batch-1", 1)[0].SeqNo)
		})
	}
}

// Issuing begins between the first look at the ledger and the raise of the cursor.
func TestNumbersThatWereIssuedWhileTheSourceWasRead(t *testing.T) {
	t.Run("and that it names are faults", func(t *testing.T) {
		b := setup(t)
		var once sync.Once
		progress := func(ledger.ImportProgress) { once.Do(func() { b.allocate(t, "batch-1", 5) }) }
		report, err := b.Import(t.Context(), ledger.Import{BizType: "ORDER", Source: &list{numbers: confirmed(1, 700)}, Holes: ledger.HolesRefuse, Progress: progress})
		require.ErrorIs(t, err, ledger.ErrImportRefused)
		require.Equal(t, int64(5), report.FaultCount())
	})
	t.Run("and that it does not name are no holes", func(t *testing.T) {
		b := setup(t)
		var once sync.Once
		progress := func(ledger.ImportProgress) { once.Do(func() { b.allocate(t, "batch-1", 5) }) }
		report, err := b.Import(t.Context(), ledger.Import{BizType: "ORDER", Source: &list{numbers: confirmed(10, 700)}, Holes: ledger.HolesDeclare, Progress: progress})
		require.NoError(t, err)
		require.Equal(t, int64(4), report.Closed)
		require.Equal(t, []ledger.ImportHole{{Lo: 6, Hi: 9}}, report.Holes)
		require.True(t, b.auditOrder(t).Clean())
	})
}

func TestAnIssuerBesideAnImportNeverGetsWhatItBrings(t *testing.T) {
	b := setup(t)
	first := b.allocate(t, "batch-0", 1)[0].Value
	numbers := confirmed(int(first)+3001, int(first)+6000)
	imported := map[int64]bool{}
	for v := range int64(3000) {
		imported[first+3001+v] = true
	}
	ctx, stop := context.WithCancel(t.Context())
	var issued []sequence.Number
	var failed error
	var all sync.WaitGroup
	all.Go(func() {
		for i := 0; ctx.Err() == nil && failed == nil; i++ {
			var block []sequence.Number
			block, failed = b.Allocate(t.Context(), "ORDER", me, fmt.Sprint("batch-", i+1), 3)
			issued = append(issued, block...)
		}
	})
	report, err := b.Import(t.Context(), ledger.Import{BizType: "ORDER", Source: &list{numbers: numbers}, Holes: ledger.HolesPool})
	stop()
	all.Wait()
	require.NoError(t, err)
	require.NoError(t, failed)
	require.Equal(t, int64(3000), report.Imported)
	require.NotEmpty(t, issued)
	for _, n := range issued {
		require.False(t, imported[n.Value], "value %d", n.Value)
	}
	require.True(t, b.auditOrder(t).Clean())
}
