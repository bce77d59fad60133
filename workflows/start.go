package workflows

import (
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/lacuna-seq/lacuna/sequence"
)

// StartSlack is added to a run's start delay, so that it wakes to a deadline that has passed.
const StartSlack = time.Second

// CommandSignal is the payload of the signals confirm and abandon, as JSON.
type CommandSignal struct {
	// BizKey is the business object that uses the number: at most 128 bytes. Only confirm reads it.
	BizKey string `json:"bizKey,omitempty"`
}

// StartOptions are those of a run that sleeps until the number's deadline: no workflow task is
// spent on it before, unless SignalWithStart wakes it. left is the time to the deadline.
//
// The workflow ID is the ticket, and an ID that was used once is refused with "already started":
// a life has one run, and a late signal cannot bring a settled number back to life.
func StartOptions(n sequence.Number, left time.Duration) client.StartWorkflowOptions {
	o := WakeOptions(n)
	o.StartDelay = left + StartSlack
	return o
}

// WakeOptions are those of SignalWithStart: it starts the run if it is missing, and wakes one that
// sleeps out its start delay, which a plain signal does not. Of the number only biz type, seq no
// and life must be known.
func WakeOptions(n sequence.Number) client.StartWorkflowOptions {
	attributes := []temporal.SearchAttributeUpdate{
		AttributeBizType.ValueSet(n.BizType),
		AttributeSeqNo.ValueSet(n.SeqNo),
		AttributeSeqState.ValueSet(sequence.Allocated.String()),
	}
	if n.BatchID != "" {
		attributes = append(attributes, AttributeBatchID.ValueSet(n.BatchID))
	}
	return client.StartWorkflowOptions{
		ID:                                       n.Ticket().String(),
		TaskQueue:                                LifecycleTaskQueue,
		WorkflowIDReusePolicy:                    enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		StaticSummary:                            summary(n),
		TypedSearchAttributes:                    temporal.NewSearchAttributes(attributes...),
	}
}

// Input is what the run of a number starts with.
func Input(n sequence.Number) LifecycleInput {
	return LifecycleInput{Ticket: n.Ticket().String()}
}

// summary is the line that an operator reads in the list of runs.
func summary(n sequence.Number) string {
	s := fmt.Sprintf("%s %s, life %d", n.BizType, n.SeqNo, n.Life)
	if !n.Deadline.IsZero() {
		s += ", held until " + n.Deadline.UTC().Format("2006-01-02 15:04:05") + " UTC"
	}
	return s
}
