package console

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"connectrpc.com/connect"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
	"github.com/lacuna-seq/lacuna/sequence"
)

// typeForm makes a biz type, or changes one.
type typeForm struct {
	New      bool
	Name     string
	NameWord string // what is wrong with it
	// Revision is what the form is based on.
	Revision int64
	// Meanwhile is true where somebody changed the rules after the form was opened; the fields say which.
	Meanwhile bool
	Fault     *fault // of the form as a whole
	Wrong     int    // how many fields are
	Groups    []formGroup
}

type formGroup struct {
	Name   string
	Fields []formField
}

type formField struct {
	Field, Label, Hint, Kind string
	Choices                  []choice
	Value                    string
	Wrong                    string
	// Theirs is what somebody has set meanwhile, where it is not Value.
	Theirs string
	HasOne bool // Theirs is one
}

// newTypeForm shows a biz type's rules as a form. values are what a person wrote, or nil.
func newTypeForm(b *lacunav1.BizType, values url.Values) *typeForm {
	f := &typeForm{Name: b.GetName(), Revision: b.GetRevision()}
	for _, g := range ruleGroups {
		group := formGroup{Name: g.Name}
		for _, r := range g.Rules {
			field := formField{Field: r.Field, Label: r.Label, Hint: r.Hint, Kind: r.Kind, Choices: r.Choices, Value: r.get(b)}
			if values != nil {
				field.Value = written(r, values)
			}
			group.Fields = append(group.Fields, field)
		}
		f.Groups = append(f.Groups, group)
	}
	return f
}

// written is what a form says of a rule. A box that is not ticked is not sent.
func written(r rule, values url.Values) string {
	if r.Kind == "yes" && values.Get(r.Field) == "" {
		return no
	}
	return values.Get(r.Field)
}

// find gives a field of the form; nil for none.
func (f *typeForm) find(name string) *formField {
	for i := range f.Groups {
		for j := range f.Groups[i].Fields {
			if f.Groups[i].Fields[j].Field == name {
				return &f.Groups[i].Fields[j]
			}
		}
	}
	return nil
}

// wrong puts what is wrong beside its field; false where the form has no such field.
func (f *typeForm) wrong(name, words string) bool {
	if name == "bizType" || name == "name" {
		f.NameWord = words
		f.Wrong++
		return f.New
	}
	field := f.find(name)
	if field == nil {
		return false
	}
	if field.Wrong == "" {
		f.Wrong++
	}
	field.Wrong = strings.TrimSpace(field.Wrong + " " + words)
	return true
}

// view shows the form.
func (f *typeForm) view(status int) view {
	title := "Edit " + f.Name
	if f.New {
		title = "New biz type"
	}
	return view{template: "typeform", title: title, status: status, content: f}
}

// errOnlyAdmins is what those are told before they fill in a form who may not send it; the API says the same.
var errOnlyAdmins = connect.NewError(connect.CodePermissionDenied, errors.New("only a token of role admin makes and changes biz types"))

// newType shows the form with the defaults.
func (c *Console) newType(r *http.Request) (view, error) {
	if !visitorOf(r.Context()).Administers() {
		return view{}, errOnlyAdmins
	}
	f := newTypeForm(defaults(), nil)
	f.New = true
	return f.view(http.StatusOK), nil
}

// defaults are the rules of a biz type of which nothing was said.
func defaults() *lacunav1.BizType {
	d := sequence.NewBizType("", sequence.Format{})
	b := &lacunav1.BizType{}
	for field, value := range map[string]string{
		"timeZone": d.TimeZone.String(), "source": d.Source.String(), "start": strconv.FormatInt(d.Start, 10), "confirmTimeout": d.ConfirmTimeout.String(),
		"extendLimit": d.ExtendLimit.String(), "onTimeout": d.OnTimeout.String(), "safetyWindow": d.SafetyWindow.String(), "reuse": d.Reuse.String(),
		"maxReplays": strconv.Itoa(d.MaxReplays), "poolOrder": d.PoolOrder.String(), "stepMin": strconv.Itoa(d.StepMin), "stepMax": strconv.Itoa(d.StepMax),
		"track": d.Track.String(), "trackAfter": d.TrackAfter.String(), "directSignals": yes, "archiveAfter": d.ArchiveAfter.String(),
	} {
		ruleOf(field).set(b, value)
	}
	delays := make([]string, len(d.RetryDelays))
	for i, delay := range d.RetryDelays {
		delays[i] = delay.String()
	}
	ruleOf("retryDelays").set(b, strings.Join(delays, ","))
	return b
}

