package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/db/migrations"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// adopter is a ledger with the biz type ORDER, A-{seq:6}, and no numbers.
func adopter(t *testing.T) *ledger.Ledger {
	t.Helper()
	dsn := testkit.MariaDB(t)
	t.Setenv("LACUNA_MYSQL_DSN", dsn)
	l, err := ledger.Open(dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	_, err = migrations.Up(t.Context(), l.DB())
	require.NoError(t, err)
	format, err := sequence.ParseFormat("A-{seq:6}")
	require.NoError(t, err)
	require.NoError(t, l.CreateBizType(t.Context(), sequence.NewBizType("ORDER", format)))
	return l
}

// file writes a CSV file.
func file(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "numbers.csv")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func lacuna(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := run(t.Context(), args, &out)
	return out.String(), err
}

// The example of the README, command by command.
func TestTheImportOfTheREADME(t *testing.T) {
	adopter(t)
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, after, _ := strings.Cut(string(readme), "```csv\n")
	text, after, _ := strings.Cut(after, "```\n")
	path := file(t, text)
	_, after, _ = strings.Cut(after, "```\n")
	example, _, _ := strings.Cut(after, "```\n")
	var outs []string
	var errs []error
	for line := range strings.Lines(example) {
		command, _, _ := strings.Cut(strings.TrimPrefix(line, "$ lacuna "), "#")
		out, err := lacuna(t, strings.Fields(strings.ReplaceAll(command, "numbers.csv", path))...)
		outs, errs = append(outs, out), append(errs, err)
	}
	require.Len(t, outs, 2)
	require.ErrorIs(t, errs[0], errFindings, "the dry run would be refused for its hole")
	require.Contains(t, outs[0], "not named: 1 value\n  ORDER 3\n")
	require.Contains(t, outs[0], "nothing was written")
	require.NoError(t, errs[1])
	require.Contains(t, outs[1], "imported: 3 numbers, 1 value declared as skipped")
	require.Contains(t, outs[1], "ORDER: 4 values up to 4: 1 ALLOCATED, 1 CONFIRMED, 1 REPLAYABLE, 1 skipped\nevery value is accounted for\n")
}

func TestAnImportShowsFaultsWithTheirLines(t *testing.T) {
	l := adopter(t)
	path := file(t, "\ufeffSeq_No,state,life,abandoned_time,biz_key\n"+
		"A-000001,CONFIRMED,,,\n"+
		"A-000001,CONFIRMED,,,\n"+
		"A-1000000,2,,,\n"+
		"A-000002,USED,,,\n"+
		"A-000003,2\n"+
		"A-000004,3,0,,\n"+
		"A-000005,3,,yesterday,\n"+
		"A-000006,3,,2999-01-01T00:00:00Z,\n"+
		"A-000007,2,,,\"two\nlines\"\n"+
		"A-0\"0008,2,,,\n"+
		"A-000009,2,,\\N,\n")
	out, err := lacuna(t, "import", "ORDER", "--csv", path, "--holes", "pool")
	require.ErrorIs(t, err, ledger.ErrImportRefused)
	require.Equal(t, exitFailed, exitCode(err))
	for _, fault := range []string{
		`line 3: "A-000001": seqNo: stands in the source before`,
		`line 4: "A-1000000": seqNo: "A-1000000" is not of the format A-{seq:6}`,
		`line 5: "A-000002": state: "USED" is none of`,
		`line 6: has 2 columns, the header has 5`,
		`line 7: "A-000004": life: "0" is not a whole number from 1 on`,
		`line 8: "A-000005": abandonedTime: "yesterday" is not of the form`,
		`line 9: "A-000006": abandonedTime: 2999-01-01T00:00:00Z has not come yet`,
		`line 10: "A-000007": bizKey: contains the control character`,
		`line 12: bare "`,
	} {
		require.Contains(t, out, "\n  "+fault)
	}
	require.Contains(t, out, "\n9 faults:\n")
	a, err := l.Audit(t.Context(), ledger.AuditFilter{BizType: "ORDER"}, 0)
	require.NoError(t, err)
	require.Empty(t, a.Reports)
}

func TestAFileThatCannotBeImported(t *testing.T) {
	adopter(t)
	for name, tt := range map[string]struct{ text, words string }{
		"no header":         {"A-000001,CONFIRMED\n", `"A-000001", which no import knows`},
		"nothing":           {"", "no column seq_no"},
		"no state":          {"seq_no,life\n", "no column state"},
		"a column twice":    {"seq_no,state,state\n", "two columns state"},
		"an unknown column": {"seq_no,state,bizkey\n", `"bizkey", which no import knows`},
		"no numbers":        {"seq_no,state\n", "names no number"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := lacuna(t, "import", "ORDER", "--csv", file(t, tt.text))
			require.ErrorContains(t, err, tt.words)
		})
	}
	for name, tt := range map[string]struct {
		args  []string
		words string
	}{
		"no file":         {[]string{"ORDER", "--csv", "/nowhere/numbers.csv"}, "no such file"},
		"a device":        {[]string{"ORDER", "--csv", "/dev/null"}, "no regular file"},
		"no source":       {[]string{"ORDER"}, "--csv"},
		"two sources":     {[]string{"ORDER", "--csv", "x", "--table", "y"}, "can't be used together"},
		"no such zone":    {[]string{"ORDER", "--csv", "x", "--time-zone", "Moon"}, "Moon"},
		"no biz type":     {[]string{"NONE", "--csv", file(t, "seq_no,state\n")}, "biz type NONE: not found"},
		"no table":        {[]string{"ORDER", "--table", "old_log"}, "there is no old_log"},
		"holes any other": {[]string{"ORDER", "--csv", "x", "--holes", "fill"}, "fill"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := lacuna(t, append([]string{"import"}, tt.args...)...)
			require.ErrorContains(t, err, tt.words)
		})
	}
}

