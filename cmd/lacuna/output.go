package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// output is how a list is written. Commands that list embed it.
type output struct {
	Output string `enum:"table,text,json,csv" default:"table" placeholder:"table|json|csv" help:"How it is written; json is an object a line, text another word for table."`
}

// people says whether a list is read by people, who want sentences beside it, and not by a program.
func (o output) people() bool { return o.Output == "table" || o.Output == "text" }

// column is one of a list.
type column[T any] struct {
	title string // in a table; lower-case with underscores in CSV
	of    func(T) string
}

// listing writes a list in one of the forms.
type listing[T any] struct {
	out     io.Writer
	columns []column[T]
	row     func(T) error
	flush   func() error
}

// newListing begins a list, with its titles.
func newListing[T any](out io.Writer, o output, columns []column[T]) *listing[T] {
	l := &listing[T]{out: out, columns: columns}
	switch o.Output {
	case "json":
		l.row, l.flush = l.asJSON, func() error { return nil }
	case "csv":
		w := csv.NewWriter(out)
		l.row = func(one T) error { return w.Write(l.cells(one)) }
		l.flush = func() error { w.Flush(); return w.Error() }
		_ = w.Write(l.titles(func(s string) string { return strings.ReplaceAll(strings.ToLower(s), " ", "_") })) // flush tells
	default:
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		l.row = func(one T) error { return writeRow(w, l.cells(one)) }
		l.flush = w.Flush
		_ = writeRow(w, l.titles(strings.ToUpper)) // flush tells
	}
	return l
}

// add writes items.
func (l *listing[T]) add(items ...T) error {
	for _, one := range items {
		if err := l.row(one); err != nil {
			return fmt.Errorf("write the list: %w", err)
		}
	}
	return nil
}

// end writes what is left.
func (l *listing[T]) end() error {
	if err := l.flush(); err != nil {
		return fmt.Errorf("write the list: %w", err)
	}
	return nil
}

func (l *listing[T]) cells(one T) []string {
	cells := make([]string, len(l.columns))
	for i, c := range l.columns {
		cells[i] = c.of(one)
	}
	return cells
}

func (l *listing[T]) titles(spell func(string) string) []string {
	titles := make([]string, len(l.columns))
	for i, c := range l.columns {
		titles[i] = spell(c.title)
	}
	return titles
}

func (l *listing[T]) asJSON(one T) error {
	text, err := marshal(one)
	if err == nil {
		_, err = fmt.Fprintf(l.out, "%s\n", text)
	}
	return err
}

// writeRow ends a row without blanks. An empty cell of a table is a dash.
func writeRow(w io.Writer, cells []string) error {
	for i, c := range cells {
		cells[i] = orDash(c)
	}
	_, err := fmt.Fprintln(w, strings.Join(cells, "\t"))
	return err
}

// writeAll writes a list of which all is known.
func writeAll[T any](out io.Writer, o output, columns []column[T], items []T) error {
	l := newListing(out, o, columns)
	if err := l.add(items...); err != nil {
		return err
	}
	return l.end()
}

// marshal spells a message of the API as it does, and anything else by its tags, on one line and each time the same:
// the encoder of messages puts blanks where it likes.
func marshal(one any) ([]byte, error) {
	m, ok := one.(proto.Message)
	if !ok {
		return json.Marshal(one)
	}
	text, err := protojson.Marshal(m)
	if err != nil {
		return nil, err
	}
	var compact bytes.Buffer
	err = json.Compact(&compact, text)
	return compact.Bytes(), err
}

// indented is the same for people to read and to edit.
func indented(m proto.Message) ([]byte, error) {
	text, err := protojson.Marshal(m)
	if err != nil {
		return nil, err
	}
	var pretty bytes.Buffer
	err = json.Indent(&pretty, text, "", "  ")
	pretty.WriteByte('\n')
	return pretty.Bytes(), err
}
