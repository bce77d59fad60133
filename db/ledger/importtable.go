package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// ImportTable is a table of another system on the ledger's server as the source of an import. It has the columns
// biz_type, seq_no and status, and where they are there, biz_key, batch_id, reason, issued_time, confirmed_time,
// abandoned_time, and life or one of replays, replay_times and replay_count. All states and times may be NULL.
type ImportTable struct {
	// Ledger is whose connections read it.
	Ledger *Ledger
	// Table is its name, with that of its database and a dot before it where that is not the ledger's.
	Table string
	// BizType is what the numbering is called there.
	BizType string
	// Zone is that of its DATETIME columns. A TIMESTAMP needs none.
	Zone sequence.Zone
}

// tablePage is how many rows of a table are read at a time.
const tablePage = 2000

const (
	queryTableDatabase = `SELECT COALESCE(NULLIF(?, ''), DATABASE())`
	queryTableColumns  = `SELECT LOWER(column_name), LOWER(data_type) FROM information_schema.columns WHERE table_schema = ? AND table_name = ?`
	// The unique indexes that leave no row out, the primary key first.
	queryTableKeys = `SELECT index_name, LOWER(GROUP_CONCAT(column_name ORDER BY seq_in_index)) FROM information_schema.statistics
		WHERE table_schema = ? AND table_name = ? AND non_unique = 0 GROUP BY index_name
		HAVING SUM(nullable = 'YES' OR sub_part IS NOT NULL OR column_name IS NULL) = 0 ORDER BY index_name <> 'PRIMARY', index_name`
)

var tableName = regexp.MustCompile(`^(?:([A-Za-z0-9_$]+)\.)?([A-Za-z0-9_$]+)$`)

// tableColumns are what is read of a row, in the order of tableRow: of several names the first that there is.
var tableColumns = []struct {
	names    []string
	required bool
	time     bool
}{
	{names: []string{"seq_no"}, required: true},
	{names: []string{"status"}, required: true},
	{names: []string{"biz_key"}},
	{names: []string{"batch_id"}},
	{names: []string{"reason"}},
	{names: []string{"life", "replays", "replay_times", "replay_count"}},
	{names: []string{"issued_time"}, time: true},
	{names: []string{"confirmed_time"}, time: true},
	{names: []string{"abandoned_time"}, time: true},
}

// Name is the table's.
func (s *ImportTable) Name() string { return s.Table }

// Identity is the same however the table is written. What has come in since is brought by the same import.
func (s *ImportTable) Identity(ctx context.Context) (string, error) {
	database, table, err := s.find(ctx)
	return strings.Join([]string{"table", database, table, s.BizType}, "\x00"), err
}

// find names the table's database and the table.
func (s *ImportTable) find(ctx context.Context) (database, table string, err error) {
	parts := tableName.FindStringSubmatch(s.Table)
	if parts == nil {
		return "", "", sequence.Invalidf("table", "%q is not of the form database.table or table", s.Table)
	}
	var own string
	if err := s.Ledger.db.QueryRowContext(ctx, queryTableDatabase, "").Scan(&own); err != nil {
		return "", "", err
	}
	database, table = parts[1], parts[2]
	if database == "" {
		database = own
	}
	if database == own && strings.HasPrefix(table, "t_seq_") {
		return "", "", sequence.Invalidf("table", "%s is one of the ledger's own: name the other system's with its database", s.Table)
	}
	return database, table, nil
}

// tableQuery reads a table page by page.
type tableQuery struct {
	first, next string // the first page, and that after a key
	ofBizType   bool   // only rows of the biz type come; otherwise each row says whether it is one
	datetimes   map[string]bool
	replays     bool // the row says how often the number was issued again, and not how often it was issued
}

func (s *ImportTable) query(ctx context.Context) (q tableQuery, err error) {
	database, table, err := s.find(ctx)
	if err != nil {
		return q, err
	}
	rows, err := s.Ledger.db.QueryContext(ctx, queryTableColumns, database, table)
	columns, err := collect(rows, err, scanPair)
	if err != nil {
		return q, err
	}
	types := make(map[string]string, len(columns))
	for _, c := range columns {
		types[c[0]] = c[1]
	}
	selected, err := s.selected(&q, types)
	if err != nil {
		return q, err
	}
	rows, err = s.Ledger.db.QueryContext(ctx, queryTableKeys, database, table)
	keys, err := collect(rows, err, scanPair)
	if err != nil {
		return q, err
	}
	index, key := tableKey(keys, types)
	if index == "" {
		return q, sequence.Invalidf("table", "%s has no unique key by which it can be read in parts: it takes one of (biz_type, seq_no), or of one integer", s.Table)
	}
	q.ofBizType = key == "biz_type,seq_no"
	order, where := "`"+key+"`", ""
	if q.ofBizType {
		order, where = "seq_no", "biz_type = ? AND "
	}
	// Every name was found in the catalogue.
	from := fmt.Sprintf("SELECT %s, biz_type = ?, %s FROM `%s`.`%s` FORCE INDEX (`%s`) WHERE %s", order, selected, database, table, index, where)
	to := fmt.Sprintf(" ORDER BY %s LIMIT %d", order, tablePage)
	q.first, q.next = from+"TRUE"+to, from+order+" > ?"+to
	return q, nil
}