func TestAnImportOfATable(t *testing.T) {
	l := adopter(t)
	for _, statement := range []string{
		"CREATE TABLE old_log (biz_type VARCHAR(32) NOT NULL, seq_no VARCHAR(64) NOT NULL, status TINYINT NOT NULL, PRIMARY KEY (biz_type, seq_no))",
		"INSERT INTO old_log VALUES ('order', 'A-000001', 2), ('order', 'A-000002', 1), ('other', 'X', 2)",
	} {
		_, err := l.DB().ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	args := []string{"import", "ORDER", "--table", "old_log", "--table-biz-type", "order"}
	out, err := lacuna(t, append(args, "--dry-run")...)
	require.NoError(t, err)
	require.Contains(t, out, "the import would be done")
	out, err = lacuna(t, args...)
	require.NoError(t, err)
	require.Contains(t, out, "imported: 2 numbers; they are of batch import-")
	out, err = lacuna(t, args...)
	require.NoError(t, err)
	require.Contains(t, out, "nothing was left to import\n")
	require.Contains(t, out, "ORDER: 2 values up to 2: 1 ALLOCATED, 1 CONFIRMED\nevery value is accounted for\n")
}

func TestAnImportEndsWithTheFindingsOfItsAudit(t *testing.T) {
	l := adopter(t)
	_, err := l.DB().ExecContext(t.Context(), "INSERT INTO t_seq_cursor (biz_type, period, value) VALUES ('ORDER', '', 5)")
	require.NoError(t, err)
	out, err := lacuna(t, "import", "ORDER", "--csv", file(t, "seq_no,state\nA-000006,2\n"))
	require.ErrorIs(t, err, errFindings)
	require.Contains(t, out, "1 findings:\n  ORDER 1 to 5: UNACCOUNTED: ")
}

func TestTimesOfAFileAreOfItsZone(t *testing.T) {
	zone, err := sequence.ParseZone("Asia/Shanghai")
	require.NoError(t, err)
	c := &importCSV{zone: zone}
	want := time.Date(2026, 5, 6, 7, 8, 9, 5e8, time.UTC)
	for _, text := range []string{"2026-05-06T07:08:09.5Z", "2026-05-06T09:08:09.5+02:00", "2026-05-06 15:08:09.5", "2026-05-06T15:08:09.500000"} {
		got, err := c.time("issuedTime", text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
}

func TestProgressIsShownNowAndThen(t *testing.T) {
	for name, tt := range map[string]struct {
		terminal bool
		want     string
	}{
		"on a terminal": {true, "\r\033[Kchecked 1\r\033[Kchecked 2\r\033[Kimported 5 of 20 (25 %)\r\033[K"},
		"elsewhere":     {false, "imported 5 of 20 (25 %)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(0, 0)
			var out bytes.Buffer
			p := newProgress(&out, func() time.Time { return now })
			if tt.terminal {
				p.terminal, p.every, p.next = true, progressOnTerminal, now
			}
			for i, at := range []ledger.ImportProgress{{Step: "checked", Done: 1}, {Step: "checked", Done: 2}, {Step: "imported", Done: 4, Total: 20}, {Step: "imported", Done: 5, Total: 20}} {
				if i != 2 { // at 0, 1, 1 and 10 s
					now = time.Unix(int64([]int{0, 1, 1, 10}[i]), 0)
				}
				p.show(at)
			}
			p.end()
			require.Equal(t, tt.want, out.String(), fmt.Sprintf("%q", out.String()))
		})
	}
}
