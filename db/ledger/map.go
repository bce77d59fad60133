package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// Bounds of a map, and of what one call reads for it.
const (
	// MaxMapCells is how many cells a map has at most.
	MaxMapCells = 1_000
	// MaxMapPeriods is how many periods a map names.
	MaxMapPeriods = 400

	maxMapRows  = 200_000 // about a second's
	maxMapSeals = 10_000  // blocks that are counted by their seals
)

// MapFilter says which values of a biz type are mapped, and into how many cells.
type MapFilter struct {
	BizType string
	Period  string // "" for the one of a biz type that has none, or the latest in which something was allocated
	// From and To are the first and the last value; those of all that was allocated where they are nil.
	From, To *int64
	Cells    int // at most so many, 1 to MaxMapCells

	// Width and Begin are those of a map that comes in parts, MapPart, with its Period, From and To; 0 for the first.
	Width, Begin int64
}

// Validate refuses a filter that means nothing.
func (f MapFilter) Validate() error {
	switch {
	case f.Cells < 1 || f.Cells > MaxMapCells:
		return sequence.Invalidf("cells", "%d is not from 1 to %d", f.Cells, MaxMapCells)
	case f.From != nil && *f.From < 0:
		return sequence.Invalidf("from", "%d is below 0", *f.From)
	case f.To != nil && *f.To < 0:
		return sequence.Invalidf("to", "%d is below 0", *f.To)
	case f.From != nil && f.To != nil && *f.From > *f.To:
		return sequence.Invalidf("to", "%d is below from, %d", *f.To, *f.From)
	}
	return sequence.ValidateBizTypeName(f.BizType)
}

// NumberMap is where the values of a range are, counted in cells of one width, at one moment.
type NumberMap struct {
	Time   time.Time // the database's, of the snapshot
	Period string
	// Periods are those in which values were allocated, the latest first, at most MaxMapPeriods.
	Periods []string
	// First is the first value of the period, Cursor the highest that was allocated, and Last the highest that the
	// format has.
	First, Cursor, Last int64
	// From and To are what was asked for, made wider to whole cells and cut where the period begins and the format
	// ends.
	From, To int64
	// Width is how many values a cell has: a power of ten, counted from the first value of the period, so that a cell
	// is the same whatever range it is seen in. The last one of a format may have fewer.
	Width int64
	Cells []MapCell // in the order of their values
	// Next is where the next part begins, where this one is not all; 0 where it is. A cell in which a part ends is in
	// both, each with its values.
	Next int64
}

// MapCell is where the values from First to Last are: each is in exactly one of the classes.
type MapCell struct {
	First, Last int64
	// States counts the rows by state, UnknownStatus those in a state that there is not.
	States        [len(sequence.States)]int64
	UnknownStatus int64
	// Skipped are declared and have no row, Unaccounted have neither, and Unallocated are above the cursor.
	Skipped, Unaccounted, Unallocated int64
	// Number is the row, where the width is 1 and there is one; Archived, whether it stands in the archive.
	Number   *sequence.Number
	Archived bool

	twice int64 // values that are skipped and have a row
}

// Sum is what the classes add up to. It equals the values from First to Last.
func (c MapCell) Sum() int64 { return c.rows() + c.Skipped + c.Unaccounted + c.Unallocated }

func (c MapCell) rows() int64 {
	sum := c.UnknownStatus
	for _, n := range c.States {
		sum += n
	}
	return sum
}

const (
	queryMapPeriods = `SELECT period FROM t_seq_cursor WHERE biz_type = ? ORDER BY period DESC LIMIT ?`
	queryCells      = `SELECT (n.value - ?) DIV ? AS cell, n.status, COUNT(*)` + fromRange + ` GROUP BY cell, n.status`
	queryMapNumbers = `SELECT ` + numberColumns + fromRange + ` ORDER BY n.value`
)