// createType makes a biz type.
func (c *Console) createType(r *http.Request) (view, error) {
	f := newTypeForm(&lacunav1.BizType{}, r.PostForm)
	f.New, f.Name = true, strings.TrimSpace(r.PostFormValue("name"))
	asked := &lacunav1.BizType{Name: f.Name}
	for _, g := range ruleGroups {
		for _, rule := range g.Rules {
			if words := rule.set(asked, written(rule, r.PostForm)); words != "" {
				f.wrong(rule.Field, words)
			}
		}
	}
	if f.Wrong > 0 {
		return f.view(http.StatusBadRequest), nil
	}
	return c.put(r, f, asked)
}

// editType shows the form with the present rules.
func (c *Console) editType(r *http.Request) (view, error) {
	if !visitorOf(r.Context()).Administers() {
		return view{}, errOnlyAdmins
	}
	b, err := c.readType(r)
	if err != nil {
		return view{}, err
	}
	return newTypeForm(b, nil).view(http.StatusOK), nil
}

// changeType puts what was changed. Where somebody else did so meanwhile it shows both, and lets the person decide.
func (c *Console) changeType(r *http.Request) (view, error) {
	is, err := c.readType(r)
	if err != nil {
		return view{}, err
	}
	f := newTypeForm(is, r.PostForm)
	asked, changed := &lacunav1.BizType{Name: is.GetName(), Revision: is.Revision}, false
	for _, g := range ruleGroups {
		for _, rule := range g.Rules {
			value := written(rule, r.PostForm)
			after := clone(is)
			words := rule.set(after, value)
			if words != "" {
				f.wrong(rule.Field, words)
			}
			if words == "" && !rule.same(is, after) {
				rule.set(asked, value)
				changed = true
			}
		}
	}
	if revision, err := strconv.ParseInt(r.PostFormValue("revision"), 10, 64); err != nil || revision != is.GetRevision() {
		return f.meanwhile(is), nil
	}
	switch {
	case f.Wrong > 0:
		return f.view(http.StatusBadRequest), nil
	case !changed:
		return view{to: typePath(is.GetName())}, nil
	}
	return c.put(r, f, asked)
}

// meanwhile shows beside each field that differs what it is now.
func (f *typeForm) meanwhile(is *lacunav1.BizType) view {
	f.Meanwhile = true
	for _, g := range ruleGroups {
		for _, rule := range g.Rules {
			field := f.find(rule.Field)
			after := clone(is)
			if words := rule.set(after, field.Value); words != "" || !rule.same(is, after) {
				field.Theirs, field.HasOne = rule.words(is), true
			}
		}
	}
	return f.view(http.StatusConflict)
}

// put asks the API, and puts what it finds wrong beside the fields.
func (c *Console) put(r *http.Request, f *typeForm, asked *lacunav1.BizType) (view, error) {
	_, err := c.Operator.PutBizType(r.Context(), connect.NewRequest(&lacunav1.PutBizTypeRequest{BizType: asked}))
	if err == nil {
		return view{to: typePath(asked.GetName()) + "?saved"}, nil
	}
	switch connect.CodeOf(err) {
	case connect.CodeInvalidArgument, connect.CodeFailedPrecondition:
	case connect.CodeAborted: // somebody was faster
		if !f.New {
			is, err := c.readType(r)
			if err != nil {
				return view{}, err
			}
			f.Revision = is.GetRevision()
			return f.meanwhile(is), nil
		}
		f.wrong("name", "There is one of that name already.")
		return f.view(http.StatusConflict), nil
	default:
		return view{}, err
	}
	status, whole := c.faultOf(r.Context(), err)
	fields := whole.Fields
	whole.Fields = nil
	for _, field := range fields {
		if !f.wrong(field.Field, sentence(field.Words)) {
			whole.Fields = append(whole.Fields, field)
		}
	}
	if len(fields) == 0 || len(whole.Fields) > 0 {
		f.Fault = &whole
	}
	return f.view(status), nil
}

func typePath(name string) string { return "/types/" + url.PathEscape(name) }
