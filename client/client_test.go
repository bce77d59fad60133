package client_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	_ "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/lacuna-seq/lacuna/api"
	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/api/lacuna/v1/lacunav1connect"
	"github.com/lacuna-seq/lacuna/client"
	"github.com/lacuna-seq/lacuna/internal/testkit"
	"github.com/lacuna-seq/lacuna/sequence"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// service plays the far side over sequence.Decide: as much of it as the wire shows. The real one is
// used in e2e.
type service struct {
	lacunav1connect.UnimplementedSequenceServiceHandler

	mu        sync.Mutex
	numbers   map[string]*sequence.Number
	fault     func(method string) error // answers instead, where it is not nil
	confirmBy time.Duration
	changed   chan struct{}
	asked     []*lacunav1.NextRequest // every call of Next
}

func (s *service) Next(_ context.Context, r *connect.Request[lacunav1.NextRequest]) (*connect.Response[lacunav1.NextResponse], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.Msg)
	if err := s.fail("Next"); err != nil {
		return nil, err
	}
	response := &lacunav1.NextResponse{}
	for range r.Msg.GetCount() {
		n := &sequence.Number{
			BizType: "ORDER", SeqNo: fmt.Sprintf("A-%06d", len(s.numbers)+1), Life: 1, State: sequence.Allocated,
			BizKey: r.Msg.GetBizKey(), IssuedTime: time.Now(), Deadline: time.Now().Add(time.Hour),
		}
		s.numbers[n.Ticket().String()] = n
		response.Numbers = append(response.Numbers, &lacunav1.IssuedNumber{
			Ticket: n.Ticket().String(), SeqNo: n.SeqNo, Life: 1, ConfirmBy: timestamppb.New(time.Now().Add(s.confirmBy)),
		})
	}
	return connect.NewResponse(response), nil
}

func (s *service) Settle(_ context.Context, r *connect.Request[lacunav1.SettleRequest]) (*connect.Response[lacunav1.SettleResponse], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.fail("Settle"); err != nil {
		return nil, err
	}
	response := &lacunav1.SettleResponse{}
	for _, command := range r.Msg.GetCommands() {
		response.Results = append(response.Results, s.settle(command))
	}
	select {
	case s.changed <- struct{}{}:
	default:
	}
	return connect.NewResponse(response), nil
}

func (s *service) settle(command *lacunav1.Command) *lacunav1.SettleResult {
	n, ok := s.numbers[command.GetTicket()]
	if !ok {
		return &lacunav1.SettleResult{Error: &lacunav1.SettleError{Code: "not_found", Message: "no such number"}}
	}
	c := sequence.Command{Kind: sequence.Confirm, Ticket: n.Ticket(), BizKey: command.GetBizKey()}
	if command.GetAction() == lacunav1.Action_ACTION_ABANDON {
		c.Kind = sequence.Abandon
	}
	d := sequence.Decide(sequence.BizType{SafetyWindow: time.Minute}, *n, c, time.Now())
	*n = d.Number
	var refused *sequence.RefusedError
	if errors.As(sequence.Answer(c, d), &refused) {
		return &lacunav1.SettleResult{Error: &lacunav1.SettleError{Code: "failed_precondition", Refusal: refusal(refused)}}
	}
	return &lacunav1.SettleResult{Outcome: lacunav1.Outcome(lacunav1.Outcome_value["OUTCOME_"+d.Outcome.String()])}
}

func refusal(r *sequence.RefusedError) *lacunav1.Refusal {
	return &lacunav1.Refusal{
		Outcome: lacunav1.Outcome(lacunav1.Outcome_value["OUTCOME_"+r.Outcome.String()]), Ticket: r.Asked.String(),
		CurrentTicket: r.Current.String(), CurrentState: lacunav1.State(r.State),
	}
}

func (s *service) fail(method string) error {
	if s.fault == nil {
		return nil
	}
	return s.fault(method)
}

func (s *service) setFault(f func(method string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = f
}

func (s *service) state(ticket string) sequence.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.numbers[ticket].State
}

