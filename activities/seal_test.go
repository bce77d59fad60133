package activities_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/lacuna-seq/lacuna/activities"
	"github.com/lacuna-seq/lacuna/sequence"
)

// blocks are what a beat can seal and archive.
type blocks struct {
	open     bool             // OpenBlocks was called
	due      []sequence.Block // not looked at yet
	stuck    int64            // the lo of one that cannot be sealed
	waits    int64            // and of one that is not final
	sealed   []int64
	archived []int // numbers of each block that can be archived
}

func (b *beat) OpenBlocks(context.Context, int) (int, error) {
	b.blocks.open = true
	return 0, nil
}

func (b *beat) DueBlocks(_ context.Context, limit int) (due []sequence.Block, looked int, err error) {
	n := min(limit, len(b.blocks.due))
	due, b.blocks.due = b.blocks.due[:n], b.blocks.due[n:]
	return due, n, nil
}

func (b *beat) SealNow(_ context.Context, block sequence.Block) (bool, error) {
	switch block.Lo {
	case b.blocks.stuck:
		return false, errors.New("lock wait timeout")
	case b.blocks.waits:
		return false, nil
	}
	b.blocks.sealed = append(b.blocks.sealed, block.Lo)
	return true, nil
}

func (b *beat) ArchiveNext(context.Context) (moved int, ok bool, err error) {
	if b.away {
		return 0, false, errors.New("connection refused")
	}
	if len(b.blocks.archived) == 0 {
		return 0, false, nil
	}
	moved, b.blocks.archived = b.blocks.archived[0], b.blocks.archived[1:]
	return moved, true, nil
}

func TestSeal(t *testing.T) {
	seal := func(b *beat) (result activities.SealResult, err error) {
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		activities.NewPatrol(b, b, b, slog.New(slog.DiscardHandler), activities.DefaultPatrolBatch).Register(env)
		value, err := env.ExecuteActivity(activities.SealName)
		if err == nil {
			require.NoError(t, value.Get(&result))
		}
		return result, err
	}
	many := func(n int64) (due []sequence.Block) {
		for lo := range n {
			due = append(due, sequence.Block{BizType: "ORDER", Lo: lo + 1})
		}
		return due
	}
	b := &beat{blocks: blocks{due: many(450), waits: 7, archived: []int{10_000, 0, 10_000}}}
	result, err := seal(b)
	require.NoError(t, err)
	require.True(t, b.blocks.open)
	require.Equal(t, activities.SealResult{Blocks: 449, Archived: 20_000}, result)

	b = &beat{blocks: blocks{due: many(10), stuck: 3, archived: []int{500}}}
	_, err = seal(b)
	require.ErrorContains(t, err, "lock wait timeout")
	require.Len(t, b.blocks.sealed, 9, "it keeps no other from being sealed")
	require.Empty(t, b.blocks.archived, "nor from being archived")

	_, err = seal(&beat{away: true})
	require.ErrorContains(t, err, "connection refused")
}
