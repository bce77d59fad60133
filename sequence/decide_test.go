package sequence_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/sequence"
)

var (
	now   = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)
	rules = sequence.BizType{
		Name: "ORDER", ConfirmTimeout: 15 * time.Minute, SafetyWindow: 2 * time.Minute, MaxReplays: 2,
		ExtendLimit: 2 * time.Hour,
	}
)

const (
	me    = "issuer-1"
	batch = "batch-1"
)

// row is a number as it can stand in the ledger: of life 0 or 2, its deadline due or not.
func row(state sequence.State, life int32, due bool) sequence.Number {
	n := sequence.Number{
		ID: 7, BizType: "ORDER", SeqNo: "A-000001", Value: 1, Life: life,
		BatchID: batch, State: state, Version: 10, RetryTimes: 3,
	}
	if life > 0 {
		n.BizKey, n.Replays, n.IssuedTime, n.Tracked = "o-1", life-1, now.Add(-time.Hour), true
	}
	deadline := now.Add(time.Second)
	if due {
		deadline = now
	}
	switch state {
	case sequence.Reserved, sequence.Replayed:
		n.Owner = me
	case sequence.Allocated, sequence.Abandoned, sequence.Replayable:
		n.Deadline = deadline
	case sequence.Confirmed:
		n.ConfirmedTime = now.Add(-time.Minute)
	case sequence.Dead, sequence.Retired:
	}
	if life > 0 && state != sequence.Allocated && state != sequence.Confirmed {
		n.AbandonedTime = deadline.Add(-rules.SafetyWindow)
	}
	return n
}

func command(kind sequence.Kind, life int32) sequence.Command {
	return sequence.Command{
		Kind: kind, Owner: me, BatchID: batch, For: time.Minute, Outage: sequence.Outage{From: now.Add(-time.Hour), To: now},
		Ticket: sequence.Ticket{BizType: "ORDER", SeqNo: "A-000001", Life: life},
	}
}