func (s *service) await(t *testing.T, ticket string, state sequence.State) {
	t.Helper()
	testkit.Eventually(t, func() bool { return s.state(ticket) == state }, "%s did not become %s", ticket, state)
}

func setup(t *testing.T, opts ...client.Option) (*client.Client, *service) {
	t.Helper()
	s := &service{numbers: map[string]*sequence.Number{}, confirmBy: time.Hour, changed: make(chan struct{}, 1)}
	_, handler := lacunav1connect.NewSequenceServiceHandler(s)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c, err := client.Dial(server.URL, append([]client.Option{client.WithLogger(slog.New(slog.DiscardHandler))}, opts...)...)
	require.NoError(t, err)
	t.Cleanup(func() { closeNow(t, c) })
	return c, s
}

func closeNow(t *testing.T, c *client.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	require.NoError(t, c.Close(ctx))
}

// once fails the first call of the method and no other.
func once(method string, err error) func(string) error {
	return func(m string) error {
		if m == method && err != nil {
			now := err
			err = nil
			return now
		}
		return nil
	}
}

func withDetail(code connect.Code, detail proto.Message) error {
	err := connect.NewError(code, errors.New("because"))
	d, detailErr := connect.NewErrorDetail(detail)
	if detailErr != nil {
		panic(detailErr)
	}
	err.AddDetail(d)
	return err
}

func TestDialRefusesWhatIsNoAddress(t *testing.T) {
	for _, address := range []string{"", "localhost:8080", "ftp://x", "http://"} {
		_, err := client.Dial(address)
		require.Error(t, err, address)
	}
}

func TestNextAndSettle(t *testing.T) {
	c, s := setup(t)
	n, err := c.Next(t.Context(), "ORDER", client.ForBizKey("o-1"))
	require.NoError(t, err)
	require.Equal(t, "ORDER~A-000001~1", n.Ticket)
	outcome, err := c.Confirm(t.Context(), n.Ticket, client.ByBizKey("o-1"))
	require.NoError(t, err)
	require.Equal(t, sequence.OutcomeConfirmed, outcome)
	_, err = c.Abandon(t.Context(), n.Ticket)
	require.ErrorIs(t, err, sequence.ErrAlreadyConfirmed)
	_, err = c.Confirm(t.Context(), n.Ticket, client.ByBizKey("o-2"))
	require.ErrorIs(t, err, sequence.ErrConflict)
	_, err = c.Confirm(t.Context(), "ORDER~A-999999~1")
	require.ErrorIs(t, err, sequence.ErrNotFound)
	_, err = c.Confirm(t.Context(), "nonsense")
	require.ErrorIs(t, err, sequence.ErrInvalid)

	numbers, err := c.NextN(t.Context(), "ORDER", 5)
	require.NoError(t, err)
	require.Len(t, numbers, 5)
	_, err = c.NextN(t.Context(), "ORDER", 0)
	require.ErrorIs(t, err, sequence.ErrInvalid)
	require.Equal(t, sequence.Confirmed, s.state(n.Ticket))
}

func TestNextSaysWhatItsOptionsSay(t *testing.T) {
	c, s := setup(t)
	s.setFault(once("Next", connect.NewError(connect.CodeUnavailable, errors.New("away"))))
	_, err := c.NextN(t.Context(), "ORDER", 3, client.ForBizKey("o-1"), client.WithIdempotencyKey("key-1"), client.AllowPartial())
	require.NoError(t, err)
	require.Len(t, s.asked, 2)
	for _, r := range s.asked { // the repetition goes under the same key
		require.Equal(t, "ORDER", r.GetBizType())
		require.Equal(t, int32(3), r.GetCount())
		require.Equal(t, "o-1", r.GetBizKey())
		require.Equal(t, "key-1", r.GetIdempotencyKey())
		require.True(t, r.GetAllowPartial())
	}
}

