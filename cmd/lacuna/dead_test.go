package main

import (
	"os/user"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

func deadOrders(n int64) *fake {
	return &fake{
		letters: []*lacunav1.DeadLetter{{
			Ticket: "ORDER~A-000001~1", Cause: lacunav1.DeadCause_DEAD_CAUSE_POOL_AWAY, Reason: "the pool is away", DeadTime: at("10:00:00"), StateBefore: lacunav1.State_STATE_ABANDONED, RunUrl: "http://ui/1",
		}},
		counts: []*lacunav1.DeadLetterCount{{BizType: "ORDER", Cause: lacunav1.DeadCause_DEAD_CAUSE_POOL_AWAY, Count: n}},
	}
}

func TestDeadList(t *testing.T) {
	f := deadOrders(7)
	out, err := f.lacuna(t, "dead", "list", "--cause", "pool-away", "--biz-type", "ORDER")
	require.NoError(t, err)
	require.Equal(t, []string{"ORDER~A-000001~1", "POOL_AWAY", "2026-12-01T10:00:00.000Z", "-", "ABANDONED", "0", "the", "pool", "is", "away", "http://ui/1"}, fields(out)[1])
	require.Contains(t, out, "POOL_AWAY of ORDER: 7 dead letters\n")
	require.Equal(t, lacunav1.DeadCause_DEAD_CAUSE_POOL_AWAY, last[*lacunav1.ListDeadLettersRequest](t, f).GetFilter().GetCause())

	out, err = (&fake{}).lacuna(t, "dead", "list")
	require.NoError(t, err)
	require.Contains(t, out, "no dead letters\n")
}

func TestDeadRequeue(t *testing.T) {
	t.Run("says how far it is, and ends with what there was", func(t *testing.T) {
		f := deadOrders(5)
		f.requeues = []*lacunav1.RequeueDeadLettersResponse{{Requeued: 2, Left: 3}, {Requeued: 2, Skipped: []string{"ORDER~A-000009~1"}}}
		out, err := f.lacuna(t, "dead", "requeue", "--biz-type", "ORDER", "--cause", "POOL_AWAY", "--rate", "1/s", "--actor", "mia", "--reason", "Redis is back", "--yes")
		require.NoError(t, err)
		require.Equal(t, "requeued 2 of 5\nrequeued 4 of 5\nno dead letters any more when their turn came: ORDER~A-000009~1\n"+
			"none has failed again so far; `lacuna dead list --failed-again` lists those that will\n", out)
		asked := last[*lacunav1.RequeueDeadLettersRequest](t, f)
		require.True(t, proto.Equal(&lacunav1.RequeueDeadLettersRequest{
			Filter: &lacunav1.DeadLetterFilter{BizType: "ORDER", Cause: lacunav1.DeadCause_DEAD_CAUSE_POOL_AWAY}, Rate: 1, Limit: 2, Actor: "mia", Reason: "Redis is back",
		}, asked), "%v", asked)
	})
	t.Run("lists what failed again", func(t *testing.T) {
		f := deadOrders(1)
		f.requeues = []*lacunav1.RequeueDeadLettersResponse{{Requeued: 1}}
		f.again = f.letters
		out, err := f.lacuna(t, "dead", "requeue", "ORDER~A-000001~1", "--yes", "--wait", "1m")
		require.ErrorIs(t, err, errFindings)
		require.Contains(t, out, "1 number failed again:\n")
		me, err := user.Current()
		require.NoError(t, err)
		require.Equal(t, me.Username, last[*lacunav1.RequeueDeadLettersRequest](t, f).GetActor())
	})
	t.Run("asks a person", func(t *testing.T) {
		f := deadOrders(5)
		_, questions, err := f.lacunaAt(t, "n\n", true, "dead", "requeue", "--all", "--actor", "mia")
		require.ErrorIs(t, err, errNo)
		require.Equal(t, "Requeue 5 dead letters as mia: each goes through a safety window, unless one has passed, and is then issued again? [y/N] ", questions)
		_, _, err = f.lacunaAt(t, "", true, "dead", "requeue", "--all")
		require.ErrorIs(t, err, errNo, "who says nothing does not agree")
		f.requeues = []*lacunav1.RequeueDeadLettersResponse{{Requeued: 5}}
		_, _, err = f.lacunaAt(t, "y\n", true, "dead", "requeue", "--all")
		require.NoError(t, err)
	})
	t.Run("refuses where nobody can be asked", func(t *testing.T) {
		_, err := deadOrders(5).lacuna(t, "dead", "requeue", "--all")
		require.ErrorContains(t, err, "add --yes")
	})
	t.Run("only looks", func(t *testing.T) {
		out, err := deadOrders(5).lacuna(t, "dead", "requeue", "--all", "--dry-run")
		require.NoError(t, err)
		require.Equal(t, "5 dead letters to requeue\n", out)
	})
	t.Run("says what was done before it failed", func(t *testing.T) {
		f := deadOrders(5)
		f.requeues = []*lacunav1.RequeueDeadLettersResponse{{Requeued: 2}}
		_, err := f.lacuna(t, "dead", "requeue", "--all", "--yes")
		require.ErrorContains(t, err, "with 2 of 5 done")
		require.ErrorContains(t, err, "the ledger is away")
	})
	t.Run("needs to know which, and how fast", func(t *testing.T) {
		_, err := deadOrders(5).lacuna(t, "dead", "requeue", "--yes")
		require.ErrorContains(t, err, "say which")
		_, err = deadOrders(5).lacuna(t, "dead", "requeue", "--all", "--rate", "0/s")
		require.ErrorContains(t, err, "1/s to 10000/s")
	})
}

func TestDeadWriteOff(t *testing.T) {
	f := &fake{off: &lacunav1.WriteOffDeadLettersResponse{WrittenOff: 1}}
	args := []string{"dead", "write-off", "ORDER~A-000001~1", "ORDER~A-000002~1", "ORDER~A-000001~1", "--actor", "mia"}
	_, err := f.lacuna(t, args...)
	require.ErrorContains(t, err, "--reason")
	args = append(args, "--reason", "printed by hand")
	_, questions, err := f.lacunaAt(t, "\n", true, args...)
	require.ErrorIs(t, err, errNo)
	require.Contains(t, questions, "Write off 2 numbers as mia: a gap each, never issued again? [y/N]")
	out, err := f.lacuna(t, append(args, "--yes")...)
	require.ErrorIs(t, err, errFindings)
	require.Equal(t, "1 number written off\n1 were no dead letters: lacuna get TICKET says what they are\n", out)
	asked := last[*lacunav1.WriteOffDeadLettersRequest](t, f)
	require.Equal(t, []string{"ORDER~A-000001~1", "ORDER~A-000002~1"}, asked.GetFilter().GetTickets())
	require.Equal(t, "printed by hand", asked.GetReason())
}
