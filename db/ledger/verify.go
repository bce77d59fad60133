package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

const (
	queryChains = `SELECT biz_type FROM t_seq_seal_head UNION SELECT biz_type FROM t_seq_seal_frontier UNION SELECT DISTINCT biz_type FROM t_seq_seal ORDER BY biz_type`
	queryHead   = `SELECT number, hash FROM t_seq_seal_head WHERE biz_type = ?`
	querySeals  = `SELECT ` + sealColumns + ` FROM t_seq_seal WHERE biz_type = ? AND number > ? ORDER BY number LIMIT ?`
)

// sealPage is how many entries of a chain are read at a time.
const sealPage = 1_000

// Anchor is an entry of a chain that somebody has kept outside of the ledger. One who may write every table
// can forge a chain that agrees with itself, but none that has this entry and differs before it.
type Anchor struct {
	Number int64 // 0 for none
	Hash   string
}

// Verification is whether the numbers are still what their seals say.
type Verification struct {
	Time       time.Time // the database's, of the snapshot
	Chains     []ChainReport
	Faults     []SealFault // at most MaxSealFaults
	FaultsLeft int64       // how many more there are
}

// Clean is a verification without a fault.
func (v Verification) Clean() bool { return len(v.Faults) == 0 }

// ChainReport is what a chain consists of.
type ChainReport struct {
	BizType           string
	Seals, Amendments int64
	Values            int64  // that were sealed
	Number            int64  // of the last entry
	Hash              string // of the last entry
	SealedTime        time.Time
}

// VerifySeals recomputes the chain of a biz type, or of all where none is named: the hash of each block from its
// numbers, with the amendments taken back, the hash of each entry, the link to the one before, and that every
// block is sealed or waits for it. An anchor needs a biz type. It reads one snapshot, takes no lock, and about
// 3 s for a million numbers. What it finds is no error. It returns sequence.ErrNotFound where there is no such
// biz type.
func (l *Ledger) VerifySeals(ctx context.Context, bizType string, anchor Anchor) (Verification, error) {
	var result Verification
	if err := validateVerify(bizType, anchor); err != nil {
		return result, err
	}
	err := l.inSnapshot(ctx, func(conn *sql.Conn) error {
		v := &verifier{auditor: &auditor{ctx: ctx, conn: conn}, anchor: anchor}
		err := v.run(bizType)
		result = v.result
		return err
	})
	return result, classify("verify the seals of "+bizType, err)
}

func validateVerify(bizType string, anchor Anchor) error {
	switch {
	case anchor.Number < 0:
		return sequence.Invalidf("anchorNumber", "%d is below 0", anchor.Number)
	case (anchor.Number == 0) != (anchor.Hash == ""):
		return sequence.Invalidf("anchorHash", "and anchorNumber need each other")
	case bizType == "" && anchor.Number > 0:
		return sequence.Invalidf("bizType", "is missing: an anchor is of one chain")
	case bizType == "":
		return nil
	}
	return sequence.ValidateBizTypeName(bizType)
}

// verifier is one verification.
type verifier struct {
	*auditor
	anchor Anchor
	result Verification
}

func (v *verifier) run(bizType string) error {
	if err := v.conn.QueryRowContext(v.ctx, queryMicros).Scan(&v.result.Time); err != nil {
		return err
	}
	chains, err := query(v.auditor, scanText, queryChains)
	if err != nil {
		return err
	}
	if bizType != "" {
		var known bool
		if err := v.conn.QueryRowContext(v.ctx, queryHasBizType, bizType).Scan(&known); err != nil {
			return err
		}
		if !known {
			return fmt.Errorf("biz type %s: %w", bizType, sequence.ErrNotFound)
		}
		chains = []string{bizType}
	}
	for _, c := range chains {
		if err := v.chain(c); err != nil {
			return fmt.Errorf("chain of %s: %w", c, err)
		}
	}
	return nil
}

func (v *verifier) fault(f SealFault) {
	if len(v.result.Faults) == MaxSealFaults {
		v.result.FaultsLeft++
		return
	}
	v.result.Faults = append(v.result.Faults, f)
}

// chain goes from entry to entry.
func (v *verifier) chain(bizType string) error {
	report := ChainReport{BizType: bizType, Hash: sequence.NoSeal}
	anchored := v.anchor.Number == 0
	for {
		page, err := query(v.auditor, scanSeal, querySeals, bizType, report.Number, sealPage)
		if err != nil {
			return err
		}
		for _, s := range page {
			v.link(s, report)
			if s.Number == v.anchor.Number {
				anchored = true
				v.compare(s, SealFaultEnd, v.anchor.Hash, s.Hash, "the entry is another than the one that was kept: the chain was written anew")
			}
			if err := v.content(s, &report); err != nil {
				return err
			}
			report.Number, report.Hash, report.SealedTime = s.Number, s.Hash, s.SealedTime
		}
		if len(page) < sealPage {
			break
		}
	}
	if !anchored {
		v.fault(SealFault{
			Kind: SealFaultEnd, BizType: bizType, Number: v.anchor.Number, Expected: v.anchor.Hash, Found: "no entry",
			Words: "the chain has not got the entry that was kept",
		})
	}
	if err := v.end(report); err != nil {
		return err
	}
	v.result.Chains = append(v.result.Chains, report)
	return v.cover(bizType)
}

// compare finds a fault where the two differ.
func (v *verifier) compare(s sequence.Seal, kind SealFaultKind, expected, found, words string) {
	if expected != found {
		v.fault(SealFault{Kind: kind, BizType: s.BizType, Number: s.Number, Period: s.Period, Lo: s.Lo, Hi: s.Hi, Expected: expected, Found: found, Words: words})
	}
}

// link holds an entry against itself and the one before.
func (v *verifier) link(s sequence.Seal, before ChainReport) {
	if s.Number == before.Number+1 {
		v.compare(s, SealFaultLink, before.Hash, s.PreviousHash, "it does not name the hash of the entry before it: one of the two was written anew")
	} else {
		v.fault(SealFault{
			Kind: SealFaultMissing, BizType: s.BizType, Number: before.Number + 1, Period: s.Period, Lo: s.Lo, Hi: s.Hi,
			Expected: strconv.FormatInt(before.Number+1, 10), Found: strconv.FormatInt(s.Number, 10),
			Words: fmt.Sprintf("%d entries before it were removed from t_seq_seal", s.Number-before.Number-1),
		})
	}
	v.compare(s, SealFaultEdited, s.Hash, s.Sum(), "its fields do not give its hash: it was edited in t_seq_seal")
}

// end holds the last entry against what was appended last.
func (v *verifier) end(last ChainReport) error {
	head := Anchor{Hash: sequence.NoSeal}
	err := v.conn.QueryRowContext(v.ctx, queryHead, last.BizType).Scan(&head.Number, &head.Hash)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if head != (Anchor{last.Number, last.Hash}) {
		v.fault(SealFault{
			Kind: SealFaultEnd, BizType: last.BizType, Number: max(head.Number, last.Number),
			Expected: fmt.Sprintf("%d %s", head.Number, head.Hash), Found: fmt.Sprintf("%d %s", last.Number, last.Hash),
			Words: "the last entry is not the one that was appended last (t_seq_seal_head): entries were removed or added at the end",
		})
	}
	return nil
}
