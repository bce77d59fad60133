package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/sequence"
)

// importCSV is a file with a header as the source of an import. It is read three times, so it must be a
// file and no pipe: for its content's hash, which names the import, to check it, and to import it.
type importCSV struct {
	path string
	zone sequence.Zone // of times that name none
}

// csvColumns are what a line may say, and how it is read. seq_no and state must be there.
var csvColumns = map[string]func(*importCSV, *sequence.Imported, string) error{
	"seq_no": func(_ *importCSV, n *sequence.Imported, text string) error { n.SeqNo = text; return nil },
	"state": func(_ *importCSV, n *sequence.Imported, text string) (err error) {
		n.State, err = sequence.ParseImportedState(text)
		return err
	},
	"life": func(_ *importCSV, n *sequence.Imported, text string) error {
		life, err := strconv.ParseInt(text, 10, 32)
		if text != "" && (err != nil || life < 1) {
			return sequence.Invalidf("life", "%q is not a whole number from 1 on", text)
		}
		n.Life = int32(life)
		return nil
	},
	"biz_key":  func(_ *importCSV, n *sequence.Imported, text string) error { n.BizKey = text; return nil },
	"batch_id": func(_ *importCSV, n *sequence.Imported, text string) error { n.BatchID = text; return nil },
	"reason":   func(_ *importCSV, n *sequence.Imported, text string) error { n.Reason = text; return nil },
	"issued_time": func(c *importCSV, n *sequence.Imported, text string) (err error) {
		n.IssuedTime, err = c.time("issuedTime", text)
		return err
	},
	"confirmed_time": func(c *importCSV, n *sequence.Imported, text string) (err error) {
		n.ConfirmedTime, err = c.time("confirmedTime", text)
		return err
	},
	"abandoned_time": func(c *importCSV, n *sequence.Imported, text string) (err error) {
		n.AbandonedTime, err = c.time("abandonedTime", text)
		return err
	},
}

// time reads RFC 3339, or a date and a time as databases write them, by the clock of the zone.
func (c *importCSV) time(field, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UTC(), nil
	}
	for _, layout := range []string{time.DateTime, "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, text); err == nil { // with parts of a second or without
			return c.zone.Wall(t), nil
		}
	}
	return time.Time{}, sequence.Invalidf(field, "%q is not of the form 2026-05-06T07:08:09Z or 2026-05-06 07:08:09", text)
}

// Name is the file's.
func (c *importCSV) Name() string { return c.path }

// Identity is the content's hash: a file that was changed is another import.
func (c *importCSV) Identity(context.Context) (string, error) {
	info, err := os.Stat(c.path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", sequence.Invalidf("csv", "%s is no regular file: it is read more than once", c.path)
	}
	f, err := os.Open(c.path)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // it was only read
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return "", fmt.Errorf("read %s: %w", c.path, err)
	}
	return "csv\x00" + hex.EncodeToString(hash.Sum(nil)), nil
}

// Read reads line by line. What is wrong with a line is its fault; only what is wrong with the whole ends it.
func (c *importCSV) Read(ctx context.Context, do func(ledger.ImportLine) error) error {
	f, err := os.Open(c.path)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it was only read
	buffered := bufio.NewReaderSize(f, 1<<20)
	if bom, err := buffered.Peek(3); err == nil && string(bom) == "\xef\xbb\xbf" {
		_, _ = buffered.Discard(len(bom))
	}
	reader := csv.NewReader(buffered)
	reader.FieldsPerRecord, reader.ReuseRecord = -1, true
	header, err := c.header(reader)
	if err != nil {
		return err
	}
	for {
		line, err := c.line(reader, header)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = do(line)
		}
		if err != nil {
			return err
		}
	}
}

func (c *importCSV) header(reader *csv.Reader) ([]string, error) {
	header, err := reader.Read()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, sequence.Invalidf("csv", "%s has no header: %s", c.path, err)
	}
	header = slices.Clone(header)
	for i, name := range header {
		header[i] = strings.ToLower(strings.TrimSpace(name))
		if csvColumns[header[i]] == nil {
			return nil, sequence.Invalidf("csv", "%s has a column %q, which no import knows: its first line names the columns", c.path, name)
		}
		if slices.Contains(header[:i], header[i]) {
			return nil, sequence.Invalidf("csv", "%s has two columns %s", c.path, name)
		}
	}
	for _, name := range []string{"seq_no", "state"} {
		if !slices.Contains(header, name) {
			return nil, sequence.Invalidf("csv", "%s has no column %s: its first line names the columns", c.path, name)
		}
	}
	return header, nil
}

// line reads the next one; io.EOF after the last.
func (c *importCSV) line(reader *csv.Reader, header []string) (line ledger.ImportLine, err error) {
	record, err := reader.Read()
	var malformed *csv.ParseError
	switch {
	case errors.As(err, &malformed):
		return ledger.ImportLine{Line: malformed.StartLine, Fault: malformed.Err}, nil
	case err != nil && !errors.Is(err, io.EOF):
		return line, fmt.Errorf("read %s: %w", c.path, err)
	case err != nil:
		return line, err
	}
	line.Line, _ = reader.FieldPos(0)
	if len(record) != len(header) {
		line.Fault = fmt.Errorf("has %d columns, the header has %d", len(record), len(header))
		return line, nil
	}
	for i, text := range record {
		if text == `\N` { // as MySQL writes what is NULL
			text = ""
		}
		line.Fault = cmp.Or(line.Fault, csvColumns[header[i]](c, &line.Number, text))
	}
	return line, nil
}