func TestErrorsAreRebuilt(t *testing.T) {
	asked := sequence.Ticket{BizType: "ORDER", SeqNo: "A-1", Life: 1}
	for name, tt := range map[string]struct {
		answer error
		want   error
	}{
		"invalid":         {withDetail(connect.CodeInvalidArgument, &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: "bizType"}}}), sequence.ErrInvalid},
		"not found":       {connect.NewError(connect.CodeNotFound, errors.New("no")), sequence.ErrNotFound},
		"full":            {withDetail(connect.CodeFailedPrecondition, &errdetails.ErrorInfo{Reason: api.ReasonFormatFull}), sequence.ErrFull},
		"key reused":      {withDetail(connect.CodeFailedPrecondition, &errdetails.ErrorInfo{Reason: api.ReasonKeyReused}), sequence.ErrKeyReused},
		"key spent":       {withDetail(connect.CodeFailedPrecondition, &errdetails.ErrorInfo{Reason: api.ReasonKeySpent}), sequence.ErrKeySpent},
		"ticket required": {withDetail(connect.CodeFailedPrecondition, &errdetails.ErrorInfo{Reason: api.ReasonTicketRequired}), sequence.ErrTicketRequired},
		"conflict":        {withDetail(connect.CodeAlreadyExists, refusal(&sequence.RefusedError{Outcome: sequence.OutcomeConflict, Asked: asked, Current: asked})), sequence.ErrConflict},
		"stale":           {withDetail(connect.CodeFailedPrecondition, refusal(&sequence.RefusedError{Outcome: sequence.OutcomeStale, Asked: asked, Current: asked})), sequence.ErrStale},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := setup(t)
			s.setFault(func(string) error { return tt.answer })
			_, err := c.Next(t.Context(), "ORDER")
			require.ErrorIs(t, err, tt.want)
		})
	}
}

// Until an operator has raised the ledger a call waits as for any service that is away, and says why it waited in vain.
func TestAStepBackIsWaitedOut(t *testing.T) {
	c, s := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	tries := 0
	s.setFault(func(string) error {
		if tries++; tries == 2 {
			cancel()
		}
		return withDetail(connect.CodeUnavailable, &errdetails.ErrorInfo{Reason: api.ReasonLedgerSteppedBack, Metadata: map[string]string{"bizType": "ORDER"}})
	})
	_, err := c.Next(ctx, "ORDER")
	require.ErrorIs(t, err, sequence.ErrSteppedBack)
	require.ErrorContains(t, err, "ORDER")
}

// told is a log that can be waited for.
type told struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *told) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(line)
}

func (l *told) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// A caller whose context has no end does not stand still without a word, and hears it once.
func TestAServiceThatIsAwayIsToldOf(t *testing.T) {
	log := &told{}
	c, s := setup(t, client.WithLogger(slog.New(slog.NewTextHandler(log, nil))))
	ctx, cancel := context.WithCancel(t.Context())
	after := 0 // calls since it was told
	s.setFault(func(string) error {
		if strings.Contains(log.String(), "next of ORDER") {
			if after++; after == 2 {
				cancel()
			}
		}
		return connect.NewError(connect.CodeUnavailable, errors.New("the lease is over"))
	})
	_, err := c.Next(ctx, "ORDER")
	require.ErrorIs(t, err, sequence.ErrUnavailable)
	require.Equal(t, 1, strings.Count(log.String(), "next of ORDER"))
	require.Contains(t, log.String(), "the lease is over")
}