// matrix is every state, every kind of command and every life that a command can mean.
// A cell is the outcome and, where the row changes, an arrow and its new state.
// "due" says whether the row's deadline has passed; * stands for both.
const matrix = `
kind      | row           | due | life 0 (none)          | life 1               | life 2                 | life 3            | life 4
confirm   | 0 RESERVED    | *   | PENDING                | PENDING              | NOT_FOUND              | NOT_FOUND         | NOT_FOUND
confirm   | 0 REPLAYABLE  | *   | NOT_FOUND              | NOT_FOUND            | NOT_FOUND              | NOT_FOUND         | NOT_FOUND
confirm   | 0 REPLAYED    | *   | PENDING                | PENDING              | NOT_FOUND              | NOT_FOUND         | NOT_FOUND
confirm   | 0 RETIRED     | *   | NOT_FOUND              | NOT_FOUND            | NOT_FOUND              | NOT_FOUND         | NOT_FOUND
confirm   | 2 ALLOCATED   | *   | TICKET_REQUIRED        | CONFLICT             | CONFIRMED>CONFIRMED    | NOT_FOUND         | NOT_FOUND
confirm   | 2 CONFIRMED   | *   | TICKET_REQUIRED        | CONFLICT             | ALREADY_CONFIRMED      | NOT_FOUND         | NOT_FOUND
confirm   | 2 ABANDONED   | *   | TICKET_REQUIRED        | CONFLICT             | RESCUED>CONFIRMED      | NOT_FOUND         | NOT_FOUND
confirm   | 2 REPLAYABLE  | *   | TICKET_REQUIRED        | CONFLICT             | RESCUED>CONFIRMED      | NOT_FOUND         | NOT_FOUND
confirm   | 2 REPLAYED    | *   | TICKET_REQUIRED        | CONFLICT             | PENDING                | PENDING           | NOT_FOUND
confirm   | 2 DEAD        | *   | TICKET_REQUIRED        | CONFLICT             | RESCUED>CONFIRMED      | NOT_FOUND         | NOT_FOUND
confirm   | 2 RETIRED     | *   | TICKET_REQUIRED        | CONFLICT             | RESCUED>CONFIRMED      | NOT_FOUND         | NOT_FOUND
abandon   | 0 RESERVED    | *   | PENDING                | PENDING              | NOT_FOUND              | NOT_FOUND         | NOT_FOUND
abandon   | 0 REPLAYABLE  | *   | NOT_FOUND              | NOT_FOUND            | NOT_FOUND              | NOT_FOUND         | NOT_FOUND
abandon   | 0 REPLAYED    | *   | PENDING                | PENDING              | NOT_FOUND              | NOT_FOUND         | NOT_FOUND
abandon   | 0 RETIRED     | *   | NOT_FOUND              | NOT_FOUND            | NOT_FOUND              | NOT_FOUND         | NOT_FOUND
abandon   | 2 ALLOCATED   | *   | TICKET_REQUIRED        | STALE                | ABANDONED>ABANDONED    | NOT_FOUND         | NOT_FOUND
abandon   | 2 CONFIRMED   | *   | TICKET_REQUIRED        | STALE                | ALREADY_CONFIRMED      | NOT_FOUND         | NOT_FOUND
abandon   | 2 ABANDONED   | *   | TICKET_REQUIRED        | STALE                | ALREADY_ABANDONED      | NOT_FOUND         | NOT_FOUND
abandon   | 2 REPLAYABLE  | *   | TICKET_REQUIRED        | STALE                | ALREADY_ABANDONED      | NOT_FOUND         | NOT_FOUND
abandon   | 2 REPLAYED    | *   | TICKET_REQUIRED        | STALE                | ALREADY_ABANDONED      | PENDING           | NOT_FOUND
abandon   | 2 DEAD        | *   | TICKET_REQUIRED        | STALE                | ALREADY_ABANDONED      | NOT_FOUND         | NOT_FOUND
abandon   | 2 RETIRED     | *   | TICKET_REQUIRED        | STALE                | ALREADY_ABANDONED      | NOT_FOUND         | NOT_FOUND
check     | 0 RESERVED    | *   | UNCHANGED              | PENDING              | NOT_FOUND              | NOT_FOUND         | NOT_FOUND
check     | 0 REPLAYABLE  | *   | UNCHANGED              | NOT_FOUND            | NOT_FOUND              | NOT_FOUND         | NOT_FOUND
check     | 0 REPLAYED    | *   | UNCHANGED              | PENDING              | NOT_FOUND              | NOT_FOUND         | NOT_FOUND
check     | 0 RETIRED     | *   | UNCHANGED              | NOT_FOUND            | NOT_FOUND              | NOT_FOUND         | NOT_FOUND
check     | 2 ALLOCATED   | no  | SUPERSEDED             | SUPERSEDED           | UNCHANGED              | NOT_FOUND         | NOT_FOUND
check     | 2 ALLOCATED   | yes | SUPERSEDED             | SUPERSEDED           | EXPIRED>ABANDONED      | NOT_FOUND         | NOT_FOUND
check     | 2 CONFIRMED   | *   | SUPERSEDED             | SUPERSEDED           | UNCHANGED              | NOT_FOUND         | NOT_FOUND
check     | 2 ABANDONED   | *   | SUPERSEDED             | SUPERSEDED           | UNCHANGED              | NOT_FOUND         | NOT_FOUND
check     | 2 REPLAYABLE  | *   | SUPERSEDED             | SUPERSEDED           | UNCHANGED              | NOT_FOUND         | NOT_FOUND
check     | 2 REPLAYED    | *   | SUPERSEDED             | SUPERSEDED           | UNCHANGED              | PENDING           | NOT_FOUND
check     | 2 DEAD        | *   | SUPERSEDED             | SUPERSEDED           | UNCHANGED              | NOT_FOUND         | NOT_FOUND
check     | 2 RETIRED     | *   | SUPERSEDED             | SUPERSEDED           | UNCHANGED              | NOT_FOUND         | NOT_FOUND
replay    | 0 RESERVED    | *   | SUPERSEDED             | SUPERSEDED           | SUPERSEDED             | SUPERSEDED        | SUPERSEDED
replay    | 0 REPLAYABLE  | *   | ALREADY_REPLAYABLE     | SUPERSEDED           | SUPERSEDED             | SUPERSEDED        | SUPERSEDED
replay    | 0 REPLAYED    | *   | SUPERSEDED             | SUPERSEDED           | SUPERSEDED             | SUPERSEDED        | SUPERSEDED
replay    | 0 RETIRED     | *   | SUPERSEDED             | SUPERSEDED           | SUPERSEDED             | SUPERSEDED        | SUPERSEDED
replay    | 2 ALLOCATED   | *   | SUPERSEDED             | SUPERSEDED           | SUPERSEDED             | SUPERSEDED        | SUPERSEDED
replay    | 2 CONFIRMED   | *   | SUPERSEDED             | SUPERSEDED           | SUPERSEDED             | SUPERSEDED        | SUPERSEDED
replay    | 2 ABANDONED   | no  | SUPERSEDED             | SUPERSEDED           | NOT_DUE                | SUPERSEDED        | SUPERSEDED
replay    | 2 ABANDONED   | yes | SUPERSEDED             | SUPERSEDED           | REPLAYABLE>REPLAYABLE  | SUPERSEDED        | SUPERSEDED
replay    | 2 REPLAYABLE  | *   | SUPERSEDED             | SUPERSEDED           | ALREADY_REPLAYABLE     | SUPERSEDED        | SUPERSEDED
replay    | 2 REPLAYED    | *   | SUPERSEDED             | SUPERSEDED           | SUPERSEDED             | SUPERSEDED        | SUPERSEDED
replay    | 2 DEAD        | *   | SUPERSEDED             | SUPERSEDED           | SUPERSEDED             | SUPERSEDED        | SUPERSEDED
replay    | 2 RETIRED     | *   | SUPERSEDED             | SUPERSEDED           | SUPERSEDED             | SUPERSEDED        | SUPERSEDED
record    | 0 RESERVED    | *   | CONFLICT               | RECORDED>ALLOCATED   | CONFLICT               | CONFLICT          | CONFLICT
record    | 0 REPLAYABLE  | *   | ALREADY_RECORDED       | CONFLICT             | CONFLICT               | CONFLICT          | CONFLICT
record    | 0 REPLAYED    | *   | CONFLICT               | RECORDED>ALLOCATED   | CONFLICT               | CONFLICT          | CONFLICT
record    | 0 RETIRED     | *   | ALREADY_RECORDED       | CONFLICT             | CONFLICT               | CONFLICT          | CONFLICT
record    | 2 ALLOCATED   | *   | CONFLICT               | CONFLICT             | ALREADY_RECORDED       | CONFLICT          | CONFLICT
record    | 2 CONFIRMED   | *   | CONFLICT               | CONFLICT             | ALREADY_RECORDED       | CONFLICT          | CONFLICT
record    | 2 ABANDONED   | *   | CONFLICT               | CONFLICT             | ALREADY_RECORDED       | CONFLICT          | CONFLICT
record    | 2 REPLAYABLE  | *   | CONFLICT               | CONFLICT             | ALREADY_RECORDED       | CONFLICT          | CONFLICT
record    | 2 REPLAYED    | *   | CONFLICT               | CONFLICT             | CONFLICT               | RECORDED>ALLOCATED| CONFLICT
record    | 2 DEAD        | *   | CONFLICT               | CONFLICT             | ALREADY_RECORDED       | CONFLICT          | CONFLICT
record    | 2 RETIRED     | *   | CONFLICT               | CONFLICT             | ALREADY_RECORDED       | CONFLICT          | CONFLICT
hand_back | 0 RESERVED    | *   | HANDED_BACK>REPLAYABLE | =                    | =                      | =                 | =
hand_back | 0 REPLAYABLE  | *   | SUPERSEDED             | =                    | =                      | =                 | =
hand_back | 0 REPLAYED    | *   | HANDED_BACK>REPLAYABLE | =                    | =                      | =                 | =
hand_back | 0 RETIRED     | *   | SUPERSEDED             | =                    | =                      | =                 | =
hand_back | 2 ALLOCATED   | *   | SUPERSEDED             | =                    | =                      | =                 | =
hand_back | 2 CONFIRMED   | *   | SUPERSEDED             | =                    | =                      | =                 | =
hand_back | 2 ABANDONED   | *   | SUPERSEDED             | =                    | =                      | =                 | =
hand_back | 2 REPLAYABLE  | *   | SUPERSEDED             | =                    | =                      | =                 | =
hand_back | 2 REPLAYED    | *   | HANDED_BACK>REPLAYABLE | =                    | =                      | =                 | =
hand_back | 2 DEAD        | *   | SUPERSEDED             | =                    | =                      | =                 | =
hand_back | 2 RETIRED     | *   | SUPERSEDED             | =                    | =                      | =                 | =
recover   | 0 RESERVED    | *   | RECOVERED>ALLOCATED    | =                    | =                      | =                 | =
recover   | 0 REPLAYABLE  | *   | SUPERSEDED             | =                    | =                      | =                 | =
recover   | 0 REPLAYED    | *   | RECOVERED>ALLOCATED    | =                    | =                      | =                 | =
recover   | 0 RETIRED     | *   | SUPERSEDED             | =                    | =                      | =                 | =
recover   | 2 ALLOCATED   | *   | SUPERSEDED             | =                    | =                      | =                 | =
recover   | 2 CONFIRMED   | *   | SUPERSEDED             | =                    | =                      | =                 | =
recover   | 2 ABANDONED   | *   | SUPERSEDED             | =                    | =                      | =                 | =
recover   | 2 REPLAYABLE  | *   | SUPERSEDED             | =                    | =                      | =                 | =
recover   | 2 REPLAYED    | *   | RECOVERED>ALLOCATED    | =                    | =                      | =                 | =
recover   | 2 DEAD        | *   | SUPERSEDED             | =                    | =                      | =                 | =
recover   | 2 RETIRED     | *   | SUPERSEDED             | =                    | =                      | =                 | =
repool    | 0 RESERVED    | *   | SUPERSEDED             | =                    | =                      | =                 | =
repool    | 0 REPLAYABLE  | no  | NOT_DUE                | =                    | =                      | =                 | =
repool    | 0 REPLAYABLE  | yes | REPLAYABLE>REPLAYABLE  | =                    | =                      | =                 | =
repool    | 0 REPLAYED    | *   | SUPERSEDED             | =                    | =                      | =                 | =
repool    | 0 RETIRED     | *   | SUPERSEDED             | =                    | =                      | =                 | =
repool    | 2 ALLOCATED   | *   | SUPERSEDED             | =                    | =                      | =                 | =
repool    | 2 CONFIRMED   | *   | SUPERSEDED             | =                    | =                      | =                 | =
repool    | 2 ABANDONED   | *   | SUPERSEDED             | =                    | =                      | =                 | =
repool    | 2 REPLAYABLE  | no  | NOT_DUE                | =                    | =                      | =                 | =
repool    | 2 REPLAYABLE  | yes | REPLAYABLE>REPLAYABLE  | =                    | =                      | =                 | =
repool    | 2 REPLAYED    | *   | SUPERSEDED             | =                    | =                      | =                 | =
repool    | 2 DEAD        | *   | SUPERSEDED             | =                    | =                      | =                 | =
repool    | 2 RETIRED     | *   | SUPERSEDED             | =                    | =                      | =                 | =
claim     | 0 RESERVED    | *   | SUPERSEDED             | =                    | =                      | =                 | =
claim     | 0 REPLAYABLE  | *   | CLAIMED>REPLAYED       | =                    | =                      | =                 | =
claim     | 0 REPLAYED    | *   | SUPERSEDED             | =                    | =                      | =                 | =
claim     | 0 RETIRED     | *   | SUPERSEDED             | =                    | =                      | =                 | =
claim     | 2 ALLOCATED   | *   | SUPERSEDED             | =                    | =                      | =                 | =
claim     | 2 CONFIRMED   | *   | SUPERSEDED             | =                    | =                      | =                 | =
claim     | 2 ABANDONED   | *   | SUPERSEDED             | =                    | =                      | =                 | =
claim     | 2 REPLAYABLE  | no  | NOT_DUE                | =                    | =                      | =                 | =
claim     | 2 REPLAYABLE  | yes | CLAIMED>REPLAYED       | =                    | =                      | =                 | =
claim     | 2 REPLAYED    | *   | SUPERSEDED             | =                    | =                      | =                 | =
claim     | 2 DEAD        | *   | SUPERSEDED             | =                    | =                      | =                 | =
claim     | 2 RETIRED     | *   | SUPERSEDED             | =                    | =                      | =                 | =
extend    | 0 RESERVED    | *   | PENDING                | PENDING                | NOT_FOUND              | NOT_FOUND              | NOT_FOUND
extend    | 0 REPLAYABLE  | *   | NOT_FOUND              | =                      | =                      | =                      | =
extend    | 0 REPLAYED    | *   | PENDING                | PENDING                | NOT_FOUND              | NOT_FOUND              | NOT_FOUND
extend    | 0 RETIRED     | *   | NOT_FOUND              | =                      | =                      | =                      | =
extend    | 2 ALLOCATED   | no  | TICKET_REQUIRED        | STALE                  | EXTENDED>ALLOCATED     | NOT_FOUND              | NOT_FOUND
extend    | 2 ALLOCATED   | yes | TICKET_REQUIRED        | STALE                  | TOO_LATE               | NOT_FOUND              | NOT_FOUND
extend    | 2 CONFIRMED   | *   | TICKET_REQUIRED        | STALE                  | ALREADY_CONFIRMED      | NOT_FOUND              | NOT_FOUND
extend    | 2 ABANDONED   | *   | TICKET_REQUIRED        | STALE                  | TOO_LATE               | NOT_FOUND              | NOT_FOUND
extend    | 2 REPLAYABLE  | *   | TICKET_REQUIRED        | STALE                  | TOO_LATE               | NOT_FOUND              | NOT_FOUND
extend    | 2 DEAD        | *   | TICKET_REQUIRED        | STALE                  | TOO_LATE               | NOT_FOUND              | NOT_FOUND
extend    | 2 RETIRED     | *   | TICKET_REQUIRED        | STALE                  | TOO_LATE               | NOT_FOUND              | NOT_FOUND
extend    | 2 REPLAYED    | *   | TICKET_REQUIRED        | STALE                  | TOO_LATE               | PENDING                | NOT_FOUND
found     | 0 RESERVED    | *   | SUPERSEDED             | =                      | =                      | =                      | =
found     | 0 REPLAYED    | *   | SUPERSEDED             | =                      | =                      | =                      | =
found     | 0 RETIRED     | *   | SUPERSEDED             | =                      | =                      | =                      | =
found     | 0 REPLAYABLE  | *   | SUPERSEDED             | =                      | =                      | =                      | =
found     | 2 ALLOCATED   | *   | SUPERSEDED             | SUPERSEDED             | SUPERSEDED             | SUPERSEDED             | SUPERSEDED
found     | 2 CONFIRMED   | *   | SUPERSEDED             | SUPERSEDED             | SUPERSEDED             | SUPERSEDED             | SUPERSEDED
found     | 2 ABANDONED   | *   | SUPERSEDED             | SUPERSEDED             | FOUND>CONFIRMED        | SUPERSEDED             | SUPERSEDED
found     | 2 REPLAYABLE  | *   | SUPERSEDED             | SUPERSEDED             | FOUND>CONFIRMED        | SUPERSEDED             | SUPERSEDED
found     | 2 REPLAYED    | *   | SUPERSEDED             | SUPERSEDED             | SUPERSEDED             | SUPERSEDED             | SUPERSEDED
found     | 2 DEAD        | *   | SUPERSEDED             | SUPERSEDED             | SUPERSEDED             | SUPERSEDED             | SUPERSEDED
found     | 2 RETIRED     | *   | SUPERSEDED             | SUPERSEDED             | SUPERSEDED             | SUPERSEDED             | SUPERSEDED
bury      | 0 RESERVED    | *   | SUPERSEDED             | =                      | =                      | =                      | =
bury      | 0 REPLAYABLE  | *   | SUPERSEDED             | =                      | =                      | =                      | =
bury      | 0 REPLAYED    | *   | SUPERSEDED             | =                      | =                      | =                      | =
bury      | 0 RETIRED     | *   | SUPERSEDED             | =                      | =                      | =                      | =
bury      | 2 ALLOCATED   | *   | SUPERSEDED             | SUPERSEDED             | SUPERSEDED             | SUPERSEDED             | SUPERSEDED
bury      | 2 CONFIRMED   | *   | SUPERSEDED             | SUPERSEDED             | SUPERSEDED             | SUPERSEDED             | SUPERSEDED
bury      | 2 ABANDONED   | *   | SUPERSEDED             | SUPERSEDED             | DEAD>DEAD              | SUPERSEDED             | SUPERSEDED
bury      | 2 REPLAYABLE  | *   | SUPERSEDED             | SUPERSEDED             | DEAD>DEAD              | SUPERSEDED             | SUPERSEDED
bury      | 2 REPLAYED    | *   | SUPERSEDED             | SUPERSEDED             | SUPERSEDED             | SUPERSEDED             | SUPERSEDED
bury      | 2 DEAD        | *   | SUPERSEDED             | SUPERSEDED             | ALREADY_DEAD           | SUPERSEDED             | SUPERSEDED
bury      | 2 RETIRED     | *   | SUPERSEDED             | SUPERSEDED             | SUPERSEDED             | SUPERSEDED             | SUPERSEDED
requeue   | 0 RESERVED    | *   | NOT_DEAD               | =                      | =                      | =                      | =
requeue   | 0 REPLAYABLE  | *   | NOT_DEAD               | =                      | =                      | =                      | =
requeue   | 0 REPLAYED    | *   | NOT_DEAD               | =                      | =                      | =                      | =
requeue   | 0 RETIRED     | *   | NOT_DEAD               | =                      | =                      | =                      | =
requeue   | 2 ALLOCATED   | *   | NOT_DEAD               | NOT_DEAD               | NOT_DEAD               | NOT_DEAD               | NOT_DEAD
requeue   | 2 CONFIRMED   | *   | NOT_DEAD               | NOT_DEAD               | NOT_DEAD               | NOT_DEAD               | NOT_DEAD
requeue   | 2 ABANDONED   | *   | NOT_DEAD               | NOT_DEAD               | NOT_DEAD               | NOT_DEAD               | NOT_DEAD
requeue   | 2 REPLAYABLE  | *   | NOT_DEAD               | NOT_DEAD               | NOT_DEAD               | NOT_DEAD               | NOT_DEAD
requeue   | 2 REPLAYED    | *   | NOT_DEAD               | NOT_DEAD               | NOT_DEAD               | NOT_DEAD               | NOT_DEAD
requeue   | 2 DEAD        | *   | NOT_DEAD               | NOT_DEAD               | REQUEUED>ABANDONED     | NOT_DEAD               | NOT_DEAD
requeue   | 2 RETIRED     | *   | NOT_DEAD               | NOT_DEAD               | NOT_DEAD               | NOT_DEAD               | NOT_DEAD
write_off | 0 RESERVED    | *   | NOT_DEAD               | =                      | =                      | =                      | =
write_off | 0 REPLAYABLE  | *   | NOT_DEAD               | =                      | =                      | =                      | =
write_off | 0 REPLAYED    | *   | NOT_DEAD               | =                      | =                      | =                      | =
write_off | 0 RETIRED     | *   | NOT_DEAD               | =                      | =                      | =                      | =
write_off | 2 ALLOCATED   | *   | NOT_DEAD               | NOT_DEAD               | NOT_DEAD               | NOT_DEAD               | NOT_DEAD
write_off | 2 CONFIRMED   | *   | NOT_DEAD               | NOT_DEAD               | NOT_DEAD               | NOT_DEAD               | NOT_DEAD
write_off | 2 ABANDONED   | *   | NOT_DEAD               | NOT_DEAD               | NOT_DEAD               | NOT_DEAD               | NOT_DEAD
write_off | 2 REPLAYABLE  | *   | NOT_DEAD               | NOT_DEAD               | NOT_DEAD               | NOT_DEAD               | NOT_DEAD
write_off | 2 REPLAYED    | *   | NOT_DEAD               | NOT_DEAD               | NOT_DEAD               | NOT_DEAD               | NOT_DEAD
write_off | 2 DEAD        | *   | NOT_DEAD               | NOT_DEAD               | WRITTEN_OFF>RETIRED    | NOT_DEAD               | NOT_DEAD
write_off | 2 RETIRED     | *   | NOT_DEAD               | NOT_DEAD               | NOT_DEAD               | NOT_DEAD               | NOT_DEAD
take      | 0 RESERVED    | *   | SUPERSEDED             | =                      | =                      | =                      | =
take      | 0 REPLAYABLE  | *   | SUPERSEDED             | =                      | =                      | =                      | =
take      | 0 REPLAYED    | *   | SUPERSEDED             | =                      | =                      | =                      | =
take      | 0 RETIRED     | *   | SUPERSEDED             | =                      | =                      | =                      | =
take      | 2 ALLOCATED   | no  | SUPERSEDED             | =                      | =                      | =                      | =
take      | 2 ALLOCATED   | yes | SUPERSEDED             | SUPERSEDED             | TAKEN>ALLOCATED        | SUPERSEDED             | SUPERSEDED
take      | 2 CONFIRMED   | *   | SUPERSEDED             | =                      | =                      | =                      | =
take      | 2 ABANDONED   | no  | SUPERSEDED             | =                      | =                      | =                      | =
take      | 2 ABANDONED   | yes | SUPERSEDED             | SUPERSEDED             | TAKEN>ABANDONED        | SUPERSEDED             | SUPERSEDED
take      | 2 REPLAYABLE  | *   | SUPERSEDED             | =                      | =                      | =                      | =
take      | 2 REPLAYED    | *   | SUPERSEDED             | =                      | =                      | =                      | =
take      | 2 DEAD        | *   | SUPERSEDED             | =                      | =                      | =                      | =
take      | 2 RETIRED     | *   | SUPERSEDED             | =                      | =                      | =                      | =
retime    | 0 RESERVED    | *   | SUPERSEDED             | =                      | =                      | =                      | =
retime    | 0 REPLAYABLE  | *   | SUPERSEDED             | =                      | =                      | =                      | =
retime    | 0 REPLAYED    | *   | SUPERSEDED             | =                      | =                      | =                      | =
retime    | 0 RETIRED     | *   | SUPERSEDED             | =                      | =                      | =                      | =
retime    | 2 ALLOCATED   | no  | RETIMED>ALLOCATED      | =                      | =                      | =                      | =
retime    | 2 ALLOCATED   | yes | UNCHANGED              | =                      | =                      | =                      | =
retime    | 2 CONFIRMED   | *   | SUPERSEDED             | =                      | =                      | =                      | =
retime    | 2 ABANDONED   | *   | UNCHANGED              | =                      | =                      | =                      | =
retime    | 2 REPLAYABLE  | *   | SUPERSEDED             | =                      | =                      | =                      | =
retime    | 2 REPLAYED    | *   | SUPERSEDED             | =                      | =                      | =                      | =
retime    | 2 DEAD        | *   | SUPERSEDED             | =                      | =                      | =                      | =
retime    | 2 RETIRED     | *   | SUPERSEDED             | =                      | =                      | =                      | =
shift     | 0 RESERVED    | *   | SUPERSEDED             | =                      | =                      | =                      | =
shift     | 0 REPLAYABLE  | *   | SUPERSEDED             | =                      | =                      | =                      | =
shift     | 0 REPLAYED    | *   | SUPERSEDED             | =                      | =                      | =                      | =
shift     | 0 RETIRED     | *   | SUPERSEDED             | =                      | =                      | =                      | =
shift     | 2 ALLOCATED   | no  | SUPERSEDED             | =                      | =                      | =                      | =
shift     | 2 ALLOCATED   | yes | SHIFTED>ALLOCATED      | =                      | =                      | =                      | =
shift     | 2 CONFIRMED   | *   | SUPERSEDED             | =                      | =                      | =                      | =
shift     | 2 ABANDONED   | no  | SUPERSEDED             | =                      | =                      | =                      | =
shift     | 2 ABANDONED   | yes | SHIFTED>ABANDONED      | =                      | =                      | =                      | =
shift     | 2 REPLAYABLE  | *   | SUPERSEDED             | =                      | =                      | =                      | =
shift     | 2 REPLAYED    | *   | SUPERSEDED             | =                      | =                      | =                      | =
shift     | 2 DEAD        | *   | SUPERSEDED             | =                      | =                      | =                      | =
shift     | 2 RETIRED     | *   | SUPERSEDED             | =                      | =                      | =                      | =
track     | 0 RESERVED    | *   | SUPERSEDED             | =                      | =                      | =                      | =
track     | 0 REPLAYABLE  | *   | SUPERSEDED             | =                      | =                      | =                      | =
track     | 0 REPLAYED    | *   | SUPERSEDED             | =                      | =                      | =                      | =
track     | 0 RETIRED     | *   | SUPERSEDED             | =                      | =                      | =                      | =
track     | 2 ALLOCATED   | *   | SUPERSEDED             | =                      | =                      | =                      | =
track     | 2 CONFIRMED   | *   | SUPERSEDED             | =                      | =                      | =                      | =
track     | 2 ABANDONED   | *   | SUPERSEDED             | =                      | =                      | =                      | =
track     | 2 REPLAYABLE  | *   | SUPERSEDED             | =                      | =                      | =                      | =
track     | 2 REPLAYED    | *   | SUPERSEDED             | =                      | =                      | =                      | =
track     | 2 DEAD        | *   | SUPERSEDED             | =                      | =                      | =                      | =
track     | 2 RETIRED     | *   | SUPERSEDED             | =                      | =                      | =                      | =
untrack   | 0 RESERVED    | *   | SUPERSEDED             | =                      | =                      | =                      | =
untrack   | 0 REPLAYABLE  | *   | SUPERSEDED             | =                      | =                      | =                      | =
untrack   | 0 REPLAYED    | *   | SUPERSEDED             | =                      | =                      | =                      | =
untrack   | 0 RETIRED     | *   | SUPERSEDED             | =                      | =                      | =                      | =
untrack   | 2 ALLOCATED   | *   | SUPERSEDED             | SUPERSEDED             | UNTRACKED>ALLOCATED    | SUPERSEDED             | SUPERSEDED
untrack   | 2 CONFIRMED   | *   | SUPERSEDED             | =                      | =                      | =                      | =
untrack   | 2 ABANDONED   | *   | SUPERSEDED             | SUPERSEDED             | UNTRACKED>ABANDONED    | SUPERSEDED             | SUPERSEDED
untrack   | 2 REPLAYABLE  | *   | SUPERSEDED             | =                      | =                      | =                      | =
untrack   | 2 REPLAYED    | *   | SUPERSEDED             | =                      | =                      | =                      | =
untrack   | 2 DEAD        | *   | SUPERSEDED             | =                      | =                      | =                      | =
untrack   | 2 RETIRED     | *   | SUPERSEDED             | =                      | =                      | =                      | =
release   | 0 RESERVED    | *   | SUPERSEDED             | =                      | =                      | =                      | =
release   | 0 REPLAYABLE  | *   | SUPERSEDED             | =                      | =                      | =                      | =
release   | 0 REPLAYED    | *   | SUPERSEDED             | =                      | =                      | =                      | =
release   | 0 RETIRED     | *   | SUPERSEDED             | =                      | =                      | =                      | =
release   | 2 ALLOCATED   | *   | SUPERSEDED             | =                      | =                      | =                      | =
release   | 2 CONFIRMED   | *   | SUPERSEDED             | =                      | =                      | =                      | =
release   | 2 ABANDONED   | *   | SUPERSEDED             | =                      | =                      | =                      | =
release   | 2 REPLAYABLE  | *   | SUPERSEDED             | =                      | =                      | =                      | =
release   | 2 REPLAYED    | *   | SUPERSEDED             | =                      | =                      | =                      | =
release   | 2 DEAD        | *   | SUPERSEDED             | =                      | =                      | =                      | =
release   | 2 RETIRED     | *   | SUPERSEDED             | =                      | =                      | =                      | =
doubt     | 0 RESERVED    | *   | DEAD>DEAD              | =                      | =                      | =                      | =
doubt     | 0 REPLAYABLE  | *   | DEAD>DEAD              | =                      | =                      | =                      | =
doubt     | 0 REPLAYED    | *   | DEAD>DEAD              | =                      | =                      | =                      | =
doubt     | 0 RETIRED     | *   | SUPERSEDED             | =                      | =                      | =                      | =
doubt     | 2 ALLOCATED   | *   | DEAD>DEAD              | =                      | =                      | =                      | =
doubt     | 2 CONFIRMED   | *   | SUPERSEDED             | =                      | =                      | =                      | =
doubt     | 2 ABANDONED   | *   | DEAD>DEAD              | =                      | =                      | =                      | =
doubt     | 2 REPLAYABLE  | *   | DEAD>DEAD              | =                      | =                      | =                      | =
doubt     | 2 REPLAYED    | *   | DEAD>DEAD              | =                      | =                      | =                      | =
doubt     | 2 DEAD        | *   | DEAD>DEAD              | =                      | =                      | =                      | =
doubt     | 2 RETIRED     | *   | SUPERSEDED             | =                      | =                      | =                      | =
`

