package workflows

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Names that stand in histories and in other programs, fixed apart from Go's names.
const (
	// NumberLifecycleName is the workflow type of one life of one number.
	NumberLifecycleName = "NumberLifecycle"
	// LifecycleTaskQueue is where the worker polls for lifecycles and their activities.
	LifecycleTaskQueue = "lacuna-lifecycle"

	// PatrolName is the workflow type of one round of the patrol.
	PatrolName = "Patrol"
	// PatrolTaskQueue is where the worker polls for the patrol and its activities.
	PatrolTaskQueue = "lacuna-patrol"
	// PatrolScheduleID is the patrol's schedule, and the workflow ID of its rounds.
	PatrolScheduleID = "lacuna-patrol"

	// CompensationName is the workflow type that finishes many numbers at once. It runs on PatrolTaskQueue.
	CompensationName   = "Compensation"
	compensationPrefix = "compensation" // of the workflow IDs

	// SignalConfirm says that the number is in business use. Its payload is a CommandSignal or nothing.
	SignalConfirm = "confirm"
	// SignalAbandon says that the number will not be used. Its payload is a CommandSignal or nothing.
	SignalAbandon = "abandon"
	// SignalCheck wakes the run to look at its row. It has no payload.
	SignalCheck = "check"

	// QueryState answers with a LifecycleState, from the run's first wake on.
	QueryState = "state"
)

// Search attributes, all keywords and set at the start, so that a run can be found from then on.
var (
	AttributeBizType  = temporal.NewSearchAttributeKeyKeyword("BizType")
	AttributeSeqNo    = temporal.NewSearchAttributeKeyKeyword("SeqNo")
	AttributeBatchID  = temporal.NewSearchAttributeKeyKeyword("BatchId")
	AttributeSeqState = temporal.NewSearchAttributeKeyKeyword("SeqState")
)

// SearchAttributes are the names that a namespace must know before a lifecycle can start.
func SearchAttributes() []string {
	return []string{AttributeBizType.GetName(), AttributeSeqNo.GetName(), AttributeBatchID.GetName(), AttributeSeqState.GetName()}
}

// Register adds the workflows to a worker under their names.
func Register(r worker.WorkflowRegistry) {
	r.RegisterWorkflowWithOptions(NumberLifecycle, workflow.RegisterOptions{Name: NumberLifecycleName})
	r.RegisterWorkflowWithOptions(Compensation, workflow.RegisterOptions{Name: CompensationName})
	r.RegisterWorkflowWithOptions(Patrol, workflow.RegisterOptions{Name: PatrolName})
}
