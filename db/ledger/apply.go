package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// MaxBatch is the most commands that one transaction carries out. At 500 rows the server is near
// its best rate, and the locks are held for some 10 ms.
const MaxBatch = 500

// maxUnknownCommits is how often Apply looks again after an answer to COMMIT was lost.
const maxUnknownCommits = 3

// errGuardMissed is a row that changed although it was locked. Reading and deciding again is right.
var errGuardMissed = errors.New("a row changed under its lock")

// Apply carries out the commands in transactions of at most MaxBatch and answers each in its
// place. Every command is decided by sequence.Decide under its row's lock, by the database's
// clock; several commands for one number are decided one after the other. A number without a row
// is OutcomeNotFound. What a decision leaves besides the row is written in the same transaction: a
// conflict, the life that a claim may end, a dead letter and what came of it, an event.
//
// An error means that nothing is known of a part of the commands; repeating them is always
// safe. It is a sequence.UnavailableError while the ledger is away.
func (l *Ledger) Apply(ctx context.Context, commands []sequence.Command) ([]sequence.Decision, error) {
	decisions := make([]sequence.Decision, 0, len(commands))
	for batch := range slices.Chunk(commands, MaxBatch) {
		if claims(batch) {
			l.recall(ctx, batch[0].Ticket.BizType)
		}
		decided, err := l.applyBatch(ctx, batch)
		if err != nil {
			return nil, classify(fmt.Sprintf("apply %d commands", len(commands)), err)
		}
		decisions = append(decisions, decided...)
	}
	return decisions, nil
}

// applyBatch carries out one batch, halves it where others hold its rows for too long, and
// finds out what became of it where the answer to its COMMIT was lost.
func (l *Ledger) applyBatch(ctx context.Context, commands []sequence.Command) ([]sequence.Decision, error) {
	var lost *application
	var behind *behindError
	for try := 1; ; try++ {
		a := &application{ctx: ctx, ledger: l, commands: commands, before: lost}
		err := l.inTx(ctx, a.run)
		switch {
		case err == nil:
			l.delays.observe(a.delays)
			l.observe(ctx, a.decisions)
			l.activity.add(a.moves)
			return a.decisions, nil
		case errors.Is(err, errCommitUnknown) && try <= maxUnknownCommits && ctx.Err() == nil:
			l.log.WarnContext(ctx, "the answer to COMMIT was lost; reading what became of it", "commands", len(commands), "error", err)
			lost = a
		case errors.Is(err, errGuardMissed) && try <= 3:
		case errors.As(err, &behind):
			// Deciding again, by the rules of a biz type that is stopped, tells what nobody can tell now.
			if err := l.settleBehind(ctx, err); a.claimant() != "" || try > 3 {
				return nil, err
			}
		case number(err) == errLockWaitTimeout && len(commands) > 1:
			first, err := l.applyBatch(ctx, commands[:len(commands)/2])
			if err != nil {
				return nil, err
			}
			second, err := l.applyBatch(ctx, commands[len(commands)/2:])
			return append(first, second...), err
		default:
			return nil, err
		}
	}
}

// application is one try at one batch.
type application struct {
	ctx       context.Context //nolint:containedctx // it lives for one transaction
	ledger    *Ledger
	commands  []sequence.Command
	before    *application // an earlier try whose COMMIT is unknown
	decisions []sequence.Decision
	rows      []changed
	archived  map[int64]bool // ids of rows that are read from, and written to, the archive

	// What the decisions leave besides the rows.
	lives     []sequence.Number
	conflicts []conflict
	deaths    []death
	restated  []death // of what was dead already, for another cause
	handled   []handled
	events    []sequence.Event

	// What the decisions ended and moved, counted after the commit.
	delays []delayKey
	moves  map[string]Moves
}

// key names a row; rows are locked in the order of their keys.
type key struct{ bizType, seqNo string }

func keyOf(t sequence.Ticket) key { return key{t.BizType, t.SeqNo} }

func compareKeys(a, b key) int {
	return cmp.Or(strings.Compare(a.bizType, b.bizType), strings.Compare(a.seqNo, b.seqNo))
}

