package console

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"connectrpc.com/connect"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/internal/access"
	"github.com/lacuna-seq/lacuna/sequence"
)

// Bounds of a search.
const (
	searchPage = 100
	// searchCalls is how many pages of the API one page here is made of at most: a page there may be empty and not
	// the last.
	searchCalls = 100
)

// searchResult is what a search found.
type searchResult struct {
	Query string
	Fault string
	Found []foundNumber
	Next  string // the address of the next page; empty on the last
	// ByKey is false for those who may not list numbers: they find what they name.
	ByKey bool
}

type foundNumber struct {
	*lacunav1.Number

	Path  string
	State string
}

// search finds numbers by ticket, number or biz key. What is only one number is shown at once.
func (c *Console) search(r *http.Request) (view, error) {
	result := searchResult{Query: strings.TrimSpace(r.URL.Query().Get("q")), ByKey: visitorOf(r.Context()).Reads()}
	page := func(status int) view {
		return view{template: "search", title: "Search", status: status, content: result}
	}
	if result.Query == "" {
		return page(http.StatusOK), nil
	}
	if ticket, err := sequence.ParseTicket(result.Query); err == nil {
		n := &lacunav1.Number{BizType: ticket.BizType, SeqNo: ticket.SeqNo}
		return view{to: fmt.Sprintf("%s#life-%d", pathOf(n), ticket.Life)}, nil
	}
	if err := sequence.ValidateBizKey(result.Query); err != nil {
		result.Fault = "That is neither a ticket, nor a number, nor a biz key: it is longer than 128 bytes, or holds control characters."
		return page(http.StatusBadRequest), nil
	}
	after := r.URL.Query().Get("after")
	types, err := c.searchedTypes(r)
	if err != nil {
		return view{}, err
	}
	var found []*lacunav1.Number
	if after == "" {
		if found, err = c.byNumber(r, types, result.Query); err != nil {
			return view{}, err
		}
	}
	if result.ByKey {
		byKey, next, err := c.byKey(r, types, result.Query, after)
		if err != nil {
			return view{}, err
		}
		found = append(found, byKey...)
		if next != "" {
			result.Next = "/search?" + url.Values{"q": {result.Query}, "after": {next}}.Encode()
		}
	}
	if len(found) == 1 && after == "" && result.Next == "" {
		return view{to: pathOf(found[0])}, nil
	}
	for _, n := range found {
		result.Found = append(result.Found, foundNumber{n, pathOf(n), stateName(n.GetState())})
	}
	return page(http.StatusOK), nil
}

// searchedTypes are the biz types that the visitor may see: all, or those that its token names.
func (c *Console) searchedTypes(r *http.Request) ([]*lacunav1.BizType, error) {
	v := visitorOf(r.Context())
	if v.Reads() {
		answer, err := c.Operator.ListBizTypes(r.Context(), connect.NewRequest(&lacunav1.ListBizTypesRequest{}))
		if err != nil {
			return nil, err
		}
		return answer.Msg.GetBizTypes(), nil
	}
	var types []*lacunav1.BizType
	for _, name := range v.BizTypes {
		if name == access.AnyBizType {
			continue // whose names only those know who may read everything
		}
		answer, err := c.Operator.GetBizType(r.Context(), connect.NewRequest(&lacunav1.GetBizTypeRequest{Name: name}))
		if connect.CodeOf(err) == connect.CodeNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		types = append(types, answer.Msg.GetBizType())
	}
	return types, nil
}

// byNumber looks in each biz type whose format could have printed the number.
func (c *Console) byNumber(r *http.Request, types []*lacunav1.BizType, seqNo string) (found []*lacunav1.Number, err error) {
	for _, b := range types {
		format, err := sequence.ParseFormat(b.GetFormat())
		if err == nil {
			_, _, err = format.Parse(seqNo)
		}
		if err != nil {
			continue
		}
		answer, err := c.Sequence.Get(r.Context(), connect.NewRequest(&lacunav1.GetRequest{BizType: b.GetName(), SeqNo: seqNo}))
		if connect.CodeOf(err) == connect.CodeNotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, answer.Msg.GetNumber())
	}
	return found, nil
}

// byKey lists the numbers of a biz key, one biz type after the other. after says where the page before ended: a biz
// type, and its page token.
func (c *Console) byKey(r *http.Request, types []*lacunav1.BizType, key, after string) (found []*lacunav1.Number, next string, err error) {
	from, token, _ := strings.Cut(after, ".")
	calls := 0
	for _, b := range types {
		if b.GetName() < from {
			continue
		}
		if b.GetName() != from {
			token = ""
		}
		for {
			if calls++; calls > searchCalls || len(found) == searchPage {
				return found, b.GetName() + "." + token, nil
			}
			answer, err := c.Operator.ListNumbers(r.Context(), connect.NewRequest(&lacunav1.ListNumbersRequest{
				BizType: b.GetName(), BizKey: key, PageSize: int32(searchPage - len(found)), PageToken: token, //nolint:gosec // at most searchPage
			}))
			if err != nil {
				return nil, "", err
			}
			found = append(found, answer.Msg.GetNumbers()...)
			if token = answer.Msg.GetNextPageToken(); token == "" {
				break
			}
		}
	}
	return found, "", nil
}
