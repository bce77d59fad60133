package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/api/lacuna/v1/lacunav1connect"
	"github.com/lacuna-seq/lacuna/internal/batching"
	"github.com/lacuna-seq/lacuna/internal/courier"
	"github.com/lacuna-seq/lacuna/sequence"
)

// callTimeout ends one try of a call; ctx ends the call.
const callTimeout = 5 * time.Second

// Client takes numbers from a Lacuna service and settles them. It is safe for concurrent use.
type Client struct {
	api      lacunav1connect.SequenceServiceClient
	log      *slog.Logger
	outbox   bool
	refused  func(Refusal)
	operator lacunav1connect.OperatorServiceClient
	settle   *batching.Coalescer[*lacunav1.Command, answer]
	sender   *courier.Courier[job]
}

// Option changes how a Client works.
type Option func(*options)

type options struct {
	http         *http.Client
	interceptors []connect.Interceptor
	log          *slog.Logger
	outbox       bool
	refused      func(Refusal)
}

// WithHTTPClient calls the service with h, e.g. one with TLS settings of its own.
func WithHTTPClient(h *http.Client) Option { return func(o *options) { o.http = h } }

// WithInterceptors adds interceptors of Connect, e.g. otelconnect's for traces. They see the values of the caller's
// context, also where a commit of InTx is confirmed later; of callers that share one call, those of the first.
func WithInterceptors(i ...connect.Interceptor) Option {
	return func(o *options) { o.interceptors = append(o.interceptors, i...) }
}

// WithLogger sends what nobody waits for, such as a refused confirm, to log.
func WithLogger(log *slog.Logger) Option { return func(o *options) { o.log = log } }

// WithoutOutbox lets InTx do without the table. What it loses: a process that dies between its
// commit and its confirm has said nothing, so the number it used times out and is issued to
// somebody else. Only for numbers whose repetition does no harm.
func WithoutOutbox() Option { return func(o *options) { o.outbox = false } }

// OnRefusal calls f for every confirm of InTx or Relay that was refused: the transaction was
// committed with a number that is not, or no longer, its own. A person must look. It is logged
// as an error in any case.
func OnRefusal(f func(Refusal)) Option { return func(o *options) { o.refused = f } }

// Refusal is a confirm that came too late or not from the holder.
type Refusal struct {
	Ticket string
	BizKey string
	Err    error
}

// Number is a number in the caller's hands.
type Number struct {
	Ticket    string // what Confirm and Abandon quote
	SeqNo     string
	Life      int32 // how often it has been issued, this time included
	BatchID   string
	ConfirmBy time.Time // later it counts as abandoned; zero where a number is final at its issue
}

// Dial prepares a client of the service at address, e.g. http://localhost:8080; it does not connect.
func Dial(address string, opts ...Option) (*Client, error) {
	o := options{http: &http.Client{Transport: transport()}, log: slog.Default(), outbox: true, refused: func(Refusal) {}}
	for _, opt := range opts {
		opt(&o)
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("client: the service's address %q is not of the form http://host:port", address)
	}
	c := &Client{
		api:      lacunav1connect.NewSequenceServiceClient(o.http, address, connect.WithInterceptors(o.interceptors...)),
		operator: lacunav1connect.NewOperatorServiceClient(o.http, address, connect.WithInterceptors(o.interceptors...)),
		log:      o.log.With("component", "lacuna"), outbox: o.outbox, refused: o.refused,
	}
	c.settle = batching.New(c.callSettle, batching.Options{Workers: 4, Join: ofFirst})
	c.sender = courier.New(senderOptions, c.log, c.say)
	return c, nil
}

// transport keeps enough connections for a busy service.
func transport() http.RoundTripper {
	t, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t = t.Clone()
	t.MaxIdleConnsPerHost = 64
	return t
}

// Close delivers what InTx has left to say, until ctx ends. What is not delivered is in the outbox,
// or times out.
func (c *Client) Close(ctx context.Context) error {
	err := c.sender.Close(ctx)
	c.settle.Close()
	if err != nil {
		return fmt.Errorf("close the client: the outbox or the timeouts will say what was left: %w", err)
	}
	return nil
}

// NextOption says more about what the numbers are for.
type NextOption func(*lacunav1.NextRequest)

