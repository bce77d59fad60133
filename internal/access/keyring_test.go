package access_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/internal/access"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

// ring is a keyring on a ledger in memory, with a clock that the test moves.
type ring struct {
	*access.Keyring
	mu      sync.Mutex
	now     time.Time
	version access.Version
	tokens  []access.Token
	away    bool
	touched []int64
	excess  []access.Excess
}

var errAway = &sequence.UnavailableError{What: "the ledger is away"}

func newRing(t *testing.T) *ring {
	t.Helper()
	r := &ring{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	r.Keyring = access.NewKeyring(r)
	r.SetClock(func() time.Time { r.mu.Lock(); defer r.mu.Unlock(); return r.now })
	return r
}

// add makes a token and gives its header.
func (r *ring) add(t access.Token) (header string) {
	text, hash := access.NewText(t.Name)
	r.mu.Lock()
	defer r.mu.Unlock()
	t.ID, t.Hash = int64(len(r.tokens)+1), hash
	r.tokens = append(r.tokens, t)
	r.version.Count++
	return "Bearer " + text
}

func (r *ring) revoke(name string, revoked time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.tokens {
		if r.tokens[i].Name == name {
			r.tokens[i].RevokedTime = revoked
			r.version.Revoked++
		}
	}
}

func (r *ring) pass(d time.Duration) { r.mu.Lock(); defer r.mu.Unlock(); r.now = r.now.Add(d) }

func (r *ring) TokensVersion(context.Context) (access.Version, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away {
		return access.Version{}, errAway
	}
	return r.version, nil
}

func (r *ring) Tokens(context.Context) ([]access.Token, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away {
		return nil, errAway
	}
	return append([]access.Token(nil), r.tokens...), nil
}

func (r *ring) TouchTokens(_ context.Context, ids []int64) error {
	r.touched = append(r.touched, ids...)
	return nil
}

func (r *ring) AddExcess(_ context.Context, excess []access.Excess) error {
	if r.away {
		return errAway
	}
	r.excess = append(r.excess, excess...)
	return nil
}

func caller(name string) access.Token {
	return access.Token{Name: name, Role: access.RoleCaller, BizTypes: []string{"ORDER"}}
}

func TestAKeyringKnowsTheTokensOfTheLedger(t *testing.T) {
	r := newRing(t)
	_, err := r.Identify("Bearer x")
	require.ErrorIs(t, err, sequence.ErrUnavailable, "nobody is known before the ledger was read")
	require.NotErrorIs(t, err, access.ErrUnknown)

	shop := r.add(caller("shop"))
	require.NoError(t, r.Refresh(t.Context()))
	holder, err := r.Identify(shop)
	require.NoError(t, err)
	require.Equal(t, "shop", holder.Name)
	_, err = r.Identify("bearer  " + shop[len("Bearer "):] + " ")
	require.NoError(t, err)

	stranger, _ := access.NewText("stranger")
	forged, _ := access.NewText("shop")
	for header, says := range map[string]string{
		"":                       "has no token",
		"Basic c2hvcDpzZWNyZXQ=": "no bearer token",
		"Bearer":                 "no bearer token",
		"Bearer hunter2hunter2":  "no token of Lacuna's",
		shop[:len(shop)-1]:       "no token of Lacuna's",
		"Bearer " + stranger:     "is not known",
		"Bearer " + forged:       "is not known",
	} {
		_, err := r.Identify(header)
		require.ErrorIs(t, err, access.ErrUnknown, header)
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, "Authorization: Bearer")
		if len(header) > len("Bearer ") {
			require.NotContains(t, err.Error(), header[len("Bearer "):], "what was sent is not repeated")
		}
	}
}

// A caller must not learn which names exist.
func TestAnUnknownNameAndAWrongSecretAreOneAnswer(t *testing.T) {
	r := newRing(t)
	r.add(caller("shop"))
	require.NoError(t, r.Refresh(t.Context()))
	stranger, _ := access.NewText("stranger")
	forged, _ := access.NewText("shop")
	_, unknown := r.Identify("Bearer " + stranger)
	_, wrong := r.Identify("Bearer " + forged)
	require.EqualError(t, unknown, wrong.Error())
}

func TestRevokedAndExpiredTokensAreRefused(t *testing.T) {
	r := newRing(t)
	shop, brief := r.add(caller("shop")), caller("brief")
	brief.ExpireTime, brief.Left = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), time.Hour // by a clock that is far off
	until := r.add(brief)
	require.NoError(t, r.Refresh(t.Context()))
	r.pass(time.Hour - time.Second)
	_, err := r.Identify(until)
	require.NoError(t, err)
	r.pass(time.Second)
	_, err = r.Identify(until)
	require.ErrorContains(t, err, "the token brief has expired")

	r.revoke("shop", r.now)
	require.NoError(t, r.Refresh(t.Context()))
	_, err = r.Identify(shop)
	require.ErrorIs(t, err, access.ErrUnknown)
	require.ErrorContains(t, err, "the token shop was revoked")

	r.revoke("shop", time.Time{}) // a ledger that stepped back
	require.NoError(t, r.Refresh(t.Context()))
	_, err = r.Identify(shop)
	require.ErrorContains(t, err, "the token shop was revoked")
}

