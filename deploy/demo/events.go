package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

// outcome is how a recorded purchase ended.
type outcome string

const (
	outcomeCommit   outcome = "commit"
	outcomeRollback outcome = "rollback"
	// outcomeSilent: the shopper's process took a number and was never heard of again.
	outcomeSilent outcome = "silent"
	// outcomeLate: the transaction took longer than the confirm timeout and was committed within
	// the safety window. Its duration is not scaled by --speed.
	outcomeLate outcome = "late"
)

// event is one purchase of recorded traffic.
type event struct {
	at       time.Duration // after the first
	key      string
	outcome  outcome
	duration time.Duration // of its transaction
}

var header = []string{"at_ms", "key", "outcome", "duration_ms"}

func readFile(name string) ([]event, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was read
	events, err := readEvents(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return events, nil
}

// readEvents reads at_ms,key,outcome,duration_ms in the order of time; a fault names its line.
func readEvents(r io.Reader) ([]event, error) {
	reader := csv.NewReader(r)
	reader.FieldsPerRecord = len(header)
	first, err := reader.Read()
	if err != nil {
		return nil, fmt.Errorf("read the header: %w", err)
	}
	for i, name := range header {
		if first[i] != name {
			return nil, fmt.Errorf("the header is %v, not %v", first, header)
		}
	}
	var events []event
	keys := map[string]bool{}
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		line, _ := reader.FieldPos(0)
		e, err := parseEvent(record)
		switch {
		case err != nil:
			return nil, fmt.Errorf("line %d: %w", line, err)
		case keys[e.key]:
			return nil, fmt.Errorf("line %d: the key %q occurs twice", line, e.key)
		case len(events) > 0 && e.at < events[len(events)-1].at:
			return nil, fmt.Errorf("line %d: at_ms goes back", line)
		}
		keys[e.key] = true
		events = append(events, e)
	}
	if len(events) == 0 {
		return nil, errors.New("holds no events")
	}
	return events, nil
}

func parseEvent(record []string) (event, error) {
	at, err := strconv.ParseUint(record[0], 10, 40)
	if err != nil {
		return event{}, fmt.Errorf("at_ms %q is not a time in milliseconds", record[0])
	}
	duration, err := strconv.ParseUint(record[3], 10, 40)
	if err != nil {
		return event{}, fmt.Errorf("duration_ms %q is not a time in milliseconds", record[3])
	}
	e := event{
		at: time.Duration(at) * time.Millisecond, key: record[1], outcome: outcome(record[2]),
		duration: time.Duration(duration) * time.Millisecond,
	}
	if e.key == "" || len(e.key) > 64 {
		return event{}, fmt.Errorf("the key %q does not have 1 to 64 bytes", e.key)
	}
	switch e.outcome {
	case outcomeCommit, outcomeRollback, outcomeSilent, outcomeLate:
		return e, nil
	}
	return event{}, fmt.Errorf("the outcome %q is not commit, rollback, silent or late", record[2])
}

func writeEvents(w io.Writer, events []event) error {
	writer := csv.NewWriter(w)
	if err := writer.Write(header); err != nil {
		return err
	}
	for _, e := range events {
		record := []string{strconv.FormatInt(e.at.Milliseconds(), 10), e.key, string(e.outcome), strconv.FormatInt(e.duration.Milliseconds(), 10)}
		if err := writer.Write(record); err != nil {
			return err
		}
	}
	writer.Flush()
	return writer.Error()
}
