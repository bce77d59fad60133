package console

import (
	"net/http"
	"strconv"

	"connectrpc.com/connect"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

// typesPage lists the biz types.
type typesPage struct {
	Types []typeRow
	// May says that the visitor may make one.
	May bool
}

type typeRow struct {
	*lacunav1.BizType

	Source, Track, ConfirmTimeout, SafetyWindow string
}

func (c *Console) types(r *http.Request) (view, error) {
	answer, err := c.Operator.ListBizTypes(r.Context(), connect.NewRequest(&lacunav1.ListBizTypesRequest{}))
	if err != nil {
		return view{}, err
	}
	p := typesPage{May: visitorOf(r.Context()).Administers()}
	for _, b := range answer.Msg.GetBizTypes() {
		p.Types = append(p.Types, typeRow{
			BizType: b, Source: ruleOf("source").words(b), Track: ruleOf("track").words(b),
			ConfirmTimeout: durationWords(b.GetConfirmTimeout().AsDuration()), SafetyWindow: durationWords(b.GetSafetyWindow().AsDuration()),
		})
	}
	return view{template: "types", title: "Biz types", content: p}, nil
}

// typePage shows the rules of one biz type.
type typePage struct {
	*lacunav1.BizType

	Groups []shownGroup
	May    bool
	// Saved says that the rules were changed just now.
	Saved bool
}

type shownGroup struct {
	Name  string
	Rules []shownRule
}

type shownRule struct{ Label, Value, Hint string }

func (c *Console) bizType(r *http.Request) (view, error) {
	b, err := c.readType(r)
	if err != nil {
		return view{}, err
	}
	p := typePage{BizType: b, May: visitorOf(r.Context()).Administers(), Saved: r.URL.Query().Has("saved")}
	for _, g := range ruleGroups {
		shown := shownGroup{Name: g.Name}
		for _, rule := range g.Rules {
			shown.Rules = append(shown.Rules, shownRule{rule.Label, rule.words(b), rule.Hint})
		}
		p.Groups = append(p.Groups, shown)
	}
	return view{template: "type", title: b.GetName(), content: p}, nil
}

func (c *Console) readType(r *http.Request) (*lacunav1.BizType, error) {
	answer, err := c.Operator.GetBizType(r.Context(), connect.NewRequest(&lacunav1.GetBizTypeRequest{Name: r.PathValue("bizType")}))
	if err != nil {
		return nil, err
	}
	return answer.Msg.GetBizType(), nil
}

// ruleOf is the rule of a field that there is.
func ruleOf(field string) rule {
	for _, g := range ruleGroups {
		for _, r := range g.Rules {
			if r.Field == field {
				return r
			}
		}
	}
	return rule{get: func(*lacunav1.BizType) string { return "" }}
}

// words is a rule for people.
func (r rule) words(b *lacunav1.BizType) string {
	value := r.get(b)
	if d, ok := readSpan(value); ok && r.Kind == "duration" {
		if d == 0 && r.Field == "archiveAfter" {
			return "never"
		}
		return durationWords(d)
	}
	if n, err := strconv.ParseInt(value, 10, 64); err == nil && r.Kind == "number" {
		return countWords(n)
	}
	for _, c := range r.Choices {
		if c.Value == value {
			return c.Words
		}
	}
	if value == "" {
		return "—"
	}
	return value
}