func TestEveryCommandOnEveryState(t *testing.T) {
	type cell struct {
		kind  sequence.Kind
		state sequence.State
		life  int32
		due   bool
		asked int32
	}
	want := map[cell]string{}
	for _, line := range strings.Split(strings.TrimSpace(matrix), "\n")[1:] {
		fields := strings.Split(line, "|")
		for i := range fields {
			fields[i] = strings.TrimSpace(fields[i])
		}
		require.Len(t, fields, 8, line)
		var life int32
		var name string
		_, err := fmt.Sscanf(fields[1], "%d %s", &life, &name)
		require.NoError(t, err, line)
		for asked := range int32(5) {
			answer := fields[3+asked]
			if answer == "=" {
				answer = fields[3]
			}
			for _, due := range []bool{false, true} {
				if fields[2] == "*" || fields[2] == "yes" == due {
					want[cell{kindNamed(t, fields[0]), stateNamed(t, name), life, due, asked}] = answer
				}
			}
		}
	}

	walked := 0
	for _, kind := range sequence.Kinds {
		for _, state := range sequence.States {
			for _, life := range []int32{0, 2} {
				if !canStand(state, life) {
					continue
				}
				for _, due := range []bool{false, true} {
					for asked := range int32(5) {
						c := cell{kind, state, life, due, asked}
						answer, ok := want[c]
						require.True(t, ok, "the matrix has no cell for %+v", c)
						before := row(state, life, due)
						d := sequence.Decide(rules, before, command(kind, asked), now)
						got := d.Outcome.String()
						if d.Changed {
							got += ">" + d.Number.State.String()
							require.Equal(t, before.Version+1, d.Number.Version, "%+v", c)
						} else {
							require.Equal(t, before, d.Number, "%+v", c)
						}
						require.Equal(t, answer, got, "%s of life %d on %s of life %d, due %t", kind, asked, state, life, due)
						walked++
					}
				}
			}
		}
	}
	require.Len(t, want, walked, "the matrix has cells for rows that cannot stand")
}