// selected is the columns of tableRow. One that the table does not have is NULL.
func (s *ImportTable) selected(q *tableQuery, types map[string]string) (string, error) {
	if len(types) == 0 {
		return "", sequence.Invalidf("table", "there is no %s, or it must not be read", s.Table)
	}
	if types["biz_type"] == "" {
		return "", sequence.Invalidf("table", "%s has no column biz_type", s.Table)
	}
	q.datetimes = map[string]bool{}
	var selected []string
	for _, c := range tableColumns {
		i := slices.IndexFunc(c.names, func(name string) bool { return types[name] != "" })
		switch {
		case i < 0 && c.required:
			return "", sequence.Invalidf("table", "%s has no column %s", s.Table, c.names[0])
		case i < 0:
			selected = append(selected, "NULL")
			continue
		}
		name := c.names[i]
		if kind := types[name]; c.time && kind != "datetime" && kind != "timestamp" {
			return "", sequence.Invalidf("table", "column %s of %s is of the type %s, and not DATETIME or TIMESTAMP", name, s.Table, kind)
		}
		q.datetimes[name] = types[name] == "datetime"
		q.replays = q.replays || strings.HasPrefix(name, "replay")
		selected = append(selected, "`"+name+"`")
	}
	return strings.Join(selected, ", "), nil
}

// tableKey is the index by which a table is read, and its columns: that of the numbers, or of one integer.
func tableKey(keys [][2]string, types map[string]string) (index, columns string) {
	for _, k := range keys {
		if k[1] == "biz_type,seq_no" {
			return k[0], k[1]
		}
	}
	for _, k := range keys {
		if strings.HasSuffix(types[k[1]], "int") {
			return k[0], k[1]
		}
	}
	return "", ""
}

func scanPair(row row) (p [2]string, err error) {
	err = row.Scan(&p[0], &p[1])
	return p, err
}

// tableRow is a row of the table. What the table does not say is NULL.
type tableRow struct {
	key                                      any // a string or an integer
	ours                                     sql.NullBool
	seqNo, status, bizKey, batchID, reason   sql.NullString
	life                                     sql.NullInt64
	issuedTime, confirmedTime, abandonedTime sql.NullTime
}

func scanTableRow(row row) (t tableRow, err error) {
	err = row.Scan(&t.key, &t.ours, &t.seqNo, &t.status, &t.bizKey, &t.batchID, &t.reason, &t.life, &t.issuedTime, &t.confirmedTime, &t.abandonedTime)
	if text, ok := t.key.([]byte); ok {
		t.key = string(text) // bytes would be compared as such, and not as the column is ordered
	}
	return t, err
}

// Read reads the table in the order of a unique key, page by page.
func (s *ImportTable) Read(ctx context.Context, do func(ImportLine) error) error {
	q, err := s.query(ctx)
	if err != nil {
		return err
	}
	args := []any{s.BizType}
	if q.ofBizType {
		args = append(args, s.BizType)
	}
	for query := q.first; ; {
		rows, err := s.Ledger.db.QueryContext(ctx, query, args...)
		page, err := collect(rows, err, scanTableRow)
		if err != nil {
			return fmt.Errorf("read %s: %w", s.Table, err)
		}
		for _, t := range page {
			if t.ours.Bool {
				if err := do(s.line(q, t)); err != nil {
					return err
				}
			}
		}
		if len(page) < tablePage {
			return nil
		}
		if query == q.first {
			query, args = q.next, append(args, nil)
		}
		args[len(args)-1] = page[len(page)-1].key
	}
}

func (s *ImportTable) line(q tableQuery, t tableRow) ImportLine {
	state, err := sequence.ParseImportedState(t.status.String)
	life := t.life.Int64
	if t.life.Valid && q.replays {
		life++
	}
	if life < 0 || life > sequence.MaxImportedLife {
		err = sequence.Invalidf("life", "%d is not from 1 to %d", life, sequence.MaxImportedLife)
	}
	return ImportLine{Fault: err, Number: sequence.Imported{
		SeqNo: t.seqNo.String, State: state, Life: int32(life), BizKey: t.bizKey.String, BatchID: t.batchID.String, Reason: t.reason.String, //nolint:gosec // checked above
		IssuedTime: s.time(q, "issued_time", t.issuedTime), ConfirmedTime: s.time(q, "confirmed_time", t.confirmedTime), AbandonedTime: s.time(q, "abandoned_time", t.abandonedTime),
	}}
}

// time reads a DATETIME in the zone of the source; a TIMESTAMP is UTC already.
func (s *ImportTable) time(q tableQuery, column string, at sql.NullTime) time.Time {
	if !q.datetimes[column] || at.Time.IsZero() {
		return at.Time
	}
	return s.Zone.Wall(at.Time)
}