func (a *application) run(tx *sql.Tx) error {
	a.decisions, a.rows = make([]sequence.Decision, len(a.commands)), nil
	if owner := a.claimant(); owner != "" {
		if err := lockIssuer(a.ctx, tx, owner); err != nil {
			return err
		}
		if err := a.ledger.checkTide(a.ctx, tx, a.commands[0].Ticket.BizType); err != nil {
			return err
		}
	}
	locked, err := a.lock(tx)
	if err != nil {
		return err
	}
	if a.before != nil && a.before.stands(locked) {
		a.decisions, a.rows, a.delays, a.moves = a.before.decisions, a.before.rows, a.before.delays, a.before.moves
		return nil
	}
	rules, now, err := rulesAndNow(a.ctx, tx, a.bizTypes())
	if err != nil {
		return err
	}
	onHold, err := a.onHold(tx)
	if err != nil {
		return err
	}
	current := make(map[key]*sequence.Number, len(locked))
	for _, n := range locked {
		if _, ok := rules[n.BizType]; !ok {
			return fmt.Errorf("number %s of %s has no row in t_seq_biz_type: restore its biz type", n.SeqNo, n.BizType)
		}
		current[key{n.BizType, n.SeqNo}] = &n
	}
	a.lives, a.conflicts, a.deaths, a.handled, a.events, a.delays, a.moves = nil, nil, nil, nil, nil, nil, map[string]Moves{}
	for i, c := range a.commands {
		n, ok := current[keyOf(c.Ticket)]
		if !ok {
			a.decisions[i] = sequence.Unknown(rules[c.Ticket.BizType], c)
			continue
		}
		c.OnHold = onHold
		was := *n
		d := sequence.Decide(rules[n.BizType], was, c, now)
		a.decisions[i], *n = d, d.Number
		a.note(was, c, d)
	}
	if err := a.checkUnknown(tx); err != nil {
		return err
	}
	for _, was := range locked {
		if is := *current[key{was.BizType, was.SeqNo}]; is != was {
			a.rows = append(a.rows, changed{was: was, is: is, archived: a.archived[was.ID]})
		}
	}
	if err := writeNumbers(a.ctx, tx, a.rows); err != nil {
		return err
	}
	if err := a.writeNotes(tx, now); err != nil {
		return err
	}
	return amend(a.ctx, tx, a.rows)
}

// checkUnknown asks whether the ledger has stepped back where it does not know what somebody was given.
func (a *application) checkUnknown(tx *sql.Tx) error {
	for i, d := range a.decisions {
		if d.Outcome == sequence.OutcomeNotFound && a.commands[i].Kind.FromHolder() {
			return a.ledger.checkTide(a.ctx, tx, a.commands[i].Ticket.BizType)
		}
	}
	return nil
}

// lock reads and locks the rows of the commands. What has no row in the log may have been archived: its row
// there is decided and written like any other. In that order no row that moves meanwhile is missed. Nothing
// that is archived can be claimed.
func (a *application) lock(tx *sql.Tx) ([]sequence.Number, error) {
	keys, clause := a.keys(), a.lockClause()
	locked, err := lockNumbers(a.ctx, tx, logTable, keys, clause)
	if err != nil || len(locked) == len(keys) || clause != forUpdate {
		return locked, err
	}
	found := make(map[key]bool, len(locked))
	for _, n := range locked {
		found[key{n.BizType, n.SeqNo}] = true
	}
	missing := slices.DeleteFunc(keys, func(k key) bool { return found[k] })
	archived, err := lockNumbers(a.ctx, tx, archiveTable, missing, clause)
	a.archived = make(map[int64]bool, len(archived))
	for _, n := range archived {
		a.archived[n.ID] = true
	}
	return append(locked, archived...), err
}

// note keeps what a decision leaves besides the row.
func (a *application) note(was sequence.Number, c sequence.Command, d sequence.Decision) {
	if kind, delay, ok := sequence.DelayOf(was, d); ok {
		a.delays = append(a.delays, delayKey{was.BizType, kind, sequence.DelayBucket(delay)})
	}
	if moves := a.moves[was.BizType]; d.Number.State != was.State {
		moves.note(was, d.Number)
		a.moves[was.BizType] = moves
	}
	switch {
	case d.Outcome == sequence.OutcomeClaimed && was.Life > 0:
		a.lives = append(a.lives, was)
	case d.Outcome == sequence.OutcomeConflict:
		a.conflicts = append(a.conflicts, conflict{asked: c, current: d.Number})
	case d.Outcome == sequence.OutcomeDead:
		if c.Kind == sequence.Bury {
			was.RetryTimes = c.Retries
		}
		if c.Kind == sequence.Doubt { // the letter is of the life that it begins
			was.Life, was.IssuedTime = d.Number.Life, d.Number.IssuedTime
		}
		dead := death{number: was, cause: d.Cause, reason: d.Number.Reason}
		if was.State == sequence.Dead {
			a.restated = append(a.restated, dead)
		} else {
			a.deaths = append(a.deaths, dead)
		}
	}
	if d.Event == nil {
		return
	}
	a.events = append(a.events, *d.Event)
	if was.State == sequence.Dead && d.Number.State != sequence.Dead {
		a.handle(keyOf(c.Ticket), d.Event.Actor, d.Outcome)
	}
}

// handle resolves a dead letter: one of this very batch, or one that stands in the table.
func (a *application) handle(k key, by string, resolution sequence.Outcome) {
	for i := range a.deaths {
		d := &a.deaths[i]
		if d.resolution == 0 && k == (key{d.number.BizType, d.number.SeqNo}) {
			d.by, d.resolution = by, resolution
			return
		}
	}
	a.handled = append(a.handled, handled{key: k, by: by, resolution: resolution})
}