func TestCallsAreTriedAgain(t *testing.T) {
	for name, fault := range map[string]error{
		"while the service is away": connect.NewError(connect.CodeUnavailable, errors.New("away")),
		"while it is busy":          withDetail(connect.CodeResourceExhausted, &errdetails.RetryInfo{RetryDelay: durationpb.New(time.Millisecond)}),
	} {
		t.Run(name, func(t *testing.T) {
			c, s := setup(t)
			s.setFault(once("Next", fault))
			n, err := c.Next(t.Context(), "ORDER")
			require.NoError(t, err)
			s.setFault(once("Settle", fault))
			_, err = c.Confirm(t.Context(), n.Ticket)
			require.NoError(t, err)
		})
	}
	for _, code := range []connect.Code{connect.CodeCanceled, connect.CodeUnknown, connect.CodeInternal, connect.CodeDeadlineExceeded} {
		t.Run("where "+code.String()+" is no decision of the service", func(t *testing.T) {
			c, s := setup(t)
			db := openShop(t)
			s.setFault(once("Settle", connect.NewError(code, errors.New("connection reset by peer"))))
			require.NoError(t, c.InTx(t.Context(), db.DB, "ORDER", insertOrder(t.Context())))
			s.await(t, ticket, sequence.Confirmed)
			db.emptied(t)
		})
	}
	t.Run("but not where the service does not take the call, and the row stays", func(t *testing.T) {
		c, s := setup(t)
		db := openShop(t)
		s.setFault(func(m string) error {
			if m == "Settle" {
				return connect.NewError(connect.CodeUnauthenticated, errors.New("no token"))
			}
			return nil
		})
		require.NoError(t, c.InTx(t.Context(), db.DB, "ORDER", insertOrder(t.Context())))
		_, err := c.Confirm(t.Context(), ticket)
		require.ErrorContains(t, err, "no token")
		closeNow(t, c)
		require.Equal(t, 1, db.count(t, "SELECT COUNT(*) FROM lacuna_outbox WHERE refusal IS NULL"), "the relay confirms it later")
	})
	t.Run("until the context ends", func(t *testing.T) {
		c, s := setup(t)
		s.setFault(func(string) error { return connect.NewError(connect.CodeUnavailable, errors.New("away")) })
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := c.Next(ctx, "ORDER")
		require.ErrorIs(t, err, sequence.ErrUnavailable)
	})
}

func TestANumberThatArrivesTooLateIsRefused(t *testing.T) {
	c, s := setup(t)
	s.confirmBy = -time.Second
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := c.Next(ctx, "ORDER")
	require.ErrorContains(t, err, "after its time to confirm")
}

// shop is a service's own database, reached through a wire that a test can break.
type shop struct {
	*sql.DB
	direct *sql.DB
	wire   *testkit.Wire
}

func openShop(t *testing.T) shop {
	t.Helper()
	dsn := testkit.MariaDB(t)
	_, rest, _ := strings.Cut(dsn, "tcp(")
	address, _, _ := strings.Cut(rest, ")")
	wire := testkit.Proxy(t, address)
	direct, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = direct.Close() })
	via, err := sql.Open("mysql", strings.Replace(dsn, address, wire.Address(), 1))
	require.NoError(t, err)
	t.Cleanup(func() { _ = via.Close() })
	for range 2 {
		require.NoError(t, client.Migrate(t.Context(), direct))
	}
	_, err = direct.ExecContext(t.Context(), "CREATE TABLE orders (number VARCHAR(64) PRIMARY KEY)")
	require.NoError(t, err)
	return shop{via, direct, wire}
}

func (s shop) count(t *testing.T, query string) (n int) {
	t.Helper()
	require.NoError(t, s.direct.QueryRowContext(t.Context(), query).Scan(&n))
	return n
}

func (s shop) emptied(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, func() bool { return s.count(t, "SELECT COUNT(*) FROM lacuna_outbox") == 0 }, "the outbox is not empty")
}

func insertOrder(ctx context.Context) func(*sql.Tx, client.Number) error {
	return func(tx *sql.Tx, n client.Number) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO orders VALUES (?)", n.SeqNo)
		return err
	}
}

const ticket = "ORDER~A-000001~1"

