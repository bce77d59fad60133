package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

const (
	queryHeldOfBatch = `SELECT ` + numberColumns + ` FROM t_seq_issue_log WHERE status IN (0, 5) AND batch_id = ? ORDER BY value`
	insertSkip       = `INSERT INTO t_seq_skip (biz_type, period, lo, hi, reason, declared_time) VALUES (?, ?, ?, ?, ?, UTC_TIMESTAMP(6))`
)

// maxJumpRows is the widest jump of a source whose values become free numbers; a wider one is a
// declared skip.
const maxJumpRows = 100_000

// errBehind is a block that lies at or below the cursor: thrown away.
var errBehind = errors.New("the block is behind the cursor")

// Allocate takes count values, 1 to sequence.MaxStep, from the biz type's source, and inserts them
// as RESERVED numbers of the owner above the cursor of the present period, all in one transaction.
// What the source passed over becomes free numbers that were never handed out. Close to the end of
// the format it gives fewer numbers, and at the end sequence.ErrFull. batchID is new with every
// call; by it Allocate finds out what it did where the answer to its COMMIT was lost.
//
// A ledger that is behind what was seen of it gives a sequence.SteppedBackError, and no number.
func (l *Ledger) Allocate(ctx context.Context, bizType, owner, batchID string, count int) ([]sequence.Number, error) {
	l.recall(ctx, bizType)
	block, err := l.allocate(ctx, bizType, owner, batchID, count)
	if errors.Is(err, errCommitUnknown) {
		held, readErr := l.Held(ctx, batchID)
		switch {
		case readErr != nil:
			err = errors.Join(err, readErr)
		case len(held) > 0:
			block, err = held, nil
		}
	}
	if err = l.settleBehind(ctx, err); err != nil {
		return nil, classify(fmt.Sprintf("allocate %d numbers of %s", count, bizType), err)
	}
	last := block[len(block)-1]
	l.seen.allocated(sequence.Mark{BizType: bizType, Period: last.Period, Value: last.Value})
	return block, nil
}

// Held reads the numbers of an allocation or a claim that stand in its owner's name. It is how an
// owner finds out what a call did whose answer was lost.
func (l *Ledger) Held(ctx context.Context, batchID string) ([]sequence.Number, error) {
	held, err := scanNumbers(l.db.QueryContext(ctx, queryHeldOfBatch, batchID))
	return held, classify("read what batch "+batchID+" holds", err)
}

// maxBehind is how often a block of a counter may turn out to lie behind the cursor, because others
// went on in between, before the block comes off the cursor itself.
const maxBehind = 3

func (l *Ledger) allocate(ctx context.Context, bizType, owner, batchID string, count int) ([]sequence.Number, error) {
	for try := 0; ; try++ {
		a := allocation{ledger: l, owner: owner, batchID: batchID, count: count}
		var err error
		if try < maxBehind {
			if a.ahead, err = l.ahead(ctx, bizType, count); err != nil {
				return nil, err
			}
		}
		var block []sequence.Number
		err = l.inTx(ctx, func(tx *sql.Tx) (err error) {
			block, err = a.run(ctx, tx, bizType)
			return err
		})
		switch {
		case errors.Is(err, errBehind) && try < maxBehind:
			l.log.DebugContext(ctx, "a block was thrown away", "biz_type", bizType, "error", err)
		case number(err) == errNoSuchTable && try < maxBehind:
			if _, err := l.db.ExecContext(ctx, makeAutoincTable(bizType)); err != nil {
				return nil, err
			}
		default:
			return block, err
		}
	}
}

// allocation is one try at one block.
type allocation struct {
	ledger         *Ledger
	owner, batchID string
	count          int
	ahead          source
	rules          sequence.BizType
	now            time.Time
	cursor         cursor
}

func (a *allocation) run(ctx context.Context, tx *sql.Tx, bizType string) ([]sequence.Number, error) {
	var err error
	if a.cursor, a.rules, a.now, err = lockOrMakeCursor(ctx, tx, bizType); err != nil {
		return nil, err
	}
	// After the cursor, which others may hold for long: this process's lease and its other biz types do
	// not wait for that.
	if err := lockIssuer(ctx, tx, a.owner); err != nil {
		return nil, err
	}
	if err := a.mayAllocate(ctx, tx); err != nil {
		return nil, err
	}
	lo, hi, err := a.values(ctx, tx)
	if err != nil {
		return nil, err
	}
	if err := a.fillJump(ctx, tx, lo); err != nil {
		return nil, err
	}
	block := a.numbers(lo, hi, sequence.Reserved)
	if err := insertNumbers(ctx, tx, block); err != nil {
		return nil, err
	}
	return block, a.cursor.move(ctx, tx, hi)
}

// mayAllocate refuses a ledger that has stepped back.
func (a *allocation) mayAllocate(ctx context.Context, tx *sql.Tx) error {
	if a.rules.SteppedBack > 0 {
		return &sequence.SteppedBackError{BizType: a.rules.Name, Behind: a.rules.SteppedBack}
	}
	if err := a.ledger.checkCursor(a.cursor); err != nil {
		return err
	}
	return a.ledger.checkTide(ctx, tx, a.rules.Name)
}

// values are the block's. A source that has gone on beyond the end of the format gives none: what is
// left below comes off the cursor.
func (a *allocation) values(ctx context.Context, tx *sql.Tx) (lo, hi int64, err error) {
	most := a.rules.Format.Max()
	if a.cursor.value >= most {
		return 0, 0, fmt.Errorf("biz type %s: %s is used up to %d: %w", a.rules.Name, a.rules.Format, a.cursor.value, sequence.ErrFull)
	}
	if lo, hi, err = sourceOf(a.rules, a.ahead).values(ctx, tx, a.cursor, a.count); err != nil {
		return 0, 0, err
	}
	if lo > most {
		lo, hi, _ = segment{}.values(ctx, tx, a.cursor, a.count)
	}
	if lo <= a.cursor.value {
		return 0, 0, fmt.Errorf("values %d to %d of %s, the cursor is at %d: %w", lo, hi, a.rules.Name, a.cursor.value, errBehind)
	}
	return lo, min(hi, most), nil
}

// fillJump sees to the values between the cursor and a block that begins above it. Nobody can hold
// them: they are free at once, for the patrol to push.
func (a *allocation) fillJump(ctx context.Context, tx *sql.Tx, lo int64) error {
	first := a.cursor.value + 1
	switch {
	case lo == first:
		return nil
	case lo-first > maxJumpRows:
		_, err := tx.ExecContext(ctx, insertSkip, a.rules.Name, a.cursor.period, first, lo-1, sequence.ReasonJump)
		return err
	}
	return insertNumbers(ctx, tx, a.numbers(first, lo-1, sequence.Replayable))
}

func (a *allocation) numbers(lo, hi int64, state sequence.State) []sequence.Number {
	block := make([]sequence.Number, 0, hi-lo+1)
	for value := lo; value <= hi; value++ {
		n := sequence.Number{
			BizType: a.rules.Name, Period: a.cursor.period, SeqNo: a.rules.Format.Print(a.cursor.period, value), Value: value,
			BatchID: a.batchID, State: state,
		}
		if state.Held() {
			n.Owner, n.Durable = a.owner, a.rules.DurableIssue
		} else {
			n.Deadline, n.Reason = a.now, sequence.ReasonJump
		}
		block = append(block, n)
	}
	return block
}
