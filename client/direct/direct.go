// Package direct is the second door to a number: a service with a Temporal client of its own settles by
// signalling the number's run, also while Lacuna's API is away.
//
// Temporal holds the command from then on, and the run carries it out within its next wake; both doors
// come to the same end. Any SDK can send what this package sends: SignalWithStart of the workflow type
// NumberLifecycle with the ticket as workflow ID, the task queue lacuna-lifecycle, the reuse policy
// REJECT_DUPLICATE, the input {"ticket": "ORDER~A-000001~1"}, and the signal "confirm" or "abandon" with
// the payload {"bizKey": "…"}, which may be left out. A plain signal is read when the run next wakes: at
// its number's deadline, if nothing else wakes it.
//
// Whoever may signal in the namespace may settle its numbers.
package direct

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	temporal "go.temporal.io/sdk/client"

	"github.com/lacuna-seq/lacuna/client"
	"github.com/lacuna-seq/lacuna/sequence"
	"github.com/lacuna-seq/lacuna/workflows"
)

// settingFor is how long a biz type's setting is believed.
const settingFor = 5 * time.Second

// askFor is how long the API is asked before what it said last holds.
const askFor = 500 * time.Millisecond

// ErrOff is a biz type that lets no service signal for itself; nothing was sent.
var ErrOff = errors.New("its biz type does not take signals from services (directSignals is off): use the API")

// Door settles by signals. It is safe for concurrent use.
type Door struct {
	temporal temporal.Client
	api      *client.Client

	mu       sync.Mutex
	settings map[string]setting
}

// setting is what a biz type allows, and since when that is known.
type setting struct {
	on   bool
	read time.Time
}

// New makes a Door beside the client of the API, which says what a biz type allows and answers for runs
// that have closed.
func New(t temporal.Client, api *client.Client) *Door {
	return &Door{temporal: t, api: api, settings: map[string]setting{}}
}

// Confirm says that the number is in business use. OutcomeAccepted means that Temporal holds the command.
// Where the number's run has closed its end is known already, and the answer is the API's, as of
// client.Confirm. The error wraps ErrOff or sequence.ErrInvalid, or is Temporal's: then nothing was taken.
func (d *Door) Confirm(ctx context.Context, ticket, bizKey string) (sequence.Outcome, error) {
	if err := sequence.ValidateBizKey(bizKey); err != nil {
		return 0, err
	}
	closed, err := d.signal(ctx, ticket, workflows.SignalConfirm, workflows.CommandSignal{BizKey: bizKey})
	if err != nil {
		return 0, err
	}
	if closed {
		return d.api.Confirm(ctx, ticket, client.ByBizKey(bizKey))
	}
	return sequence.OutcomeAccepted, nil
}

// Abandon says that the number will not be used, like Confirm.
func (d *Door) Abandon(ctx context.Context, ticket string) (sequence.Outcome, error) {
	closed, err := d.signal(ctx, ticket, workflows.SignalAbandon, workflows.CommandSignal{})
	if err != nil {
		return 0, err
	}
	if closed {
		return d.api.Abandon(ctx, ticket)
	}
	return sequence.OutcomeAccepted, nil
}

// signal sends it, and starts the run where it is missing.
func (d *Door) signal(ctx context.Context, text, name string, payload workflows.CommandSignal) (closed bool, err error) {
	ticket, err := sequence.ParseTicket(text)
	if err != nil {
		return false, err
	}
	if err := d.allowed(ctx, ticket.BizType); err != nil {
		return false, fmt.Errorf("%s of %s by signal: %w", name, ticket, err)
	}
	n := sequence.Number{BizType: ticket.BizType, SeqNo: ticket.SeqNo, Life: ticket.Life}
	_, err = d.temporal.SignalWithStartWorkflow(ctx, text, name, payload, workflows.WakeOptions(n), workflows.NumberLifecycleName, workflows.Input(n))
	var started *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &started) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s of %s by signal: nothing was taken: %w", name, ticket, err)
	}
	return false, nil
}

// allowed asks the API what the biz type allows. While the API is away, what it said last holds, and the
// default where it never said anything.
func (d *Door) allowed(ctx context.Context, bizType string) error {
	d.mu.Lock()
	known, ok := d.settings[bizType]
	d.mu.Unlock()
	if !ok || time.Since(known.read) > settingFor {
		asking, cancel := context.WithTimeout(ctx, askFor)
		defer cancel()
		on, err := d.api.DirectSignals(asking, bizType)
		switch {
		case err == nil:
			known.on = on
		case errors.Is(err, sequence.ErrNotFound):
			return err
		case !ok:
			known.on = true // as it is where nobody said otherwise
		}
		known.read = time.Now()
		d.mu.Lock()
		d.settings[bizType] = known
		d.mu.Unlock()
	}
	if !known.on {
		return ErrOff
	}
	return nil
}