// canStand says which states a number that was never handed out, or was, can be in.
func canStand(s sequence.State, life int32) bool {
	switch s {
	case sequence.Reserved:
		return life == 0
	case sequence.Replayable, sequence.Replayed, sequence.Retired:
		return true
	case sequence.Allocated, sequence.Confirmed, sequence.Abandoned, sequence.Dead:
		return life > 0
	}
	return false
}

func kindNamed(t *testing.T, name string) sequence.Kind {
	for _, k := range sequence.Kinds {
		if k.String() == name {
			return k
		}
	}
	t.Fatalf("no kind is called %q", name)
	return 0
}

func stateNamed(t *testing.T, name string) sequence.State {
	for _, s := range sequence.States {
		if s.String() == name {
			return s
		}
	}
	t.Fatalf("no state is called %q", name)
	return 0
}

func TestRecord(t *testing.T) {
	t.Run("a first hand-out begins life 1 with a full confirm timeout", func(t *testing.T) {
		c := command(sequence.Record, 1)
		c.BizKey = "o-9"
		got := sequence.Decide(rules, row(sequence.Reserved, 0, false), c, now).Number
		require.Equal(t, sequence.Number{
			ID: 7, BizType: "ORDER", SeqNo: "A-000001", Value: 1, Life: 1, BatchID: batch, State: sequence.Allocated,
			Tracked: true, BizKey: "o-9", IssuedTime: now, Deadline: now.Add(rules.ConfirmTimeout), Version: 11,
		}, got)
	})
	t.Run("a hand-out after an abandonment counts as a replay and keeps nothing of the old life", func(t *testing.T) {
		got := sequence.Decide(rules, row(sequence.Replayed, 2, false), command(sequence.Record, 3), now).Number
		require.Equal(t, sequence.Number{
			ID: 7, BizType: "ORDER", SeqNo: "A-000001", Value: 1, Life: 3, Replays: 2, BatchID: batch, State: sequence.Allocated,
			Tracked: true, IssuedTime: now, Deadline: now.Add(rules.ConfirmTimeout), Version: 11,
		}, got)
	})
	t.Run("a number that was pooled without having been handed out is no replay", func(t *testing.T) {
		got := sequence.Decide(rules, row(sequence.Replayed, 0, false), command(sequence.Record, 1), now).Number
		require.Zero(t, got.Replays)
	})
	t.Run("a number whose caller left is recorded in its window", func(t *testing.T) {
		c := command(sequence.Record, 1)
		c.CallerGone = true
		d := sequence.Decide(rules, row(sequence.Reserved, 0, false), c, now)
		require.Equal(t, sequence.OutcomeRecorded, d.Outcome)
		require.Equal(t, sequence.Abandoned, d.Number.State)
		require.Equal(t, int32(1), d.Number.Life)
		require.Equal(t, now.Add(rules.SafetyWindow), d.Number.Deadline)
		require.Equal(t, sequence.ReasonCallerGone, d.Number.Reason)
	})
	t.Run("what another issuer or another batch holds is a conflict", func(t *testing.T) {
		for _, c := range []sequence.Command{
			{Kind: sequence.Record, Ticket: sequence.Ticket{Life: 1}, Owner: "issuer-2", BatchID: batch},
			{Kind: sequence.Record, Ticket: sequence.Ticket{Life: 1}, Owner: me, BatchID: "batch-2"},
		} {
			d := sequence.Decide(rules, row(sequence.Reserved, 0, false), c, now)
			require.Equal(t, sequence.OutcomeConflict, d.Outcome)
			require.False(t, d.Changed)
		}
	})
	t.Run("a life that stands already gets its biz key where it has none", func(t *testing.T) {
		n := row(sequence.Allocated, 2, false)
		n.BizKey = ""
		c := command(sequence.Record, 2)
		c.BizKey = "o-9"
		d := sequence.Decide(rules, n, c, now)
		require.Equal(t, sequence.OutcomeAlreadyRecorded, d.Outcome)
		require.Equal(t, "o-9", d.Number.BizKey)
		require.Equal(t, n.Deadline, d.Number.Deadline)
	})
}

