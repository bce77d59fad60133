package ledger

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// Holes says what becomes of values that an import's source does not name although it names higher ones.
type Holes string

const (
	// HolesRefuse imports nothing while there are any.
	HolesRefuse Holes = "REFUSE"
	// HolesPool makes them free numbers that were never handed out. Right only where that is certain: whoever
	// holds one all the same meets its next holder.
	HolesPool Holes = "POOL"
	// HolesDeclare declares them as skipped, for good.
	HolesDeclare Holes = "DECLARE"
)

// Bounds of what an import makes of holes: rows of free numbers, and ranges that are declared.
const (
	MaxPooledHoles   = 10_000_000
	MaxDeclaredHoles = 100_000
)

// ImportSource is what another system knows of the numbers of one biz type.
type ImportSource interface {
	// Name is what people call it, e.g. its file.
	Name() string
	// Identity is the same for what is the same import: a file's content, a table's name.
	Identity(ctx context.Context) (string, error)
	// Read gives each number once to do, and ends with do's error. It is called twice, and must give the same.
	Read(ctx context.Context, do func(ImportLine) error) error
}

// ImportLine is a number of a source.
type ImportLine struct {
	Line   int // in a file, from 1; 0 where there are no lines
	Number sequence.Imported
	Fault  error // why it could not be read
}

// Import is one import to be done.
type Import struct {
	BizType string
	Source  ImportSource
	Holes   Holes
	// Reason is written down with each hole; "" is sequence.ReasonHole.
	Reason string
	// DryRun reads and checks, and writes nothing.
	DryRun bool
	// Progress is told after every batch; nil tells nobody.
	Progress func(ImportProgress)
}

// ImportProgress is how far an import has come.
type ImportProgress struct {
	Step        string // what is done now: "checked", "imported" or "closed"
	Done, Total int64  // numbers; Total is 0 while it is not known
}

// Validate refuses an import that means nothing.
func (i Import) Validate() error {
	switch i.Holes {
	case HolesRefuse, HolesPool, HolesDeclare:
	default:
		return sequence.Invalidf("holes", "%q is none of %s, %s, %s", i.Holes, HolesRefuse, HolesPool, HolesDeclare)
	}
	if i.Reason != "" {
		if err := sequence.ValidateReason(i.Reason); err != nil {
			return err
		}
	}
	return sequence.ValidateBizTypeName(i.BizType)
}

// ErrImportRefused is an import whose source has faults or holes; nothing was written. Its report says which.
var ErrImportRefused = errors.New("the import is refused")

// errMovedMeanwhile is a ledger that is not as it was when the source was held against it.
var errMovedMeanwhile = errors.New("the ledger went on while the source was read")

// maxImportTries is how often the source is read because of that; numbers that were issued in between are faults
// then. It is also how often a transaction is tried of which the answer is lost.
const maxImportTries = 3

// Import takes the numbers of another system into the ledger; sequence.BizType.Import says what becomes of
// each. The biz type must exist. The source is read and checked as a whole first, and with any fault, or a
// hole under HolesRefuse, it is ErrImportRefused and nothing was written. Then the cursors go up to the
// highest values in one transaction, before the first number is written: nothing that the import brings
// can be issued beside it. Numbers are then inserted MaxBatch a transaction, the holes are closed, and the
// import is marked as done. Until then audits say of the values that have no row that it is under way.
//
// An import that ended before that is gone on with by importing the same again; what stands in the ledger is
// passed over, also after it has moved on. An import keeps two bits of memory for each value, more where they
// lie far apart. Its errors are sequence.ErrNotFound without a biz type, a sequence.InvalidError where another
// import is under way or the source changed, and a sequence.UnavailableError while the ledger is away.
func (l *Ledger) Import(ctx context.Context, i Import) (ImportReport, error) {
	if err := i.Validate(); err != nil {
		return ImportReport{}, err
	}
	if i.Progress == nil {
		i.Progress = func(ImportProgress) {}
	}
	if i.Reason == "" {
		i.Reason = sequence.ReasonHole
	}
	r := &importer{ledger: l, Import: i, runner: rand.Text()}
	err := r.run(ctx)
	if errors.Is(err, ErrImportRefused) {
		return r.report, err
	}
	return r.report, classify("import "+i.Source.Name()+" into "+i.BizType, err)
}

// importer is one import.
type importer struct {
	ledger *Ledger
	Import
	runner  string
	batchID string // of its numbers
	rules   sequence.BizType
	now     time.Time // when the source was read
	record  importRecord
	periods map[string]*importPeriod
	report  ImportReport
}

func (r *importer) run(ctx context.Context) error {
	for try := 1; ; try++ {
		if err := r.read(ctx); err != nil {
			return err
		}
		if r.DryRun {
			return nil
		}
		if refusal := r.report.Refusal(r.Holes); refusal != "" {
			return fmt.Errorf("%w, and nothing was written: %s", ErrImportRefused, refusal)
		}
		if r.record.state == importDone && r.report.complete() {
			return nil
		}
		err := r.begin(ctx)
		if err == nil {
			break
		}
		again := errors.Is(err, errMovedMeanwhile) || errors.Is(err, errCommitUnknown) && ctx.Err() == nil
		if !again || try == maxImportTries {
			return err
		}
	}
	if err := r.write(ctx); err != nil {
		return err
	}
	if err := r.closeHoles(ctx); err != nil {
		return err
	}
	return r.end(ctx)
}

// importBatchID names an import by its biz type and its source, so that the same import finds its rows.
func importBatchID(bizType, identity string) string {
	sum := sha256.Sum256([]byte(bizType + "\x00" + identity))
	return "import-" + hex.EncodeToString(sum[:16])
}

// holesBatchID is the batch of the free numbers that an import makes of holes. It is another one, so that a hole is never
// taken for a number that the source brought.
func holesBatchID(batchID string) string { return batchID + "-holes" }
