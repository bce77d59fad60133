package activities

import (
	"context"
	"errors"
	"time"
)

// Bounds of what a round seals and archives.
const (
	sealBlocks  = 200             // looked at together
	sealTime    = 2 * time.Second // recovery and wakes wait for the next round
	archiveTime = 2 * time.Second
)

// SealResult counts what a round sealed and archived.
type SealResult struct {
	Blocks int `json:"blocks,omitempty"`
	// Archived numbers, of blocks that were sealed long ago.
	Archived int `json:"archived,omitempty"`
}

// Seal seals blocks whose numbers are all final, and moves numbers to the archive that have been sealed for as
// long as their biz type keeps them.
func (p *Patrol) Seal(ctx context.Context) (SealResult, error) {
	defer beat(ctx)()
	var result SealResult
	sealed := p.seal(ctx, &result)
	return result, wrapAway(errors.Join(sealed, p.archive(ctx, &result)))
}

// archive moves block after block until its time is over.
func (p *Patrol) archive(ctx context.Context, result *SealResult) error {
	end := time.Now().Add(archiveTime)
	for time.Now().Before(end) {
		moved, more, err := p.ledger.ArchiveNext(ctx)
		if result.Archived += moved; err != nil || !more {
			return err
		}
	}
	return nil
}

// seal looks at all blocks that are due, some at a time, until its time is over. One that cannot be sealed keeps
// no other from it.
func (p *Patrol) seal(ctx context.Context, result *SealResult) error {
	if _, err := p.ledger.OpenBlocks(ctx, sealBlocks); err != nil {
		return err
	}
	var failed error
	end := time.Now().Add(sealTime)
	for {
		due, looked, err := p.ledger.DueBlocks(ctx, sealBlocks)
		if err != nil {
			return err
		}
		for _, block := range due {
			if time.Now().After(end) {
				return failed
			}
			sealed, err := p.ledger.SealNow(ctx, block)
			if err != nil {
				failed = errors.Join(failed, err)
			}
			if sealed {
				result.Blocks++
			}
		}
		if looked < sealBlocks || failed != nil {
			return failed
		}
	}
}
