package main

import (
	"errors"
	"fmt"

	"github.com/lacuna-seq/lacuna/sequence"
)

// validNote accepts what a request says of who acts, which may be nothing.
func validNote(note string) error {
	if note == "" {
		return nil
	}
	return sequence.ValidateActor(note)
}

// noted adds to a reason what an operator says about who acts. Who it was is the token's name.
func noted(reason, actor, note string) (string, error) {
	if err := errors.Join(sequence.ValidateReason(reason), validNote(note)); err != nil {
		return "", err
	}
	if note == "" || note == actor {
		return reason, nil
	}
	both := fmt.Sprintf("%s (noted: %s)", reason, note)
	if len(both) > sequence.MaxReason {
		return "", sequence.Invalidf("reason", "with the note on who acts it has %d bytes, the limit is %d", len(both), sequence.MaxReason)
	}
	return both, nil
}