// ForBizKey keeps with the numbers what the caller calls the business object: at most 128 bytes of
// UTF-8 without control characters.
func ForBizKey(key string) NextOption { return func(r *lacunav1.NextRequest) { r.BizKey = key } }

// WithIdempotencyKey makes the call repeatable: within the confirm timeout the same key, 1 to 128 bytes
// of printable ASCII, is answered the same numbers, also after a crash of either side. Such a call
// waits until the hand-out is written down.
func WithIdempotencyKey(key string) NextOption {
	return func(r *lacunav1.NextRequest) { r.IdempotencyKey = key }
}

// AllowPartial is content with fewer numbers, at least one, where there are not enough.
func AllowPartial() NextOption { return func(r *lacunav1.NextRequest) { r.AllowPartial = true } }

// Next takes one number. It tries again while the service is away or busy, until ctx ends. A reply
// that is lost costs a number that nobody has: it times out and is issued again. With an idempotency
// key the next try is answered the same number.
//
// The error wraps sequence.ErrInvalid, ErrNotFound (no such biz type), ErrFull, ErrKeyReused,
// ErrKeySpent, ErrBusy or ErrUnavailable.
func (c *Client) Next(ctx context.Context, bizType string, opts ...NextOption) (Number, error) {
	numbers, err := c.NextN(ctx, bizType, 1, opts...)
	if err != nil {
		return Number{}, err
	}
	return numbers[0], nil
}

