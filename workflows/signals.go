package workflows

import (
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/lacuna-seq/lacuna/activities"
	"github.com/lacuna-seq/lacuna/sequence"
)

// maxChecks bounds the signals after which a run reads no more checks. A confirm or an abandon
// is always read.
const maxChecks = 100

// inbox is the run's signals. Confirm and abandon come on channels of their own, whose mutual order
// the SDK does not keep; it is not needed: a confirm is final and rescues what was abandoned, so
// both orders end confirmed.
type inbox struct {
	confirm, abandon, check workflow.ReceiveChannel

	commands  []activities.Command // read and not settled yet
	received  int
	malformed int
}

func newInbox(ctx workflow.Context) *inbox {
	return &inbox{
		confirm: workflow.GetSignalChannel(ctx, SignalConfirm),
		abandon: workflow.GetSignalChannel(ctx, SignalAbandon),
		check:   workflow.GetSignalChannel(ctx, SignalCheck),
	}
}

// drain reads every signal that has come.
func (i *inbox) drain() {
	for {
		var payload converter.RawValue
		switch {
		case i.confirm.ReceiveAsync(&payload):
			i.accept(sequence.Confirm, payload)
		case i.abandon.ReceiveAsync(&payload):
			i.accept(sequence.Abandon, payload)
		case i.readsChecks() && i.check.ReceiveAsync(&payload):
			i.received++
		default:
			return
		}
	}
}

// take gives the commands that are to be settled now.
func (i *inbox) take() []activities.Command {
	commands := i.commands
	i.commands = nil
	return commands
}

// keep puts back commands that could not be settled, to be taken again.
func (i *inbox) keep(commands ...activities.Command) { i.commands = append(i.commands, commands...) }

// watch wakes the selector when a signal comes; drain reads it.
func (i *inbox) watch(s workflow.Selector) {
	none := func(workflow.ReceiveChannel, bool) {}
	s.AddReceive(i.confirm, none).AddReceive(i.abandon, none)
	if i.readsChecks() {
		s.AddReceive(i.check, none)
	}
}

func (i *inbox) readsChecks() bool { return i.received < maxChecks }

// accept keeps a well-formed command. A malformed one is counted and changes nothing.
func (i *inbox) accept(kind sequence.Kind, payload converter.RawValue) {
	i.received++
	bizKey, ok := decode(payload.Payload())
	if !ok {
		i.malformed++
		return
	}
	i.commands = append(i.commands, activities.Command{Kind: kind.String(), BizKey: bizKey})
}

// ReadCommand reads a signal of a run's history as its run would have; false for one that is no
// confirm or abandon, or malformed.
func ReadCommand(signal string, input *commonpb.Payloads) (activities.Command, bool) {
	if signal != SignalConfirm && signal != SignalAbandon {
		return activities.Command{}, false
	}
	var payload *commonpb.Payload
	if p := input.GetPayloads(); len(p) > 0 {
		payload = p[0]
	}
	bizKey, ok := decode(payload)
	return activities.Command{Kind: signal, BizKey: bizKey}, ok
}

// decode reads a CommandSignal; no payload at all, as typed in the UI, is an empty one.
func decode(payload *commonpb.Payload) (bizKey string, ok bool) {
	if payload == nil || len(payload.GetData()) == 0 {
		return "", true
	}
	var signal CommandSignal
	if err := converter.GetDefaultDataConverter().FromPayload(payload, &signal); err != nil {
		return "", false
	}
	return signal.BizKey, sequence.ValidateBizKey(signal.BizKey) == nil
}