func TestALifeIsOfTheTraceThatBeganIt(t *testing.T) {
	c := command(sequence.Record, 3)
	c.Trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	before := row(sequence.Replayed, 2, false)
	before.Trace = "00-11111111111111111111111111111111-2222222222222222-01"
	begun := sequence.Decide(rules, before, c, now).Number
	require.Equal(t, c.Trace, begun.Trace)
	require.Equal(t, c.Trace, sequence.Decide(rules, begun, command(sequence.Abandon, 3), now).Number.Trace, "it stays so")
	untraced := sequence.Decide(rules, before, command(sequence.Record, 3), now).Number
	require.Empty(t, untraced.Trace, "not that of the life before")

	recovered := sequence.Decide(rules, before, command(sequence.Recover, 0), now).Number
	require.Empty(t, recovered.Trace, "nobody knows whose it is")
	require.Equal(t, c.Trace, sequence.Decide(rules, recovered, c, now).Number.Trace, "until the record comes late")
}

func TestRecoverBeginsTheLifeThatMayHaveBeenHandedOut(t *testing.T) {
	c := command(sequence.Recover, 0)
	c.Lease = 10 * time.Second
	got := sequence.Decide(rules, row(sequence.Replayed, 2, false), c, now).Number
	require.Equal(t, sequence.Number{
		ID: 7, BizType: "ORDER", SeqNo: "A-000001", Value: 1, Life: 3, Replays: 1, BatchID: batch, State: sequence.Allocated,
		IssuedTime: now, Deadline: now.Add(rules.ConfirmTimeout + c.Lease), Version: 11, Reason: sequence.ReasonRecovered,
	}, got, "it counts as no replay")

	late := command(sequence.Record, 3)
	late.BizKey = "o-9"
	d := sequence.Decide(rules, got, late, now)
	require.Equal(t, sequence.OutcomeAlreadyRecorded, d.Outcome, "the record that comes late finds its life")
	require.Equal(t, "o-9", d.Number.BizKey)
}

