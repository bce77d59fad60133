package conformance

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/client"
	"github.com/lacuna-seq/lacuna/sequence"
)

// behaviours are what is promised, by name.
var behaviours = map[string]func(*testing.T, *service){
	"a confirm is final and may be repeated":                           confirmIsFinal,
	"an abandoned number is issued again after its window":             issuedAgain,
	"a number that nobody confirms in time is issued again":            timesOut,
	"a late confirm saves the number":                                  lateConfirm,
	"whoever confirms a life that was issued again meets a conflict":   conflictOfLives,
	"two business objects cannot confirm one life":                     conflictOfKeys,
	"a number is issued again as often as allowed and then never":      retires,
	"a number of a type without reuse is retired after its window":     neverReused,
	"who asks for more time has it, within the limit":                  extends,
	"who asks for more time too late is told so":                       extendsTooLate,
	"a number may be named without its ticket while it has had a life": namedWithoutTicket,
	"what became of a number can be read, life by life":                history,
	"Next answers as many as are asked for, or none":                   counts,
	"free numbers come before fresh ones, the lowest first":            lowestFirst,
	"numbers are printed by their format":                              formats,
	"a key is answered the same number":                                keyRepeats,
	"a key stands for one call":                                        keyReused,
	"a key whose number was given up is spent":                         keySpent,
	"a key is free again after the confirm timeout":                    keyExpires,
	"Settle answers each command in its place":                         settlesInPlace,
	"a fault of the input names its field and takes nothing":           namesFields,
	"what does not exist is not found":                                 notFound,
	"reads may be made by GET":                                         readByGet,
}

func confirmIsFinal(t *testing.T, s *service) {
	s.make(t, "FINAL", "F-{seq:6}")
	n := s.next(t, "FINAL", client.ForBizKey("o-1"))
	require.Equal(t, "FINAL~F-000001~1", n.Ticket)
	require.True(t, n.ConfirmBy.After(time.Now()))
	s.confirm(t, n)
	outcome, err := s.Confirm(t.Context(), n.Ticket)
	require.NoError(t, err)
	require.Equal(t, sequence.OutcomeAlreadyConfirmed, outcome)
	_, err = s.Abandon(t.Context(), n.Ticket)
	require.ErrorIs(t, err, sequence.ErrAlreadyConfirmed)
	require.Equal(t, "STATE_CONFIRMED", s.number(t, n.Ticket)["state"])
}

func issuedAgain(t *testing.T, s *service) {
	s.make(t, "AGAIN", "{seq:1}", single, window(brief))
	n := s.next(t, "AGAIN")
	s.abandon(t, n)
	outcome, err := s.Abandon(t.Context(), n.Ticket)
	require.NoError(t, err)
	require.Equal(t, sequence.OutcomeAlreadyAbandoned, outcome)
	s.Pass(t, brief)
	again := s.again(t, "AGAIN")
	require.Equal(t, "AGAIN~9~2", again.Ticket)
	require.Equal(t, n.SeqNo, again.SeqNo)
	require.Equal(t, int32(2), again.Life)
	s.confirm(t, again)
}

func timesOut(t *testing.T, s *service) {
	s.make(t, "SILENT", "{seq:1}", single, timeout(short), window(brief))
	n := s.next(t, "SILENT")
	s.Pass(t, short+brief)
	again := s.again(t, "SILENT")
	require.Equal(t, n.SeqNo, again.SeqNo)
	require.Equal(t, int32(2), again.Life)
	s.confirm(t, again)
}

func lateConfirm(t *testing.T, s *service) {
	s.make(t, "LATE", "{seq:1}", single)
	n := s.next(t, "LATE")
	s.abandon(t, n)
	outcome, err := s.Confirm(t.Context(), n.Ticket)
	require.NoError(t, err)
	require.Equal(t, sequence.OutcomeRescued, outcome)
	_, err = s.Next(t.Context(), "LATE")
	require.ErrorIs(t, err, sequence.ErrFull)
}

func conflictOfLives(t *testing.T, s *service) {
	s.make(t, "LIVES", "{seq:1}", single, window(brief))
	first := s.next(t, "LIVES")
	s.abandon(t, first)
	s.Pass(t, brief)
	second := s.again(t, "LIVES")
	_, err := s.Confirm(t.Context(), first.Ticket)
	require.ErrorIs(t, err, sequence.ErrConflict)
	var refused *sequence.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, second.Ticket, refused.Current.String())
	require.Equal(t, sequence.Allocated, refused.State)
	_, err = s.Abandon(t.Context(), first.Ticket)
	require.ErrorIs(t, err, sequence.ErrStale)
	s.confirm(t, second)
}

func conflictOfKeys(t *testing.T, s *service) {
	s.make(t, "KEYS", "K-{seq:6}")
	n := s.next(t, "KEYS")
	_, err := s.Confirm(t.Context(), n.Ticket, client.ByBizKey("o-1"))
	require.NoError(t, err)
	_, err = s.Confirm(t.Context(), n.Ticket, client.ByBizKey("o-2"))
	require.ErrorIs(t, err, sequence.ErrConflict)
	_, err = s.Confirm(t.Context(), n.Ticket, client.ByBizKey("o-1"))
	require.NoError(t, err)
}