func TestInterceptorsSeeTheValuesOfTheCaller(t *testing.T) {
	type key struct{}
	seen := make(chan any, 10)
	c, s := setup(t, client.WithInterceptors(connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, r connect.AnyRequest) (connect.AnyResponse, error) {
			if strings.HasSuffix(r.Spec().Procedure, "/Settle") {
				seen <- ctx.Value(key{})
			}
			return next(ctx, r)
		}
	})))
	db := openShop(t)
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "till 7"))
	require.NoError(t, c.InTx(ctx, db.DB, "ORDER", insertOrder(ctx), client.ForBizKey("o-1")))
	cancel() // the caller is gone when its commit is confirmed
	s.await(t, ticket, sequence.Confirmed)
	require.Equal(t, "till 7", <-seen)

	ctx = context.WithValue(t.Context(), key{}, "till 8")
	_, err := c.Confirm(ctx, ticket)
	require.NoError(t, err)
	require.Equal(t, "till 8", <-seen)
}

func TestInTx(t *testing.T) {
	t.Run("confirms after the commit", func(t *testing.T) {
		c, s := setup(t)
		db := openShop(t)
		require.NoError(t, c.InTx(t.Context(), db.DB, "ORDER", insertOrder(t.Context()), client.ForBizKey("o-1")))
		s.await(t, ticket, sequence.Confirmed)
		require.Equal(t, 1, db.count(t, "SELECT COUNT(*) FROM orders WHERE number = 'A-000001'"))
		db.emptied(t)
	})
	t.Run("abandons after a rollback, and gives fn's error", func(t *testing.T) {
		c, s := setup(t)
		db := openShop(t)
		refused := errors.New("card refused")
		err := c.InTx(t.Context(), db.DB, "ORDER", func(*sql.Tx, client.Number) error { return refused })
		require.ErrorIs(t, err, refused)
		s.await(t, ticket, sequence.Abandoned)
		require.Zero(t, db.count(t, "SELECT COUNT(*) FROM lacuna_outbox"))
	})
	t.Run("abandons after a panic, and lets it pass", func(t *testing.T) {
		c, s := setup(t)
		db := openShop(t)
		require.PanicsWithValue(t, "boom", func() {
			_ = c.InTx(t.Context(), db.DB, "ORDER", func(*sql.Tx, client.Number) error { panic("boom") })
		})
		s.await(t, ticket, sequence.Abandoned)
	})
	t.Run("abandons when the caller's context ends", func(t *testing.T) {
		c, s := setup(t)
		db := openShop(t)
		ctx, cancel := context.WithCancel(t.Context())
		err := c.InTx(ctx, db.DB, "ORDER", func(*sql.Tx, client.Number) error { cancel(); return nil })
		require.Error(t, err)
		s.await(t, ticket, sequence.Abandoned)
	})
	t.Run("finds out that a commit without an answer happened", func(t *testing.T) {
		c, s := setup(t)
		db := openShop(t)
		err := c.InTx(t.Context(), db.DB, "ORDER", func(tx *sql.Tx, n client.Number) error {
			err := insertOrder(t.Context())(tx, n)
			db.wire.LoseReplies(true)
			go func() {
				for db.wire.Lost() == 0 {
					<-time.After(time.Millisecond)
				}
				db.wire.LoseReplies(false)
			}()
			return err
		})
		require.NoError(t, err)
		require.Equal(t, 1, db.count(t, "SELECT COUNT(*) FROM orders"))
		s.await(t, ticket, sequence.Confirmed)
		db.emptied(t)
	})
	t.Run("finds out that a commit without an answer did not happen", func(t *testing.T) {
		c, s := setup(t)
		db := openShop(t)
		err := c.InTx(t.Context(), db.DB, "ORDER", func(tx *sql.Tx, n client.Number) error {
			err := insertOrder(t.Context())(tx, n)
			db.wire.Cut() // COMMIT finds no connection
			return err
		})
		require.Error(t, err)
		require.NotErrorIs(t, err, client.ErrCommitUnknown)
		require.Zero(t, db.count(t, "SELECT COUNT(*) FROM orders"))
		s.await(t, ticket, sequence.Abandoned)
		db.emptied(t)
	})
	t.Run("says that a commit is unknown while the database is away, and settles it later", func(t *testing.T) {
		c, s := setup(t)
		db := openShop(t)
		err := c.InTx(t.Context(), db.DB, "ORDER", func(tx *sql.Tx, n client.Number) error {
			err := insertOrder(t.Context())(tx, n)
			db.wire.Refuse(true)
			db.wire.Cut()
			return err
		})
		require.ErrorIs(t, err, client.ErrCommitUnknown)
		require.Equal(t, sequence.Allocated, s.state(ticket))
		db.wire.Refuse(false)
		s.await(t, ticket, sequence.Abandoned)
		db.emptied(t)
	})
	t.Run("needs the table, and says so", func(t *testing.T) {
		c, s := setup(t)
		db := openShop(t)
		_, err := db.direct.ExecContext(t.Context(), "DROP TABLE lacuna_outbox")
		require.NoError(t, err)
		require.ErrorContains(t, c.InTx(t.Context(), db.DB, "ORDER", insertOrder(t.Context())), "lacuna_outbox")
		s.await(t, ticket, sequence.Abandoned)
	})
	t.Run("does without the table where it is told to", func(t *testing.T) {
		c, s := setup(t, client.WithoutOutbox())
		db := openShop(t)
		_, err := db.direct.ExecContext(t.Context(), "DROP TABLE lacuna_outbox")
		require.NoError(t, err)
		require.NoError(t, c.InTx(t.Context(), db.DB, "ORDER", insertOrder(t.Context())))
		s.await(t, ticket, sequence.Confirmed)
	})
}