// NextN takes count numbers, 1 to 10,000, like Next.
func (c *Client) NextN(ctx context.Context, bizType string, count int, opts ...NextOption) ([]Number, error) {
	if count < 1 || count > 10_000 {
		return nil, sequence.Invalidf("count", "%d is not from 1 to 10,000", count)
	}
	n := int32(count)
	r := &lacunav1.NextRequest{BizType: bizType, Count: &n}
	for _, opt := range opts {
		opt(r)
	}
	var numbers []Number
	err := c.retryAloud(ctx, "next of "+bizType, func(ctx context.Context) error {
		response, err := c.api.Next(ctx, connect.NewRequest(r))
		if err != nil {
			return fromAPI(err)
		}
		numbers, err = c.received(response.Msg)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("next of %s: %w", bizType, err)
	}
	return numbers, nil
}

// received refuses numbers whose time to confirm has passed on the way: they may be another's
// before long.
func (c *Client) received(m *lacunav1.NextResponse) ([]Number, error) {
	numbers := make([]Number, len(m.GetNumbers()))
	for i, n := range m.GetNumbers() {
		numbers[i] = Number{Ticket: n.GetTicket(), SeqNo: n.GetSeqNo(), Life: n.GetLife(), BatchID: n.GetBatchId()}
		if n.GetConfirmBy() == nil {
			continue
		}
		numbers[i].ConfirmBy = n.GetConfirmBy().AsTime()
		if late := time.Since(numbers[i].ConfirmBy); late > 0 {
			return nil, fmt.Errorf("%s arrived %s after its time to confirm; compare this machine's clock with the service's: %w",
				numbers[i].Ticket, late.Round(time.Millisecond), sequence.ErrUnavailable)
		}
	}
	return numbers, nil
}

// ConfirmOption says more about who confirms.
type ConfirmOption func(*lacunav1.Command)

// ByBizKey names the business object that uses the number. Another object's confirm of the same
// life is then refused as a conflict.
func ByBizKey(key string) ConfirmOption { return func(c *lacunav1.Command) { c.BizKey = key } }

// Confirm says that the number is in business use for good. It tries again while the service is
// away or busy, until ctx ends. OutcomeAccepted means that the service took the confirm while its
// ledger was away; the client repeats it in the background until it is carried out.
//
// The error wraps sequence.ErrConflict (the number is another's: do not use it), ErrNotFound,
// ErrInvalid, ErrBusy or ErrUnavailable.
func (c *Client) Confirm(ctx context.Context, ticket string, opts ...ConfirmOption) (sequence.Outcome, error) {
	command := &lacunav1.Command{Ticket: ticket, Action: lacunav1.Action_ACTION_CONFIRM}
	for _, opt := range opts {
		opt(command)
	}
	return c.command(ctx, command)
}

// Abandon says that the number will not be used. It waits out its safety window and is issued
// again. The error wraps sequence.ErrAlreadyConfirmed or ErrStale where it is too late for that,
// else as Confirm's.
func (c *Client) Abandon(ctx context.Context, ticket string) (sequence.Outcome, error) {
	return c.command(ctx, &lacunav1.Command{Ticket: ticket, Action: lacunav1.Action_ACTION_ABANDON})
}

// Extend asks for more time: holdFor from now on, within what the biz type allows. It answers by when to
// confirm then. The error wraps sequence.ErrTooLate, ErrOverLimit, ErrAlreadyConfirmed or ErrStale, else as
// Confirm's.
func (c *Client) Extend(ctx context.Context, ticket string, holdFor time.Duration) (confirmBy time.Time, err error) {
	r := &lacunav1.ExtendRequest{Ticket: ticket, HoldFor: durationpb.New(holdFor)}
	err = c.retryAloud(ctx, "extend "+ticket, func(ctx context.Context) error {
		response, err := c.api.Extend(ctx, connect.NewRequest(r))
		if err != nil {
			return fromAPI(err)
		}
		confirmBy = response.Msg.GetConfirmBy().AsTime()
		return nil
	})
	if err != nil {
		return time.Time{}, fmt.Errorf("extend %s: %w", ticket, err)
	}
	return confirmBy, nil
}

// DirectSignals reports whether the biz type lets services settle by signalling a number's run
// themselves; see package direct. It asks once.
func (c *Client) DirectSignals(ctx context.Context, bizType string) (bool, error) {
	response, err := c.operator.GetBizType(ctx, connect.NewRequest(&lacunav1.GetBizTypeRequest{Name: bizType}))
	if err != nil {
		return false, fmt.Errorf("read biz type %s: %w", bizType, fromAPI(err))
	}
	return response.Msg.GetBizType().GetDirectSignals(), nil
}

func (c *Client) command(ctx context.Context, command *lacunav1.Command) (sequence.Outcome, error) {
	if _, err := sequence.ParseTicket(command.GetTicket()); err != nil {
		return 0, err
	}
	var outcome sequence.Outcome
	err := c.retryAloud(ctx, "settle "+command.GetTicket(), func(ctx context.Context) error {
		answers, err := c.settle.Do(ctx, command)
		if err != nil {
			return err
		}
		outcome = answers[0].outcome
		return answers[0].err
	})
	if outcome == sequence.OutcomeAccepted {
		c.sender.Send(job{command: command})
	}
	return outcome, err
}

// answer is what became of one command.
type answer struct {
	outcome sequence.Outcome
	err     error
}

// callSettle carries the commands of many callers in one call.
func (c *Client) callSettle(ctx context.Context, commands []*lacunav1.Command) ([]answer, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	response, err := c.api.Settle(ctx, connect.NewRequest(&lacunav1.SettleRequest{Commands: commands}))
	if err != nil {
		return nil, fromAPI(err)
	}
	results := response.Msg.GetResults()
	if len(results) != len(commands) {
		return nil, fmt.Errorf("%w: the service answered %d results to %d commands", sequence.ErrUnavailable, len(results), len(commands))
	}
	answers := make([]answer, len(results))
	for i, r := range results {
		answers[i] = answer{outcome: outcomeOf(r.GetOutcome())}
		if r.GetError() != nil {
			answers[i] = answer{err: fromSettleError(r.GetError())}
		}
	}
	return answers, nil
}

// isAnswer reports whether the service decided: then repeating the call cannot change it. Whatever
// else went wrong on the way, a reset connection or a proxy's page, says nothing about the number.
func isAnswer(err error) bool {
	for _, answer := range []error{
		sequence.ErrInvalid, sequence.ErrNotFound, sequence.ErrTicketRequired, sequence.ErrConflict, sequence.ErrStale,
		sequence.ErrAlreadyConfirmed, sequence.ErrTooLate, sequence.ErrOverLimit, sequence.ErrFull, sequence.ErrKeyReused, sequence.ErrKeySpent,
	} {
		if errors.Is(err, answer) {
			return true
		}
	}
	return false
}

// repeats reports whether trying again at once may help. It does not where the service does not
// take such calls, or not from this caller, or where the client is closed.
func repeats(err error) bool {
	return !isAnswer(err) && !errors.Is(err, errNotTaken) && !errors.Is(err, batching.ErrClosed)
}
