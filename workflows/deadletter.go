package workflows

import (
	"errors"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/lacuna-seq/lacuna/activities"
	"github.com/lacuna-seq/lacuna/sequence"
)

// ErrorDeadLetter is the type of the error that a run fails with whose number waits for a person, so that
// the Temporal UI lists the dead letters among the failed runs.
const ErrorDeadLetter = "DeadLetter"

// ResetActor stands in events for whoever pressed Reset in the Temporal UI, which does not tell.
const ResetActor = "operator, by reset in Temporal"

const reasonReset = "its run was reset to its first workflow task"

// Changes of the lifecycle that a run which began before them does not make.
const changeDeadLetter = "dead-letter"

// bury leaves the number to a person, since the run was cancelled or has failed for good. It gives the error
// with which the run closes.
func (l *lifecycle) bury(failure error) error {
	l.ctx, _ = workflow.NewDisconnectedContext(l.ctx)
	if workflow.GetVersion(l.ctx, changeDeadLetter, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return failure
	}
	in := activities.DeadLetterInput{Ticket: l.state.Ticket, Cause: sequence.CausePoolAway, Reason: failure.Error()}
	var failed *temporal.ApplicationError
	switch {
	case temporal.IsCanceledError(failure):
		in.Cause, in.Reason = sequence.CauseCancelled, sequence.ReasonCancelled
	case errors.As(failure, &failed):
		if failed.Type() == activities.ErrorProbeAway {
			in.Cause = sequence.CauseProbeAway
		}
		in.Reason = failed.Message()
		if failed.HasDetails() {
			_ = failed.Details(&in.Retries) // an error of before has none
		}
	}
	var buried activities.DeadLetterResult
	if err := workflow.ExecuteActivity(patientSettle(l.ctx, "leave the number to a person"), activities.DeadLetterName, in).Get(l.ctx, &buried); err != nil {
		return err
	}
	l.buried = buried.Outcome == sequence.OutcomeDead || buried.Outcome == sequence.OutcomeAlreadyDead
	l.movedOn = !l.buried && in.Cause != sequence.CauseCancelled
	if in.Cause == sequence.CauseCancelled {
		return failure
	}
	return deadLetter(in.Reason)
}

// buryAgain reports whether the row, which could not be buried, turned out to be this life's all the same: the
// record of its hand-out was on its way when the run was cancelled.
func (l *lifecycle) buryAgain(end *LifecycleResult) bool {
	return !l.buried && temporal.IsCanceledError(l.failure) && end.State == sequence.Allocated &&
		end.Outcome != sequence.OutcomeSuperseded && end.Outcome != sequence.OutcomeNotFound && l.looks < maxBurials &&
		workflow.GetVersion(l.ctx, changeDeadLetter, workflow.DefaultVersion, 1) != workflow.DefaultVersion
}

// maxBurials bounds the looks after which a cancelled run gives up on a row that it cannot bury.
const maxBurials = 100

func deadLetter(reason string) error {
	return temporal.NewNonRetryableApplicationError(reason, ErrorDeadLetter, nil)
}

// lift sends a dead number back on its way where an operator has reset its run to the first workflow task,
// and says whether it did: only at the first look, so that a run which is reset to its last task repeats its
// ending, and a number that dies again, or by this very look, stays dead.
func (l *lifecycle) lift(settled activities.SettleResult) (bool, error) {
	if l.looks > 1 || settled.Outcome == sequence.OutcomeDead || !l.wasReset() {
		return false, nil
	}
	in := activities.RequeueInput{Ticket: l.state.Ticket, Actor: ResetActor, Reason: reasonReset}
	err := workflow.ExecuteActivity(patientSettle(l.ctx, "requeue the number"), activities.RequeueName, in).Get(l.ctx, nil)
	return err == nil, err
}

// forgetCancel lets a run that was reset go on although the one before was cancelled: the server repeats that
// request, which has had its effect, and takes no other one.
func (l *lifecycle) forgetCancel() {
	if l.ctx.Err() == nil || workflow.GetVersion(l.ctx, changeDeadLetter, workflow.DefaultVersion, 1) == workflow.DefaultVersion {
		return
	}
	if l.wasReset() {
		l.ctx, _ = workflow.NewDisconnectedContext(l.ctx)
	}
}

// wasReset reports whether this run was made by a reset. The answer is kept in the history: there the run's own
// ID is not.
func (l *lifecycle) wasReset() bool {
	if l.reset == nil {
		var reset bool
		err := workflow.SideEffect(l.ctx, func(ctx workflow.Context) any {
			info := workflow.GetInfo(ctx)
			return info.OriginalRunID != "" && info.WorkflowExecution.RunID != info.OriginalRunID
		}).Get(&reset)
		if err != nil {
			workflow.GetLogger(l.ctx).Error("it cannot be told whether this run was reset", "error", err)
		}
		l.reset = &reset
	}
	return *l.reset
}
