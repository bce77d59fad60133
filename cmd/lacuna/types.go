package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

// typesCommands read and change the rules of biz types.
type typesCommands struct {
	List typesList `cmd:"" help:"List the biz types."`
	Get  typesGet  `cmd:"" help:"Print the rules of one, as JSON."`
	Put  typesPut  `cmd:"" help:"Make one, or change one, from JSON as get prints it."`
	Edit typesEdit `cmd:"" help:"Change one in your editor ($VISUAL or $EDITOR)."`
}

type typesList struct {
	api
	output
}

var bizTypeColumns = []column[*lacunav1.BizType]{
	{"name", (*lacunav1.BizType).GetName},
	{"format", (*lacunav1.BizType).GetFormat},
	{"source", func(b *lacunav1.BizType) string { return strings.TrimPrefix(b.GetSource().String(), "SOURCE_") }},
	{"confirm timeout", func(b *lacunav1.BizType) string { return seconds(b.GetConfirmTimeout()) }},
	{"safety window", func(b *lacunav1.BizType) string { return seconds(b.GetSafetyWindow()) }},
	{"max replays", func(b *lacunav1.BizType) string { return strconv.Itoa(int(b.GetMaxReplays())) }},
	{"reuse", func(b *lacunav1.BizType) string { return strings.TrimPrefix(b.GetReuse().String(), "REUSE_") }},
	{"track", func(b *lacunav1.BizType) string { return strings.TrimPrefix(b.GetTrack().String(), "TRACK_") }},
	{"revision", func(b *lacunav1.BizType) string { return strconv.FormatInt(b.GetRevision(), 10) }},
}

// Run prints a line for each.
func (c typesList) Run(ctx context.Context, out io.Writer) error {
	response, err := c.operator().ListBizTypes(ctx, connect.NewRequest(&lacunav1.ListBizTypesRequest{}))
	if err != nil {
		return fmt.Errorf("list the biz types: %w", err)
	}
	return writeAll(out, c.output, bizTypeColumns, response.Msg.GetBizTypes())
}

type typesGet struct {
	api
	Name string `arg:"" help:"Its name."`
}

// Run prints what put takes.
func (c typesGet) Run(ctx context.Context, out io.Writer) error {
	b, err := readBizType(ctx, c.api, c.Name)
	if err != nil {
		return err
	}
	text, err := indented(b)
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}

func readBizType(ctx context.Context, a api, name string) (*lacunav1.BizType, error) {
	response, err := a.operator().GetBizType(ctx, connect.NewRequest(&lacunav1.GetBizTypeRequest{Name: name}))
	if err != nil {
		return nil, fmt.Errorf("read biz type %s: %w", name, err)
	}
	return response.Msg.GetBizType(), nil
}

type typesPut struct {
	api
	File string `arg:"" name:"file" help:"The JSON; - for standard input. To change one it needs the present revision; what it leaves out stays."`
}

// Run makes the biz type, or changes what the file names.
func (c typesPut) Run(ctx context.Context, out io.Writer, t *terminal) error {
	var text []byte
	var err error
	if c.File == "-" {
		text, err = io.ReadAll(t.in)
	} else {
		text, err = os.ReadFile(c.File)
	}
	if err != nil {
		return fmt.Errorf("read the biz type: %w", err)
	}
	asked := &lacunav1.BizType{}
	if err := protojson.Unmarshal(text, asked); err != nil {
		return fmt.Errorf("read the biz type in %s: %w", c.File, err)
	}
	b, err := putBizType(ctx, c.api, asked)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: revision %d\n", b.GetName(), b.GetRevision())
	return nil
}

func putBizType(ctx context.Context, a api, asked *lacunav1.BizType) (*lacunav1.BizType, error) {
	response, err := a.operator().PutBizType(ctx, connect.NewRequest(&lacunav1.PutBizTypeRequest{BizType: asked}))
	if err == nil {
		return response.Msg.GetBizType(), nil
	}
	if connect.CodeOf(err) == connect.CodeAborted {
		err = fmt.Errorf("it exists at another revision, since somebody has made or changed it: look at it by `lacuna types get %s` and begin again from there: %w", asked.GetName(), err)
	}
	return nil, fmt.Errorf("put biz type %s with revision %d: %w", asked.GetName(), asked.GetRevision(), err)
}

// bizTypeChanges compares two spellings of a biz type, and gives what of the second differs from the first, as JSON
// that changes nothing else, and a line in words for each difference.
func bizTypeChanges(was, is []byte) (change []byte, lines []string, err error) {
	var before, after map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(was, &before), json.Unmarshal(is, &after)); err != nil {
		return nil, nil, fmt.Errorf("it is not JSON any more: %w", err)
	}
	changed := map[string]json.RawMessage{}
	for _, field := range sortedKeys(before, after) {
		old, now := compactJSON(before[field]), compactJSON(after[field])
		switch {
		case old == now:
		case field == "name" || field == "revision":
			return nil, nil, fmt.Errorf("%s is not changed here: leave it at %s", field, old)
		case now == "" && field == "probe":
			changed[field] = json.RawMessage("{}")
		case now == "":
			return nil, nil, fmt.Errorf("%s was taken out, which changes nothing: write the value that it is to have", field)
		default:
			changed[field] = after[field]
		}
		if old != now {
			lines = append(lines, fmt.Sprintf("%s: %s -> %s", field, orDash(old), orDash(now)))
		}
	}
	if len(changed) == 0 {
		return nil, nil, nil
	}
	changed["name"], changed["revision"] = before["name"], before["revision"]
	change, err = json.Marshal(changed)
	return change, lines, err
}
