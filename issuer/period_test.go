package issuer_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lacuna-seq/lacuna/db/ledger"
	"github.com/lacuna-seq/lacuna/db/migrations"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/issuer"
	"github.com/lacuna-seq/lacuna/sequence"
)

// twoDays is a ledger whose sessions have a clock that stands still: shortly before midnight, and at
// noon of the next day once it has come.
type twoDays struct {
	*ledger.Ledger
	next    *ledger.Ledger
	nextDay atomic.Bool
}

func (d *twoDays) now() *ledger.Ledger {
	if d.nextDay.Load() {
		return d.next
	}
	return d.Ledger
}

func (d *twoDays) Apply(ctx context.Context, commands []sequence.Command) ([]sequence.Decision, error) {
	return d.now().Apply(ctx, commands)
}

func (d *twoDays) Allocate(ctx context.Context, bizType, owner, batchID string, count int) ([]sequence.Number, error) {
	return d.now().Allocate(ctx, bizType, owner, batchID, count)
}

func (d *twoDays) Now(ctx context.Context) (time.Time, error) { return d.now().Now(ctx) }

// beforeMidnight is more than a call of Next takes, and less than until the clock is read again.
const beforeMidnight = 1500 * time.Millisecond

// What belongs to a period that is over is not handed out, not even from memory.
func TestAPeriodThatIsOver(t *testing.T) {
	for _, tt := range []struct {
		reuse sequence.Reuse
		state sequence.State // of what was held
	}{{sequence.ReuseSamePeriod, sequence.Retired}, {sequence.ReuseAny, sequence.Replayable}} {
		t.Run(strings.ToLower(tt.reuse.String()), func(t *testing.T) {
			dsn := testkit.MariaDB(t)
			midnight := time.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
			at := func(at time.Time) *ledger.Ledger {
				return openLedger(t, fmt.Sprintf("%s?timestamp=%d.%06d", dsn, at.Unix(), at.Nanosecond()/1000))
			}
			days := &twoDays{Ledger: at(midnight.Add(-beforeMidnight)), next: at(midnight.Add(12 * time.Hour))}
			_, err := migrations.Up(t.Context(), days.DB())
			require.NoError(t, err)
			daily := sequence.NewBizType("INV", must(sequence.ParseFormat("{yyyy}{MM}{dd}-{seq:4}{luhn}")))
			daily.Reuse, daily.StepMin = tt.reuse, 10
			require.NoError(t, days.CreateBizType(t.Context(), daily))
			i, err := issuer.New(t.Context(), days, openPool(t, testkit.Redis(t)), &runs{starts: map[string]time.Duration{}},
				issuer.WithLease(48*time.Hour), issuer.WithLogger(slog.New(slog.DiscardHandler)))
			require.NoError(t, err)
			periodOf := func() string {
				issued, err := i.Next(t.Context(), issuer.Request{BizType: "INV", Count: 1})
				require.NoError(t, err)
				period, _, err := daily.Format.Parse(issued[0].SeqNo)
				require.NoError(t, err)
				return period
			}
			today, tomorrow := daily.Period(midnight.Add(-time.Second)), daily.Period(midnight)
			require.Equal(t, today, periodOf())
			days.nextDay.Store(true) // and the issuer has not asked for the time since
			var periods []string
			testkit.Eventually(t, func() bool {
				periods = append(periods, periodOf())
				return periods[len(periods)-1] == tomorrow
			}, "the next period does not begin")
			count := func(where string) (n int) {
				require.NoError(t, days.DB().QueryRowContext(t.Context(), "SELECT COUNT(*) FROM t_seq_issue_log WHERE "+where).Scan(&n))
				return n
			}
			testkit.Eventually(t, func() bool { return count("status = 0 AND period = '"+today+"'") == 0 }, "what was held does not go back")
			if tt.reuse == sequence.ReuseSamePeriod {
				require.Positive(t, count(fmt.Sprintf("status = %d AND life = 0 AND period = '%s'", tt.state, today)))
				for range 20 {
					require.Equal(t, tomorrow, periodOf())
				}
			}
			require.NoError(t, i.Stop(t.Context()))
			require.Zero(t, count("status IN (0, 5)"))
		})
	}
}
