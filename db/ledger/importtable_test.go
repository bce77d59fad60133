package ledger_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/sequence"
)

// read gives every line of a table for the numbering ORDER.
func (b bundle) read(t *testing.T, table string, zone string) (lines []ledger.ImportLine, err error) {
	t.Helper()
	z, zoneErr := sequence.ParseZone(zone)
	require.NoError(t, zoneErr)
	source := &ledger.ImportTable{Ledger: b.Ledger, Table: table, BizType: "ORDER", Zone: z}
	return lines, source.Read(t.Context(), func(line ledger.ImportLine) error {
		lines = append(lines, line)
		return nil
	})
}

func TestATableIsReadAsItSays(t *testing.T) {
	b := setup(t)
	b.exec(t, `CREATE TABLE old_log (id BIGINT PRIMARY KEY AUTO_INCREMENT, biz_type VARCHAR(32), seq_no VARCHAR(64), STATUS TINYINT, batch_id VARCHAR(64), biz_key VARCHAR(64),
		replay_count INT, issued_time DATETIME(3), confirmed_time TIMESTAMP NULL, abandoned_time DATETIME)`)
	b.exec(t, `INSERT INTO old_log (biz_type, seq_no, status, batch_id, biz_key, replay_count, issued_time, confirmed_time, abandoned_time) VALUES
		('ORDER', 'A-000001', 2, 'seg-1', 'cart-1', 1, '2026-07-01 12:00:00.5', '2026-07-01 10:00:01', NULL), ('OTHER', 'X', 1, '', '', 0, NULL, NULL, NULL),
		('ORDER', 'A-000002', 3, NULL, NULL, NULL, NULL, NULL, '2026-01-01 12:00:00'), ('ORDER', 'A-000003', 9, NULL, NULL, NULL, NULL, NULL, NULL), ('ORDER', NULL, NULL, NULL, NULL, -2, NULL, NULL, NULL)`)
	lines, err := b.read(t, "old_log", "Europe/Berlin")
	require.NoError(t, err)
	require.Len(t, lines, 4)
	require.Equal(t, ledger.ImportLine{Number: sequence.Imported{
		SeqNo: "A-000001", State: sequence.Confirmed, Life: 2, BizKey: "cart-1", BatchID: "seg-1",
		IssuedTime: time.Date(2026, 7, 1, 10, 0, 0, 5e8, time.UTC), ConfirmedTime: time.Date(2026, 7, 1, 10, 0, 1, 0, time.UTC),
	}}, lines[0])
	require.Equal(t, ledger.ImportLine{Number: sequence.Imported{SeqNo: "A-000002", State: sequence.Abandoned, AbandonedTime: time.Date(2026, 1, 1, 11, 0, 0, 0, time.UTC)}}, lines[1])
	require.ErrorContains(t, lines[2].Fault, `state: "9"`)
	require.Equal(t, "A-000003", lines[2].Number.SeqNo)
	require.Error(t, lines[3].Fault)
}

// Pages end where the numbers of other biz types, or equal keys, must not confuse them.
func TestATableIsReadPageByPage(t *testing.T) {
	for name, keys := range map[string]string{
		"by its numbers": "UNIQUE KEY uk (biz_type, seq_no)",
		"by an integer":  "UNIQUE KEY uk_n (n), KEY k (biz_type, seq_no)",
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			b.exec(t, `CREATE TABLE old_log (n BIGINT UNSIGNED NOT NULL, biz_type VARCHAR(32) NOT NULL, seq_no VARCHAR(64) COLLATE utf8mb4_unicode_ci NOT NULL, status VARCHAR(16), `+keys+`)`)
			const rows = 9001
			b.exec(t, `INSERT INTO old_log SELECT 18446744073709500000 + seq, IF(seq % 3 = 0, 'OTHER', 'ORDER'), CONCAT('A-', LPAD(seq, 6, '0')), 'CONFIRMED' FROM (`+sequenceOf(rows)+`) s`)
			lines, err := b.read(t, "old_log", "")
			require.NoError(t, err)
			seen := map[string]bool{}
			for _, l := range lines {
				require.NoError(t, l.Fault)
				seen[l.Number.SeqNo] = true
			}
			require.Len(t, lines, 6001)
			require.Len(t, seen, 6001)
		})
	}
}

// sequenceOf is a query of the numbers from 1 to n, at most 10,000, in the column seq.
func sequenceOf(n int) string {
	digits := "(SELECT 0 d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9)"
	return fmt.Sprintf("SELECT 1 + a.d + 10 * b.d + 100 * c.d + 1000 * e.d AS seq FROM %s a, %s b, %s c, %s e HAVING seq <= %d", digits, digits, digits, digits, n)
}

func TestATableThatCannotBeRead(t *testing.T) {
	b := setup(t)
	b.exec(t, `CREATE TABLE no_key (biz_type VARCHAR(32), seq_no VARCHAR(64), status INT, UNIQUE KEY uk (biz_type, seq_no))`) // it may have NULLs
	b.exec(t, `CREATE TABLE no_status (id INT PRIMARY KEY, biz_type VARCHAR(32), seq_no VARCHAR(64))`)
	b.exec(t, `CREATE TABLE no_type (id INT PRIMARY KEY, seq_no VARCHAR(64), status INT)`)
	b.exec(t, `CREATE TABLE odd_time (id INT PRIMARY KEY, biz_type VARCHAR(32), seq_no VARCHAR(64), status INT, issued_time BIGINT)`)
	for table, words := range map[string]string{
		"a`; DROP TABLE x":  "not of the form",
		"a.b.c":             "not of the form",
		"none":              "there is no none",
		"elsewhere.old_log": "there is no elsewhere.old_log",
		"t_seq_issue_log":   "one of the ledger's own",
		"no_key":            "no unique key",
		"no_status":         "no column status",
		"no_type":           "no column biz_type",
		"odd_time":          "issued_time of odd_time is of the type bigint",
	} {
		t.Run(table, func(t *testing.T) {
			_, err := b.read(t, table, "")
			require.ErrorIs(t, err, sequence.ErrInvalid)
			require.ErrorContains(t, err, words)
		})
	}
}

// The system that is taken over goes on for a while, and the import is repeated.
func TestAnImportOfATableThatGrows(t *testing.T) {
	b := setup(t)
	b.exec(t, `CREATE TABLE old_log (biz_type VARCHAR(32) NOT NULL, seq_no VARCHAR(64) NOT NULL, status INT NOT NULL, PRIMARY KEY (biz_type, seq_no))`)
	add := func(from, to int) {
		b.exec(t, `INSERT INTO old_log SELECT 'ORDER', CONCAT('A-', LPAD(seq, 6, '0')), 2 FROM (`+sequenceOf(to)+` AND seq >= ?) s`, from)
	}
	run := func(table string) ledger.ImportReport {
		source := &ledger.ImportTable{Ledger: b.Ledger, Table: table, BizType: "ORDER"}
		report, err := b.Import(t.Context(), ledger.Import{BizType: "ORDER", Source: source, Holes: ledger.HolesRefuse})
		require.NoError(t, err)
		return report
	}
	add(1, 5000)
	require.Equal(t, int64(5000), run("old_log").Imported)
	add(5001, 5010)
	var database string
	require.NoError(t, b.DB().QueryRowContext(t.Context(), "SELECT DATABASE()").Scan(&database))
	report := run(database + ".old_log")
	require.Equal(t, int64(10), report.Imported)
	require.Equal(t, int64(5000), report.Known)
	require.True(t, b.auditOrder(t).Clean())
}
