package main

import (
	"context"
	"fmt"
	"io"
	"strconv"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/internal/gapmap"
)

// mapLine is how many cells stand in a line of a map.
const mapLine = 50

// mapCommand draws where the numbers of a range are.
type mapCommand struct {
	api
	output
	BizType string `arg:"" name:"biztype" help:"The biz type."`
	Period  string `placeholder:"202612" help:"The period; the latest where none is named."`
	From    *int64 `placeholder:"value" help:"The first value; all that were allocated where neither is given."`
	To      *int64 `placeholder:"value" help:"The last value."`
	Cells   int32  `default:"500" help:"How many cells at most, 1 to 1000; each has a power of ten of values."`
}

// mapColumns are those of CSV.
var mapColumns = func() []column[*lacunav1.MapCell] {
	columns := []column[*lacunav1.MapCell]{
		{"first", func(c *lacunav1.MapCell) string { return strconv.FormatInt(c.GetFirst(), 10) }},
		{"last", func(c *lacunav1.MapCell) string { return strconv.FormatInt(c.GetLast(), 10) }},
		{"seq no", func(c *lacunav1.MapCell) string { return c.GetNumber().GetSeqNo() }},
	}
	for _, class := range gapmap.Classes {
		columns = append(columns, column[*lacunav1.MapCell]{class.Name, func(c *lacunav1.MapCell) string { return strconv.FormatInt(class.Count(c), 10) }})
	}
	return columns
}()

// Run asks for all parts of the map before it writes any. What the map shows is no finding: an audit says what needs
// a person.
func (c mapCommand) Run(ctx context.Context, out io.Writer) error {
	request := &lacunav1.MapNumbersRequest{BizType: c.BizType, Period: c.Period, From: c.From, To: c.To, Cells: c.Cells}
	m, err := gapmap.Read(ctx, c.operator(), request, func() bool { return true })
	if err != nil {
		return fmt.Errorf("map the numbers of %s: %w", c.BizType, err)
	}
	if !c.people() {
		return writeAll(out, c.output, mapColumns, m.GetCells())
	}
	drawMap(out, c.BizType, m)
	return nil
}

// drawMap writes a letter for each cell, and what the letters mean.
func drawMap(out io.Writer, bizType string, m *lacunav1.MapNumbersResponse) {
	fmt.Fprint(out, bizType)
	if m.GetPeriod() != "" {
		fmt.Fprint(out, " "+m.GetPeriod())
	}
	fmt.Fprintf(out, " %d to %d, the cursor is at %d; a letter stands for %d\n\n", m.GetFrom(), m.GetTo(), m.GetCursor(), m.GetWidth())
	digits := len(strconv.FormatInt(m.GetTo(), 10))
	for i, cell := range m.GetCells() {
		if i%mapLine == 0 {
			fmt.Fprintf(out, "%*d  ", digits, cell.GetFirst())
		}
		if shown, ok := gapmap.Shown(cell); ok {
			fmt.Fprint(out, shown.Letter)
		}
		if i%mapLine == mapLine-1 || i == len(m.GetCells())-1 {
			fmt.Fprintln(out)
		}
	}
	fmt.Fprintln(out, "\nA letter is the first of these that its numbers have:")
	for _, class := range gapmap.Classes {
		if n := class.Total(m.GetCells()); n > 0 {
			fmt.Fprintf(out, "%s  %12d  %s: %s\n", class.Letter, n, class.Name, class.Words)
		}
	}
}
