package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/sequence"
)

func TestTheAPISpeaksEveryKindOfFinding(t *testing.T) {
	require.Len(t, lacunav1.FindingKind_value, len(ledger.FindingKinds)+1)
	for _, k := range ledger.FindingKinds {
		require.Equal(t, findingKindPrefix+k.String(), findingKindMessage(k).String())
	}
}

func TestTheClassesOfAnAuditAddUp(t *testing.T) {
	r := ledger.AuditReport{From: 1, To: 36, Skipped: 1, Unaccounted: 2, UnknownStatus: 3, States: [8]int64{1, 2, 3, 4, 5, 6, 7, 2}}
	require.Equal(t, r.Values(), r.Sum())
	m := auditReportMessage(r)
	require.Equal(t, m.GetValues(), m.GetInUse()+m.GetWithCaller()+m.GetInWindow()+m.GetInPool()+m.GetHeld()+
		m.GetDead()+m.GetRetired()+m.GetSkipped()+m.GetUnaccounted()+m.GetUnknown())
	require.Equal(t, int64(3), m.GetInUse())
	require.Nil(t, m.Cursor)
}

func TestATokenOfAPageOfGaps(t *testing.T) {
	for _, p := range []ledger.GapPosition{{BizType: "ORDER", Value: 7}, {BizType: "INVOICE_2", Period: "20260506", Value: 0}} {
		read, err := parseGapPosition(gapPositionText(p))
		require.NoError(t, err)
		require.Equal(t, p, read)
	}
	for _, token := range []string{"7", "ORDER~7", "ORDER~~x", "ORDER~~07", "order~~7", "ORDER~~7~", "~~7"} {
		_, err := parseGapPosition(token)
		require.ErrorIs(t, err, sequence.ErrInvalid, token)
	}
}

func TestFewAuditsRunAtOnce(t *testing.T) {
	s := &operatorService{stopping: t.Context()}
	var done []func()
	for range maxAudits {
		_, end, err := s.beginAudit(t.Context())
		require.NoError(t, err)
		done = append(done, end)
	}
	_, _, err := s.beginAudit(t.Context())
	require.ErrorIs(t, err, sequence.ErrBusy)
	for _, end := range done {
		end()
	}
	_, end, err := s.beginAudit(t.Context())
	require.NoError(t, err)
	end()
}