func retires(t *testing.T, s *service) {
	s.make(t, "CAPPED", "{seq:1}", single, window(brief), func(b *sequence.BizType) { b.MaxReplays = 1 })
	s.abandon(t, s.next(t, "CAPPED"))
	s.Pass(t, brief)
	last := s.again(t, "CAPPED")
	s.abandon(t, last)
	s.Pass(t, brief)
	s.awaitState(t, last.Ticket, "RETIRED")
	_, err := s.Next(t.Context(), "CAPPED")
	require.ErrorIs(t, err, sequence.ErrFull)
	outcome, err := s.Confirm(t.Context(), last.Ticket)
	require.NoError(t, err)
	require.Equal(t, sequence.OutcomeRescued, outcome, "a declared gap can still be saved")
}

func neverReused(t *testing.T, s *service) {
	s.make(t, "ONCE", "{seq:1}", single, window(brief), func(b *sequence.BizType) { b.Reuse, b.DurableIssue = sequence.ReuseNever, true })
	n := s.next(t, "ONCE")
	s.abandon(t, n)
	s.Pass(t, brief)
	s.awaitState(t, n.Ticket, "RETIRED")
	_, err := s.Next(t.Context(), "ONCE")
	require.ErrorIs(t, err, sequence.ErrFull)
}

func extends(t *testing.T, s *service) {
	s.make(t, "MORE", "M-{seq:6}", timeout(10*time.Minute), func(b *sequence.BizType) { b.ExtendLimit = time.Hour })
	n := s.next(t, "MORE")
	by, err := s.Extend(t.Context(), n.Ticket, 30*time.Minute)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(30*time.Minute), by, time.Minute)
	same, err := s.Extend(t.Context(), n.Ticket, time.Minute)
	require.NoError(t, err)
	require.WithinDuration(t, by, same, time.Minute, "less than what is left changes nothing")
	_, err = s.Extend(t.Context(), n.Ticket, 2*time.Hour)
	require.ErrorIs(t, err, sequence.ErrOverLimit)
	_, err = s.Extend(t.Context(), n.Ticket, 31*24*time.Hour)
	require.ErrorIs(t, err, sequence.ErrInvalid)
	s.confirm(t, n)
	_, err = s.Extend(t.Context(), n.Ticket, time.Minute)
	require.ErrorIs(t, err, sequence.ErrAlreadyConfirmed)
}

func extendsTooLate(t *testing.T, s *service) {
	s.make(t, "TARDY", "T-{seq:6}", timeout(short))
	n := s.next(t, "TARDY")
	s.Pass(t, short+brief) // the time begins when the hand-out is written down
	_, err := s.Extend(t.Context(), n.Ticket, time.Minute)
	require.ErrorIs(t, err, sequence.ErrTooLate)
}

func namedWithoutTicket(t *testing.T, s *service) {
	s.make(t, "NAMED", "{seq:1}", single, window(brief))
	n := s.next(t, "NAMED")
	status, answer := s.post(t, "Abandon", `{"bizType":"NAMED","seqNo":"9"}`)
	require.Equal(t, http.StatusOK, status, "%v", answer)
	require.Equal(t, "OUTCOME_ABANDONED", answer["outcome"])
	require.Equal(t, "STATE_ABANDONED", s.number(t, n.Ticket)["state"])
	s.Pass(t, brief)
	second := s.again(t, "NAMED")
	status, answer = s.post(t, "Confirm", `{"bizType":"NAMED","seqNo":"9"}`)
	require.Equal(t, http.StatusBadRequest, status)
	require.Equal(t, "failed_precondition", answer["code"])
	require.Contains(t, fmt.Sprint(answer["details"]), "TICKET_REQUIRED")
	s.confirm(t, second)
}

func history(t *testing.T, s *service) {
	s.make(t, "TOLD", "{seq:1}", single, window(brief))
	first := s.next(t, "TOLD", client.ForBizKey("o-1"))
	s.abandon(t, first)
	s.Pass(t, brief)
	second := s.again(t, "TOLD")
	_, err := s.Confirm(t.Context(), first.Ticket, client.ByBizKey("o-1"))
	require.ErrorIs(t, err, sequence.ErrConflict)
	s.Pass(t, 10*time.Millisecond)
	s.confirm(t, second)
	status, answer := s.post(t, "Get", `{"bizType":"TOLD","seqNo":"9"}`)
	require.Equal(t, http.StatusOK, status, "%v", answer)
	number := answer["number"].(map[string]any)
	require.Equal(t, second.Ticket, number["ticket"])
	require.Equal(t, "9", number["value"], "64 bits are a string")
	require.InDelta(t, 1, number["replays"], 0)
	past := answer["pastLives"].([]any)
	require.Len(t, past, 1)
	require.Equal(t, first.Ticket, past[0].(map[string]any)["ticket"])
	require.Equal(t, "o-1", past[0].(map[string]any)["bizKey"])
	var told []string
	for _, entry := range answer["timeline"].([]any) {
		e := entry.(map[string]any)
		told = append(told, e["what"].(string)+" "+e["ticket"].(string))
	}
	require.Equal(t, []string{
		"ISSUED TOLD~9~1", "ABANDONED TOLD~9~1", "ISSUED TOLD~9~2", "CONFLICT TOLD~9~1", "CONFIRMED TOLD~9~2",
	}, told)
}