func TestHeldNumbersAreTheirOwners(t *testing.T) {
	for _, state := range []sequence.State{sequence.Reserved, sequence.Replayed} {
		for _, c := range []sequence.Command{
			{Kind: sequence.HandBack, Owner: "issuer-2", BatchID: batch},
			{Kind: sequence.HandBack, Owner: me, BatchID: "batch-2"},
			{Kind: sequence.Recover, Owner: "issuer-2"},
		} {
			d := sequence.Decide(rules, row(state, 0, false), c, now)
			require.Equal(t, sequence.OutcomeSuperseded, d.Outcome)
			require.False(t, d.Changed)
		}
	}
}

func TestConfirm(t *testing.T) {
	confirm := func(n sequence.Number, life int32, bizKey string) sequence.Decision {
		c := command(sequence.Confirm, life)
		c.BizKey = bizKey
		return sequence.Decide(rules, n, c, now)
	}
	t.Run("the first confirm decides which business object holds the number", func(t *testing.T) {
		d := confirm(row(sequence.Allocated, 2, true), 2, "o-2")
		require.Equal(t, sequence.OutcomeConfirmed, d.Outcome)
		require.Equal(t, "o-2", d.Number.BizKey)
		require.Equal(t, now, d.Number.ConfirmedTime)
		require.Zero(t, d.Number.Deadline)
	})
	t.Run("a second object on the same life is a conflict", func(t *testing.T) {
		d := confirm(row(sequence.Confirmed, 2, false), 2, "o-2")
		require.Equal(t, sequence.OutcomeConflict, d.Outcome)
	})
	t.Run("the same object, or none named, repeats without harm", func(t *testing.T) {
		for _, key := range []string{"o-1", ""} {
			require.Equal(t, sequence.OutcomeAlreadyConfirmed, confirm(row(sequence.Confirmed, 2, false), 2, key).Outcome)
		}
	})
	t.Run("without a life it means the only life there was", func(t *testing.T) {
		d := confirm(row(sequence.Allocated, 1, false), 0, "")
		require.Equal(t, sequence.OutcomeConfirmed, d.Outcome)
	})
}