func TestRelay(t *testing.T) {
	relay := func(t *testing.T, c *client.Client, db shop) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- c.Relay(ctx, db.DB) }()
		t.Cleanup(func() { cancel(); require.NoError(t, <-done) })
	}
	left := func(t *testing.T, db shop, ticket string) {
		t.Helper()
		_, err := db.direct.ExecContext(t.Context(), `INSERT INTO lacuna_outbox (ticket, biz_key, meaning, created_time)
			VALUES (?, '', 'confirm', UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE)`, ticket)
		require.NoError(t, err)
	}
	t.Run("confirms what a process that died left behind", func(t *testing.T) {
		c, s := setup(t)
		db := openShop(t)
		n, err := c.Next(t.Context(), "ORDER")
		require.NoError(t, err)
		left(t, db, n.Ticket)
		relay(t, c, db)
		s.await(t, n.Ticket, sequence.Confirmed)
		db.emptied(t)
	})
	t.Run("goes on when the service is back", func(t *testing.T) {
		c, s := setup(t)
		db := openShop(t)
		s.setFault(func(m string) error {
			if m == "Settle" {
				return connect.NewError(connect.CodeUnavailable, errors.New("away"))
			}
			return nil
		})
		require.NoError(t, c.InTx(t.Context(), db.DB, "ORDER", insertOrder(t.Context())))
		relay(t, c, db)
		s.setFault(nil)
		s.await(t, ticket, sequence.Confirmed)
		db.emptied(t)
	})
	t.Run("keeps a refused confirm for a person", func(t *testing.T) {
		refusals := make(chan client.Refusal, 1)
		c, _ := setup(t, client.OnRefusal(func(r client.Refusal) { refusals <- r }))
		db := openShop(t)
		left(t, db, "ORDER~A-999999~1")
		relay(t, c, db)
		r := <-refusals
		require.Equal(t, "ORDER~A-999999~1", r.Ticket)
		require.ErrorIs(t, r.Err, sequence.ErrNotFound)
		testkit.Eventually(t, func() bool { return db.count(t, "SELECT COUNT(*) FROM lacuna_outbox WHERE refusal IS NOT NULL") == 1 }, "the refusal is not kept")
	})
}

// exampleService is the far side of the Example.
func exampleService() (address string, stop func()) {
	_, handler := lacunav1connect.NewSequenceServiceHandler(&service{
		numbers: map[string]*sequence.Number{}, confirmBy: time.Hour, changed: make(chan struct{}, 1),
	})
	server := httptest.NewServer(handler)
	return server.URL, server.Close
}
