package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/lacuna-seq/lacuna/sequence"
)

const (
	// The first seal of each chain that is not archived, where its time has come.
	queryArchivable = `SELECT s.number, s.biz_type, s.period, s.lo, s.hi FROM t_seq_seal_head h
		JOIN t_seq_biz_type b ON b.name = h.biz_type AND b.archive_after_ms > 0
		JOIN t_seq_seal s ON s.biz_type = h.biz_type AND s.number =
			(SELECT MIN(m.number) FROM t_seq_seal m WHERE m.biz_type = h.biz_type AND m.number > h.archived AND m.kind = 'SEAL')
		WHERE s.sealed_time <= UTC_TIMESTAMP(6) - INTERVAL b.archive_after_ms * 1000 MICROSECOND
		ORDER BY s.sealed_time LIMIT 1`
	lockArchivable = `SELECT n.id, n.value` + fromRange + ` AND n.status IN (2, 7) ORDER BY n.value LIMIT ? FOR UPDATE`
	copyToArchive  = `INSERT INTO t_seq_archive (` + numberColumns + `, archived_time)
		SELECT ` + numberColumns + `, UTC_TIMESTAMP(6) FROM t_seq_issue_log FORCE INDEX (PRIMARY) WHERE id IN (`
	deleteNumbers = `DELETE n FROM t_seq_issue_log n FORCE INDEX (PRIMARY) WHERE n.id IN (`
	markArchived  = `UPDATE t_seq_seal_head SET archived = ? WHERE biz_type = ? AND archived < ?`
)

// sealedBlock is a block and the number of its seal.
type sealedBlock struct {
	sequence.Block
	number int64
}

// ArchiveNext moves the numbers of the block that has been sealed for the longest, if that is longer than its
// biz type keeps them, and counts them; ok is false where there is none. They move at most MaxBatch a
// transaction, each of which holds locks for some 20 ms, until all have or ctx ends.
func (l *Ledger) ArchiveNext(ctx context.Context) (moved int, ok bool, err error) {
	var b sealedBlock
	err = l.db.QueryRowContext(ctx, queryArchivable).Scan(&b.number, &b.BizType, &b.Period, &b.Lo, &b.Hi)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, classify("look for numbers to archive", err)
	}
	for from := b.Lo; ; {
		n, last, err := l.archive(ctx, b, from)
		if moved += n; err != nil {
			return moved, true, classify("archive "+b.String(), err)
		}
		if n < MaxBatch {
			break
		}
		from = last + 1
	}
	_, err = l.exec(ctx, markArchived, b.number, b.BizType, b.number)
	return moved, true, classify("archive "+b.String(), err)
}

// archive moves the first numbers of the block from a value on, and gives the value of the last. A row that is
// not final any more, which only a hand can have done, stays where it is for VerifySeals to find.
func (l *Ledger) archive(ctx context.Context, b sealedBlock, from int64) (moved int, last int64, err error) {
	err = l.inTx(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, lockArchivable, b.BizType, b.Period, from, b.Hi, MaxBatch)
		ids, err := collect(rows, err, func(row row) (any, error) {
			var id int64
			err := row.Scan(&id, &last)
			return id, err
		})
		if moved = len(ids); err != nil || moved == 0 {
			return err
		}
		if _, err := tx.ExecContext(ctx, copyToArchive+placeholders(moved)+")", ids...); err != nil {
			return fmt.Errorf("copy %d numbers: %w", moved, err)
		}
		_, err = tx.ExecContext(ctx, deleteNumbers+placeholders(moved)+")", ids...)
		return err
	})
	if err != nil {
		moved = 0
	}
	return moved, last, err
}