// Map counts where the values that the filter means are, in one snapshot and without a lock. What was sealed is
// counted by its seals, so that history costs next to nothing; of the rest one call reads 200,000 rows at most, and
// then says where the next part begins. It returns sequence.ErrNotFound where there is no such biz type, or nothing
// was allocated in the period, and a sequence.InvalidError for a filter that means nothing.
func (l *Ledger) Map(ctx context.Context, f MapFilter) (NumberMap, error) {
	if err := f.Validate(); err != nil {
		return NumberMap{}, err
	}
	rules, err := l.BizType(ctx, f.BizType)
	if err != nil {
		return NumberMap{}, err
	}
	m := mapper{NumberMap: NumberMap{Last: rules.Format.Max()}, left: maxMapRows}
	err = l.inSnapshot(ctx, func(conn *sql.Conn) error {
		a := &auditor{ctx: ctx, conn: conn}
		if err := conn.QueryRowContext(ctx, "SELECT UTC_TIMESTAMP(6)").Scan(&m.Time); err != nil {
			return err
		}
		return m.run(a, f)
	})
	return m.NumberMap, classify("map numbers of "+f.BizType, err)
}

// mapper is one map.
type mapper struct {
	NumberMap
	walk
	skips []span // in order and apart
	left  int64  // how many rows it may still read
}

func (m *mapper) run(a *auditor, f MapFilter) error {
	if err := m.findPeriod(a, f); err != nil {
		return err
	}
	s := scope{f.BizType, m.Period}
	b, err := a.bounds(s)
	if err != nil {
		return err
	}
	m.walk = a.walk(s, b)
	m.skips = joined(b.skips)
	m.First, m.Cursor = b.first(), b.last()
	if err := m.cut(f); err != nil {
		return err
	}
	begin := max(m.From, f.Begin)
	if m.Width == 1 {
		m.makeCells(begin, m.To)
		err = m.numbers(begin)
	} else {
		err = m.tally(begin)
	}
	for i := range m.Cells {
		m.close(&m.Cells[i])
	}
	return err
}

func (m *mapper) findPeriod(a *auditor, f MapFilter) (err error) {
	if m.Periods, err = query(a, scanText, queryMapPeriods, f.BizType, MaxMapPeriods); err != nil {
		return err
	}
	m.Period = f.Period
	switch {
	case len(m.Periods) == 0:
		return fmt.Errorf("biz type %s, of which nothing was allocated: %w", f.BizType, sequence.ErrNotFound)
	case f.Period == "":
		m.Period = m.Periods[0]
	case len(m.Periods) < MaxMapPeriods && !slices.Contains(m.Periods, f.Period):
		return fmt.Errorf("period %s of biz type %s, in which nothing was allocated: %w", f.Period, f.BizType, sequence.ErrNotFound)
	}
	return nil
}

// cut decides the range and the width.
func (m *mapper) cut(f MapFilter) error {
	m.From, m.To = m.First, m.Cursor
	if f.From != nil {
		m.From = max(m.First, *f.From)
	}
	if f.To != nil {
		m.To = min(m.Last, *f.To)
	}
	switch {
	case f.To != nil && *f.To < m.First:
		return sequence.Invalidf("to", "%d is below the first value, %d", *f.To, m.First)
	case m.From > m.Last:
		return sequence.Invalidf("from", "%d is above the last value of the format, %d", m.From, m.Last)
	}
	m.To = max(m.From, m.To)
	if m.Width = f.Width; m.Width == 0 {
		m.Width = 1
		for m.cell(m.To)-m.cell(m.From) >= int64(f.Cells) {
			m.Width *= 10
		}
	}
	if m.cell(m.To)-m.cell(m.From) >= MaxMapCells || f.Begin > m.To {
		return sequence.Invalidf("pageToken", "is not one that an answer gave")
	}
	m.From, m.To = m.firstOf(m.cell(m.From)), m.lastOf(m.cell(m.To))
	return nil
}

// cell is which one has the value, counted from the first value of the period.
func (m *mapper) cell(value int64) int64 { return (value - m.First) / m.Width }

func (m *mapper) firstOf(cell int64) int64 { return m.First + cell*m.Width }

func (m *mapper) lastOf(cell int64) int64 {
	return min(max(m.Last, m.Cursor), m.firstOf(cell)+m.Width-1)
}

// makeCells makes the cells of the values from lo to hi, or what of them lies between.
func (m *mapper) makeCells(lo, hi int64) {
	for c := m.cell(lo); c <= m.cell(hi); c++ {
		m.Cells = append(m.Cells, MapCell{First: max(lo, m.firstOf(c)), Last: min(hi, m.lastOf(c))})
	}
}