func TestALedgerThatIsAwayLocksNobodyOut(t *testing.T) {
	r := newRing(t)
	shop, gone := r.add(caller("shop")), r.add(caller("gone"))
	r.revoke("gone", r.now)
	require.NoError(t, r.Refresh(t.Context()))
	r.away = true
	r.pass(time.Hour)
	require.Error(t, r.Refresh(t.Context()))
	_, err := r.Identify(shop)
	require.NoError(t, err)
	_, err = r.Identify(gone)
	require.ErrorIs(t, err, access.ErrUnknown, "who was revoked stays out")
	late := r.add(caller("late"))
	r.away = false
	require.NoError(t, r.Refresh(t.Context()))
	_, err = r.Identify(late)
	require.NoError(t, err)
}

func TestWhatWasWrittenByHandIsReadWithinAMinute(t *testing.T) {
	r := newRing(t)
	shop := r.add(caller("shop"))
	require.NoError(t, r.Refresh(t.Context()))
	r.tokens[0].Role = access.RoleAdmin
	require.NoError(t, r.Refresh(t.Context()))
	holder, err := r.Identify(shop)
	require.NoError(t, err)
	require.Equal(t, access.RoleCaller, holder.Role)
	r.pass(time.Minute)
	require.NoError(t, r.Refresh(t.Context()))
	holder, err = r.Identify(shop)
	require.NoError(t, err)
	require.Equal(t, access.RoleAdmin, holder.Role)
}

func TestUseIsWrittenDownOnce(t *testing.T) {
	r := newRing(t)
	shop := r.add(caller("shop"))
	r.add(caller("idle"))
	require.NoError(t, r.Refresh(t.Context()))
	for range 3 {
		_, err := r.Identify(shop)
		require.NoError(t, err)
	}
	r.add(caller("new"))
	require.NoError(t, r.Refresh(t.Context()), "what was counted outlives a new reading")
	require.NoError(t, r.Touch(t.Context()))
	require.NoError(t, r.Touch(t.Context()))
	require.Equal(t, []int64{1}, r.touched)
}

func TestTheRateOfATokenIsBound(t *testing.T) {
	r := newRing(t)
	slow := caller("slow")
	slow.Rate = 10
	header := r.add(slow)
	require.NoError(t, r.Refresh(t.Context()))
	holder, err := r.Identify(header)
	require.NoError(t, err)
	for range 10 {
		require.NoError(t, holder.Call(r.now))
	}
	err = holder.Call(r.now)
	var busy *sequence.BusyError
	require.ErrorAs(t, err, &busy)
	require.Equal(t, 100*time.Millisecond, busy.RetryAfter)
	require.ErrorContains(t, err, "the token slow makes more than 10 calls a second")
	require.NoError(t, holder.Call(r.now.Add(busy.RetryAfter)))

	r.add(caller("new"))
	require.NoError(t, r.Refresh(t.Context()))
	holder, err = r.Identify(header)
	require.NoError(t, err)
	require.Error(t, holder.Call(r.now.Add(busy.RetryAfter)), "what was counted outlives a new reading")
}

func TestAbandonmentsOverTheBudgetAreTold(t *testing.T) {
	r := newRing(t)
	wild := caller("wild")
	wild.AbandonBudget = 100
	header := r.add(wild)
	require.NoError(t, r.Refresh(t.Context()))
	holder, err := r.Identify(header)
	require.NoError(t, err)
	excess := func(n int64) access.Excess { return access.Excess{Token: "wild", Budget: 100, Abandoned: n} }

	holder.Abandoned(100, r.now)
	require.NoError(t, r.Tell(t.Context()))
	require.Empty(t, r.excess, "the budget itself may be used up")
	holder.Abandoned(50, r.now)
	r.away = true
	require.Error(t, r.Tell(t.Context()))
	r.away = false
	require.NoError(t, r.Tell(t.Context()))
	require.Equal(t, []access.Excess{excess(150)}, r.excess, "at once, and none is forgotten for a ledger that was away")
	holder.Abandoned(30, r.now)
	holder.Abandoned(20, r.now)
	require.NoError(t, r.Tell(t.Context()))
	require.Len(t, r.excess, 1, "the rest when the minute is over")
	r.pass(time.Minute)
	holder.Abandoned(7, r.now)
	require.NoError(t, r.Tell(t.Context()))
	require.Equal(t, []access.Excess{excess(150), excess(50)}, r.excess)
	r.pass(time.Minute)
	require.NoError(t, r.Tell(t.Context()))
	require.Len(t, r.excess, 2, "a minute within its budget is nobody's concern")
}

func TestWatchFollowsUntilItEnds(t *testing.T) {
	r := newRing(t)
	require.NoError(t, r.Refresh(t.Context()))
	shop := r.add(caller("shop"))
	ctx, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() { r.Watch(ctx, slog.New(slog.DiscardHandler)) })
	testkit.Eventually(t, func() bool { _, err := r.Identify(shop); return err == nil }, "a new token is not known")
	cancel()
	watching.Wait()
}

func BenchmarkIdentify(b *testing.B) {
	r := &ring{}
	r.Keyring = access.NewKeyring(r)
	shop := r.add(caller("shop"))
	if err := r.Refresh(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.Identify(shop); err != nil {
			b.Fatal(err)
		}
	}
}
