package console

import (
	"fmt"
	"strings"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/internal/gapmap"
)

// mapCell is a cell as it is drawn.
type mapCell struct {
	*lacunav1.MapCell

	ID     string
	Class  gapmap.Class
	Count  int64  // of the class
	To     string // where it leads; empty where there is nothing to see
	Words  string
	Shares []share // of more values than one
	Figure []int64 // by the classes that occur
}

// mapCellGroup is cells that stand together. Before are how many of the group lie before the first.
type mapCellGroup struct {
	First, Last int64
	Before      []struct{}
	Cells       []mapCell
}

// share is a part of a cell's bar, in hundredths of its length.
type share struct {
	Class       string
	From, Width float64
}

// leastShare keeps one among a million visible.
const leastShare = 8

// drawMap lays the cells out. A map that is not whole ends with the cell that was counted last.
func drawMap(bizType string, m *lacunav1.MapNumbersResponse) *mapView {
	v := &mapView{BizType: bizType, Map: m}
	for _, class := range gapmap.Classes {
		n := class.Total(m.GetCells())
		if n > 0 {
			v.Shown = append(v.Shown, class)
		}
		v.Legend = append(v.Legend, legendEntry{class, n})
	}
	group := int64(-1)
	for _, cell := range m.GetCells() {
		index := (cell.GetFirst() - m.GetFirst()) / m.GetWidth()
		if index/mapGroup != group {
			group = index / mapGroup
			v.Groups = append(v.Groups, mapCellGroup{First: cell.GetFirst(), Before: make([]struct{}, index%mapGroup)})
		}
		last := &v.Groups[len(v.Groups)-1]
		last.Last = cell.GetLast()
		last.Cells = append(last.Cells, v.cell(cell))
	}
	if n := len(m.GetCells()); n > 0 && m.GetNextPageToken() != "" {
		v.Uncounted = m.GetCells()[n-1].GetLast() + 1
	}
	return v
}

func (v *mapView) cell(cell *lacunav1.MapCell) mapCell {
	class, _ := gapmap.Shown(cell)
	drawn := mapCell{MapCell: cell, ID: cellID(cell.GetFirst()), Class: class, Count: class.Count(cell), To: v.into(cell)}
	for _, shown := range v.Shown {
		drawn.Figure = append(drawn.Figure, shown.Count(cell))
	}
	if v.Map.GetWidth() == 1 {
		drawn.Words = numberWords(cell, class)
		return drawn
	}
	drawn.Words = cellWords(cell)
	drawn.Shares = shares(cell)
	return drawn
}

// into is where a cell leads: to its values, or to the number that it is.
func (v *mapView) into(cell *lacunav1.MapCell) string {
	switch width := v.Map.GetWidth(); {
	case width > 10:
		return mapPath(v.BizType, v.Map.GetPeriod(), cell.GetFirst(), cell.GetLast())
	case width > 1:
		return around(v.BizType, v.Map, cell.GetFirst())
	case cell.GetNumber() != nil:
		return numberPath(v.BizType, cell.GetNumber().GetSeqNo())
	}
	return ""
}

// numberPath is the address of a number's page.
func numberPath(bizType, seqNo string) string {
	return pathOf(&lacunav1.Number{BizType: bizType, SeqNo: seqNo})
}

func numberWords(cell *lacunav1.MapCell, class gapmap.Class) string {
	n := cell.GetNumber()
	if n == nil {
		return fmt.Sprintf("%s: %s", countWords(cell.GetFirst()), class.Name)
	}
	words := fmt.Sprintf("%s: %s, life %d", n.GetSeqNo(), class.Name, n.GetLife())
	if n.GetBizKey() != "" {
		words += ", " + n.GetBizKey()
	}
	return words
}

// cellWords say what a cell has, what needs a person first.
func cellWords(cell *lacunav1.MapCell) string {
	var parts []string
	for _, class := range gapmap.Classes {
		if n := class.Count(cell); n > 0 {
			parts = append(parts, countWords(n)+" "+class.Name)
		}
	}
	return fmt.Sprintf("%s to %s: %s", countWords(cell.GetFirst()), countWords(cell.GetLast()), strings.Join(parts, ", "))
}

// shares divides a cell's bar by its classes. Each that it has is wide enough to be seen.
func shares(cell *lacunav1.MapCell) []share {
	var all []share
	var values, wide float64
	for _, class := range gapmap.Classes {
		values += float64(class.Count(cell))
	}
	for _, class := range gapmap.Classes {
		if n := class.Count(cell); n > 0 {
			part := max(leastShare, 100*float64(n)/values)
			all = append(all, share{Class: class.Name, Width: part})
			wide += part
		}
	}
	at := 0.0
	for i := range all {
		all[i].From, all[i].Width = at, all[i].Width*100/wide
		at += all[i].Width
	}
	return all
}

// shortWords is a count where there is little room, e.g. 9.9k for 9,999: cut, so that it is never more than it is.
func shortWords(n int64) string {
	units, rest := "kMGTPE", int64(0)
	if n < 1_000 {
		return fmt.Sprint(n)
	}
	unit := -1
	for n >= 1_000 {
		n, rest, unit = n/1_000, n%1_000/100, unit+1
	}
	if n < 10 && rest > 0 {
		return fmt.Sprintf("%d.%d%c", n, rest, units[unit])
	}
	return fmt.Sprintf("%d%c", n, units[unit])
}