// tally counts from begin on until all is counted or enough was read.
func (m *mapper) tally(begin int64) error {
	last := min(m.To, m.Cursor)
	seals, err := m.sealedFrom(begin, last)
	if err != nil {
		return err
	}
	if len(seals) == maxMapSeals {
		last = seals[len(seals)-1].hi
	}
	m.makeCells(begin, m.To)
	at := begin
	for at <= last && m.left > 0 {
		for len(seals) > 0 && (seals[0].lo < at || m.cell(seals[0].lo) != m.cell(seals[0].hi)) {
			seals = seals[1:]
		}
		end := last
		if len(seals) > 0 {
			if seals[0].lo == at {
				m.addSeal(seals[0])
				at = seals[0].hi + 1
				continue
			}
			end = seals[0].lo - 1
		}
		if at, err = m.countRows(at, end); err != nil {
			return err
		}
	}
	if at <= min(m.To, m.Cursor) {
		m.Next = at
		m.Cells = slices.DeleteFunc(m.Cells, func(c MapCell) bool { return c.First >= at })
		end := &m.Cells[len(m.Cells)-1]
		end.Last = min(end.Last, at-1)
	}
	return nil
}

// at is one of the cells that were made.
func (m *mapper) at(cell int64) *MapCell { return &m.Cells[cell-m.cell(m.Cells[0].First)] }

// countRows counts the rows of the first values from lo to hi, and gives the value after those.
func (m *mapper) countRows(lo, hi int64) (next int64, err error) {
	end := chunkEnd(lo, hi)
	rows, err := m.countIn(fromRange, lo, end)
	if err == nil && m.archived {
		from := archiveOnly
		if rows == 0 {
			from = fromArchive
		}
		var archived int64
		archived, err = m.countIn(from, lo, end)
		rows += archived
	}
	if err != nil {
		return 0, err
	}
	m.left -= rows
	if rows == 0 {
		end, err = m.beforeNext(end, hi)
		return end + 1, err
	}
	return end + 1, m.countTwice(lo, end)
}

func (m *mapper) countIn(from string, lo, hi int64) (rows int64, err error) {
	type group struct {
		cell  int64
		state sequence.State
		count int64
	}
	groups, err := query(m.auditor, func(row row) (g group, err error) {
		err = row.Scan(&g.cell, &g.state, &g.count)
		return g, err
	}, strings.Replace(queryCells, fromRange, from, 1), append([]any{m.First, m.Width}, m.args(lo, hi)...)...)
	for _, g := range groups {
		m.at(g.cell).add(g.state, g.count)
		rows += g.count
	}
	return rows, err
}

func (c *MapCell) add(state sequence.State, count int64) {
	if state < 0 || int(state) >= len(c.States) {
		c.UnknownStatus += count
		return
	}
	c.States[state] += count
}

// countTwice counts the values from lo to hi that are skipped and have a row.
func (m *mapper) countTwice(lo, hi int64) error {
	if overlap(m.skips, lo, hi) == 0 {
		return nil
	}
	values, err := both(m.walk, archiveOnly, scanValue, queryValues, m.args(lo, hi)...)
	for _, value := range values {
		if within(m.skips, value) {
			m.at(m.cell(value)).twice++
		}
	}
	return err
}

// numbers reads the rows of cells that are one value wide.
func (m *mapper) numbers(begin int64) error {
	last := min(m.To, m.Cursor)
	if begin > last {
		return nil
	}
	read := func(from string, archived bool) error {
		numbers, err := query(m.auditor, scanNumber, strings.Replace(queryMapNumbers, fromRange, from, 1), m.args(begin, last)...)
		for _, n := range numbers {
			c := m.at(m.cell(n.Value))
			c.Number, c.Archived = &n, archived
			c.add(n.State, 1)
			if within(m.skips, n.Value) {
				c.twice++
			}
		}
		return err
	}
	err := read(fromRange, false)
	if err == nil && m.archived {
		err = read(archiveOnly, true)
	}
	return err
}

// close tells what no row stands for.
func (m *mapper) close(c *MapCell) {
	last := min(c.Last, max(m.Cursor, c.First-1)) // of what was allocated
	c.Unallocated = c.Last - last
	left := last - c.First + 1 - c.rows()
	c.Skipped = min(left, overlap(m.skips, c.First, last)-c.twice)
	c.Unaccounted = left - c.Skipped
}