func (a *application) writeNotes(tx *sql.Tx, now time.Time) error {
	if err := insertLives(a.ctx, tx, a.lives); err != nil {
		return err
	}
	if err := insertConflicts(a.ctx, tx, a.conflicts, now); err != nil {
		return err
	}
	if err := handleDeaths(a.ctx, tx, a.handled, now); err != nil { // of the letters before this batch's own
		return err
	}
	if err := insertDeaths(a.ctx, tx, a.deaths, now); err != nil {
		return err
	}
	if err := restateDeaths(a.ctx, tx, a.restated); err != nil {
		return err
	}
	return insertEvents(a.ctx, tx, a.events, now)
}

// stands reports whether the transaction of this try was committed: then at least one of the
// rows that it changed stands as it left it. Where others have moved all of them on since,
// deciding again is right too.
func (a *application) stands(locked []sequence.Number) bool {
	left := make(map[int64]sequence.Number, len(a.rows))
	for _, r := range a.rows {
		left[r.is.ID] = r.is
	}
	return slices.ContainsFunc(locked, func(n sequence.Number) bool { return left[n.ID] == n })
}

func (a *application) keys() []key {
	keys := make([]key, len(a.commands))
	for i, c := range a.commands {
		keys[i] = keyOf(c.Ticket)
	}
	slices.SortFunc(keys, compareKeys)
	return slices.Compact(keys)
}

func (a *application) bizTypes() []string {
	var names []string
	for _, k := range a.keys() {
		if len(names) == 0 || names[len(names)-1] != k.bizType {
			names = append(names, k.bizType)
		}
	}
	return names
}

// onHold is asked after the locks are held, as the time is, and only for what waits for a deadline.
func (a *application) onHold(tx *sql.Tx) (held bool, err error) {
	if !slices.ContainsFunc(a.commands, func(c sequence.Command) bool { return c.Kind.WaitsForDeadline() }) {
		return false, nil
	}
	if err := tx.QueryRowContext(a.ctx, queryOnHold).Scan(&held); err != nil {
		return false, fmt.Errorf("look whether deadlines are on hold: %w", err)
	}
	return held, nil
}

// claimant is the issuer that claims, empty in a batch without claims. All claims of a batch are of
// one issuer.
func (a *application) claimant() string {
	if i := slices.IndexFunc(a.commands, isClaim); i >= 0 {
		return a.commands[i].Owner
	}
	return ""
}

func isClaim(c sequence.Command) bool { return c.Kind == sequence.Claim }

func claims(commands []sequence.Command) bool { return slices.ContainsFunc(commands, isClaim) }

// lockClause lets a batch of claims pass over rows that somebody else is working on: such a
// number is being rescued or claimed, and is no loss.
func (a *application) lockClause() string {
	for _, c := range a.commands {
		if c.Kind != sequence.Claim {
			return forUpdate
		}
	}
	return forUpdate + " SKIP LOCKED"
}

const forUpdate = "FOR UPDATE"

// lockNumbers reads and locks the table's rows of the keys, which are sorted. The index is named so that
// rows are locked in its order whatever the optimizer thinks of the list.
func lockNumbers(ctx context.Context, tx *sql.Tx, table string, keys []key, clause string) ([]sequence.Number, error) {
	var locked []sequence.Number
	for len(keys) > 0 {
		n := 1
		for n < len(keys) && keys[n].bizType == keys[0].bizType {
			n++
		}
		args := make([]any, 0, n+1)
		args = append(args, keys[0].bizType)
		for _, k := range keys[:n] {
			args = append(args, k.seqNo)
		}
		query := "SELECT " + numberColumns + " FROM " + table + " FORCE INDEX (uk_biz_seq) WHERE biz_type = ? AND seq_no IN (" +
			placeholders(n) + ") ORDER BY seq_no " + clause
		rows, err := scanNumbers(tx.QueryContext(ctx, query, args...))
		if err != nil {
			return nil, fmt.Errorf("lock %d numbers of %s: %w", n, keys[0].bizType, err)
		}
		locked, keys = append(locked, rows...), keys[n:]
	}
	return locked, nil
}

// rulesAndNow reads the settings of the biz types and the database's time. It is asked after the
// locks are held, so that a wait for them does not make "now" old.
func rulesAndNow(ctx context.Context, tx *sql.Tx, names []string) (map[string]sequence.BizType, time.Time, error) {
	args := make([]any, len(names))
	for i, name := range names {
		args[i] = name
	}
	var now time.Time
	rows, err := tx.QueryContext(ctx, "SELECT UTC_TIMESTAMP(6), "+bizTypeColumns+bizTypeState+" FROM t_seq_biz_type WHERE name IN ("+placeholders(len(names))+")", args...)
	types, err := collect(rows, err, func(row row) (sequence.BizType, error) { return scanBizType(row, &now) })
	if err != nil {
		return nil, now, fmt.Errorf("read the rules of %s: %w", strings.Join(names, ", "), err)
	}
	rules := make(map[string]sequence.BizType, len(types))
	for _, b := range types {
		rules[b.Name] = b
	}
	return rules, now, nil
}