func TestConfirmAndAbandonAgreeInBothOrders(t *testing.T) {
	for _, order := range [][2]sequence.Kind{{sequence.Confirm, sequence.Abandon}, {sequence.Abandon, sequence.Confirm}} {
		n := row(sequence.Allocated, 2, false)
		for _, kind := range order {
			n = sequence.Decide(rules, n, command(kind, 2), now).Number
		}
		require.Equal(t, sequence.Confirmed, n.State, "%s then %s", order[0], order[1])
	}
}

func TestSafetyWindow(t *testing.T) {
	abandoned := sequence.Decide(rules, row(sequence.Allocated, 2, false), command(sequence.Abandon, 2), now)
	require.Equal(t, now.Add(rules.SafetyWindow), abandoned.Number.Deadline)
	require.Equal(t, rules.SafetyWindow, abandoned.Wait)
	end := abandoned.Number.Deadline

	t.Run("is not a microsecond shorter", func(t *testing.T) {
		early := sequence.Decide(rules, abandoned.Number, command(sequence.Replay, 2), end.Add(-time.Microsecond))
		require.Equal(t, sequence.OutcomeNotDue, early.Outcome)
		require.Equal(t, time.Microsecond, early.Wait)
		require.Equal(t, sequence.OutcomeReplayable, sequence.Decide(rules, abandoned.Number, command(sequence.Replay, 2), end).Outcome)
	})
	raised := rules
	raised.SafetyWindow *= 2
	t.Run("that was raised holds a waiting number longer", func(t *testing.T) {
		d := sequence.Decide(raised, abandoned.Number, command(sequence.Replay, 2), end)
		require.Equal(t, sequence.OutcomeNotDue, d.Outcome)
		require.Equal(t, rules.SafetyWindow, d.Wait)
	})
	t.Run("that was raised reaches a pooled number", func(t *testing.T) {
		pooled := sequence.Decide(rules, abandoned.Number, command(sequence.Replay, 2), end).Number
		require.Equal(t, sequence.OutcomeNotDue, sequence.Decide(raised, pooled, command(sequence.Claim, 0), end).Outcome)
		require.Equal(t, sequence.OutcomeClaimed, sequence.Decide(rules, pooled, command(sequence.Claim, 0), end).Outcome)
	})
}

func TestReplayCapRetires(t *testing.T) {
	n := row(sequence.Abandoned, 2, true)
	n.Replays = int32(rules.MaxReplays)
	d := sequence.Decide(rules, n, command(sequence.Replay, 2), now)
	require.Equal(t, sequence.OutcomeRetired, d.Outcome)
	require.Equal(t, sequence.Retired, d.Number.State)
	require.Equal(t, sequence.ReasonReplayCap, d.Number.Reason)
}

func TestExtend(t *testing.T) {
	extend := func(n sequence.Number, more time.Duration) sequence.Decision {
		c := command(sequence.Extend, 2)
		c.For = more
		return sequence.Decide(rules, n, c, now)
	}
	n := row(sequence.Allocated, 2, false)
	n.IssuedTime = now.Add(-time.Minute)
	d := extend(n, time.Hour)
	require.Equal(t, now.Add(time.Hour), d.Number.Deadline)
	require.Equal(t, time.Hour, d.Wait)
	require.False(t, extend(d.Number, time.Hour).Changed, "repeated, it gives no more")
	require.Equal(t, now.Add(time.Hour), extend(d.Number, time.Second).Number.Deadline, "and takes nothing away")
	most := rules.ConfirmTimeout + rules.ExtendLimit - time.Minute
	require.Equal(t, sequence.OutcomeExtended, extend(n, most).Outcome)
	require.Equal(t, sequence.OutcomeOverLimit, extend(n, most+time.Microsecond).Outcome)
	require.Equal(t, sequence.OutcomeUnchanged, sequence.Decide(rules, d.Number, command(sequence.Retime, 2), now).Outcome,
		"new settings do not take it back")
}

func TestSilenceThatIsLeftToAPerson(t *testing.T) {
	strict := rules
	strict.OnTimeout = sequence.OnTimeoutDeadLetter
	d := sequence.Decide(strict, row(sequence.Allocated, 2, true), command(sequence.Check, 2), now)
	require.Equal(t, sequence.OutcomeDead, d.Outcome)
	require.Equal(t, sequence.CauseNotConfirmed, d.Cause)
	require.Equal(t, sequence.Dead, d.Number.State)
	require.Equal(t, sequence.OutcomeUnchanged, sequence.Decide(strict, row(sequence.Allocated, 2, false), command(sequence.Check, 2), now).Outcome)
}

func TestRepool(t *testing.T) {
	const most = sequence.MaxPoolLosses
	for _, tt := range []struct {
		name   string
		life   int32
		absent bool
		losses int32 // in a row, before
		want   sequence.Outcome
		after  int32
	}{
		{"in the pool", 2, false, 3, sequence.OutcomeReplayable, 0},
		{"in the pool at last", 2, false, most, sequence.OutcomeReplayable, 0},
		{"in the pool, never handed out", 0, false, most, sequence.OutcomeReplayable, 0},
		{"lost", 2, true, 0, sequence.OutcomeReplayable, 1},
		{"lost as often as it may be", 2, true, most - 1, sequence.OutcomeReplayable, most},
		{"lost once more", 2, true, most, sequence.OutcomeDead, most},
		{"lost once more, never handed out", 0, true, most, sequence.OutcomeReplayable, most + 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n, c := row(sequence.Replayable, tt.life, true), command(sequence.Repool, tt.life)
			n.RetryTimes, c.Absent = tt.losses, tt.absent
			d := sequence.Decide(rules, n, c, now)
			require.Equal(t, tt.want, d.Outcome)
			require.Equal(t, tt.after, d.Number.RetryTimes)
			if tt.want == sequence.OutcomeDead {
				require.Equal(t, sequence.Dead, d.Number.State)
				require.Equal(t, sequence.CausePoolAway, d.Cause)
				require.Equal(t, sequence.ReasonPoolLost, d.Event.Reason)
				return
			}
			require.Equal(t, now.Add(sequence.PoolCheckAfter), d.Number.Deadline)
			n.Deadline = now.Add(time.Second)
			require.Equal(t, sequence.OutcomeNotDue, sequence.Decide(rules, n, c, now).Outcome, "a push that somebody else makes counts once")
		})
	}
	back := row(sequence.Replayed, 2, true)
	back.RetryTimes = most
	require.Zero(t, sequence.Decide(rules, back, command(sequence.HandBack, 2), now).Number.RetryTimes, "it was in the pool: somebody claimed it")
}

func TestBury(t *testing.T) {
	c := command(sequence.Bury, 2)
	c.Cause, c.Reason = sequence.CausePoolAway, "connection refused"
	d := sequence.Decide(rules, row(sequence.Replayable, 2, false), c, now)
	require.Equal(t, sequence.CausePoolAway, d.Cause)
	require.Equal(t, "connection refused", d.Number.Reason)
	require.Equal(t, &sequence.Event{
		Ticket: d.Number.Ticket(), Actor: sequence.ActorLacuna, Outcome: sequence.OutcomeDead,
		From: sequence.Replayable, To: sequence.Dead, Reason: "connection refused",
	}, d.Event)
	require.Equal(t, sequence.OutcomeSuperseded, sequence.Decide(rules, row(sequence.Allocated, 2, false), c, now).Outcome, "its holder may still confirm")
	c.Cause = sequence.CauseCancelled
	require.Equal(t, sequence.OutcomeDead, sequence.Decide(rules, row(sequence.Allocated, 2, false), c, now).Outcome, "an operator may say otherwise")
}

func TestRequeue(t *testing.T) {
	c := command(sequence.Requeue, 2)
	c.Actor, c.Reason = "mia", "Redis is back"
	for name, tt := range map[string]struct {
		abandoned time.Time
		window    time.Time // the abandonment that its window counts from
		wait      time.Duration
	}{
		"straight to replay where a window has passed in this life": {now.Add(-time.Hour), now.Add(-time.Hour), 0},
		"through a full window where none has passed":               {now.Add(-time.Minute), now, rules.SafetyWindow},
		"through a full window where it was never abandoned":        {time.Time{}, now, rules.SafetyWindow},
	} {
		t.Run(name, func(t *testing.T) {
			n := row(sequence.Dead, 2, false)
			n.AbandonedTime = tt.abandoned
			d := sequence.Decide(rules, n, c, now)
			require.Equal(t, tt.window, d.Number.AbandonedTime)
			require.Equal(t, tt.wait, d.Wait)
			require.Zero(t, d.Number.RetryTimes)
			require.Equal(t, "mia", d.Event.Actor)
			require.Equal(t, "Redis is back", d.Event.Reason)
			require.Equal(t, sequence.OutcomeNotDead, sequence.Decide(rules, d.Number, c, now).Outcome, "twice is the same as once")
		})
	}
}

func TestAProbeComesBeforeReplay(t *testing.T) {
	asking := rules
	asking.Probe = sequence.Probe{DSN: "shop", Query: "SELECT 1 FROM orders WHERE number = ?", Timeout: time.Second}
	n, c := row(sequence.Abandoned, 2, true), command(sequence.Replay, 2)
	d := sequence.Decide(asking, n, c, now)
	require.Equal(t, sequence.OutcomeUnprobed, d.Outcome)
	require.False(t, d.Changed)
	require.Equal(t, asking.Probe, d.Probe)
	c.Probed = true
	require.Equal(t, sequence.OutcomeReplayable, sequence.Decide(asking, n, c, now).Outcome)
	n.Replays = int32(rules.MaxReplays)
	c.Probed = false
	require.Equal(t, sequence.OutcomeUnprobed, sequence.Decide(asking, n, c, now).Outcome, "a number in use is no gap")
	d = sequence.Decide(asking, n, command(sequence.Found, 2), now)
	require.Equal(t, sequence.ReasonFound, d.Number.Reason)
	require.Equal(t, now, d.Number.ConfirmedTime)
}

func TestTake(t *testing.T) {
	n, c := row(sequence.Abandoned, 2, true), command(sequence.Take, 2)
	c.Taker = "compensation-1"
	taken := sequence.Decide(rules, n, c, now)
	require.Equal(t, now.Add(rules.SafetyWindow+time.Minute), taken.Number.TakenUntil)
	require.Equal(t, "compensation-1", taken.Number.TakenBy)
	require.Equal(t, sequence.OutcomeTaken, sequence.Decide(rules, taken.Number, c, taken.Number.TakenUntil.Add(-1)).Outcome, "its taker repeats itself")
	c.Taker = "compensation-2"
	require.Equal(t, sequence.OutcomeAlreadyTaken, sequence.Decide(rules, taken.Number, c, taken.Number.TakenUntil.Add(-1)).Outcome)
	release := command(sequence.Release, 2)
	release.Taker = c.Taker
	require.False(t, sequence.Decide(rules, taken.Number, release, now).Changed, "somebody else has it")
	release.Taker = "compensation-1"
	released := sequence.Decide(rules, taken.Number, release, now)
	require.Equal(t, sequence.OutcomeReleased, released.Outcome)
	require.Equal(t, sequence.OutcomeTaken, sequence.Decide(rules, released.Number, c, now).Outcome)
	require.False(t, sequence.Decide(rules, released.Number, release, now).Changed, "twice is the same as once")
	require.Equal(t, sequence.OutcomeTaken, sequence.Decide(rules, taken.Number, c, taken.Number.TakenUntil).Outcome, "whoever took it has gone")
	for _, kind := range []sequence.Kind{sequence.Confirm, sequence.Replay, sequence.Bury, sequence.Found} {
		d := sequence.Decide(rules, taken.Number, command(kind, 2), now)
		require.True(t, d.Changed, kind)
		require.Zero(t, d.Number.TakenUntil, kind)
		require.Empty(t, d.Number.TakenBy, kind)
	}
}

func TestRetime(t *testing.T) {
	window := func(w time.Duration, n sequence.Number) sequence.Decision {
		changed := rules
		changed.SafetyWindow, changed.ConfirmTimeout = w, w
		return sequence.Decide(changed, n, command(sequence.Retime, 2), now)
	}
	waiting := row(sequence.Abandoned, 2, false)
	waiting.AbandonedTime, waiting.Deadline = now.Add(-time.Minute), now.Add(time.Minute)
	require.Equal(t, now.Add(4*time.Minute), window(5*time.Minute, waiting).Number.Deadline, "longer: it waits longer")
	shorter := window(90*time.Second, waiting)
	require.Equal(t, now.Add(30*time.Second), shorter.Number.Deadline)
	require.Equal(t, 30*time.Second, sequence.Decide(sequence.BizType{SafetyWindow: 90 * time.Second}, shorter.Number, command(sequence.Check, 2), now).Wait)
	require.Equal(t, now, window(time.Second, waiting).Number.Deadline, "never into the past")

	taken := waiting
	taken.TakenUntil = now.Add(time.Hour)
	require.Zero(t, window(90*time.Second, taken).Number.TakenUntil, "whoever took it waits for the old deadline")

	held := row(sequence.Allocated, 2, false)
	held.IssuedTime, held.Deadline = now.Add(-time.Minute), now.Add(time.Minute)
	require.Equal(t, now.Add(4*time.Minute), window(5*time.Minute, held).Number.Deadline)
	require.Equal(t, now.Add(30*time.Second), window(90*time.Second, held).Number.Deadline)
	held.Reason = sequence.ReasonRecovered
	require.Equal(t, sequence.OutcomeUnchanged, window(90*time.Second, held).Outcome, "a lease longer than others, for its answer was later")
	require.Equal(t, now.Add(4*time.Minute), window(5*time.Minute, held).Number.Deadline)
}

func TestEvents(t *testing.T) {
	for _, state := range []sequence.State{sequence.Abandoned, sequence.Replayable, sequence.Dead, sequence.Retired} {
		d := sequence.Decide(rules, row(state, 2, false), command(sequence.Confirm, 2), now)
		require.Equal(t, sequence.ActorCaller, d.Event.Actor)
		require.Equal(t, state, d.Event.From)
	}
	for kind, state := range map[sequence.Kind]sequence.State{sequence.Confirm: sequence.Allocated, sequence.Abandon: sequence.Allocated, sequence.Replay: sequence.Abandoned} {
		d := sequence.Decide(rules, row(state, 2, true), command(kind, 2), now)
		require.True(t, d.Changed)
		require.Nil(t, d.Event, "the ordinary course of a life is in the row and in t_seq_life")
	}
}
