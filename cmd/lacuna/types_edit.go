package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

type typesEdit struct {
	api
	Name   string `arg:"" help:"Its name."`
	Editor string `placeholder:"vi" help:"The editor, with its arguments; $VISUAL, else $EDITOR, where nothing is said."`
}

// Run opens the present rules in an editor and puts back what was changed, with the revision that was read: a change
// by somebody else in between is refused. What could not be put back stays in the file.
func (c typesEdit) Run(ctx context.Context, out io.Writer, t *terminal) error {
	b, err := readBizType(ctx, c.api, c.Name)
	if err != nil {
		return err
	}
	was, err := indented(b)
	if err != nil {
		return err
	}
	file, err := writeTemporary(c.Name, was)
	if err != nil {
		return err
	}
	err = c.edit(ctx, out, t, file, was)
	if err == nil {
		return os.Remove(file)
	}
	if is, read := os.ReadFile(file); read == nil && bytes.Equal(is, was) { // nothing is lost with it
		_ = os.Remove(file)
		return err
	}
	return fmt.Errorf("%w\nyour text is in %s", err, file)
}

func (c typesEdit) edit(ctx context.Context, out io.Writer, t *terminal, file string, was []byte) error {
	words := strings.Fields(cmp.Or(strings.TrimSpace(c.Editor), strings.TrimSpace(os.Getenv("VISUAL")), strings.TrimSpace(os.Getenv("EDITOR")), "vi"))
	editor := exec.CommandContext(ctx, words[0], append(words[1:], file)...) //nolint:gosec // the user's own editor
	editor.Stdin, editor.Stdout, editor.Stderr = t.in, t.out, t.out
	if err := editor.Run(); err != nil {
		return fmt.Errorf("run the editor %s: %w", words[0], err)
	}
	is, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	change, lines, err := bizTypeChanges(was, is)
	if err != nil {
		return fmt.Errorf("edit biz type %s: %w", c.Name, err)
	}
	if len(lines) == 0 {
		fmt.Fprintf(out, "%s: nothing was changed\n", c.Name)
		return nil
	}
	asked := &lacunav1.BizType{}
	if err := protojson.Unmarshal(change, asked); err != nil {
		return fmt.Errorf("edit biz type %s: %w", c.Name, err)
	}
	b, err := putBizType(ctx, c.api, asked)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: revision %d\n  %s\n", c.Name, b.GetRevision(), strings.Join(lines, "\n  "))
	return nil
}

func writeTemporary(name string, text []byte) (string, error) {
	f, err := os.CreateTemp("", "lacuna-"+name+"-*.json")
	if err != nil {
		return "", err
	}
	_, err = f.Write(text)
	return f.Name(), cmp.Or(err, f.Close())
}

func sortedKeys(maps ...map[string]json.RawMessage) (all []string) {
	for _, m := range maps {
		for key := range m {
			all = append(all, key)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// compactJSON is a value without blanks between its parts; "" for none.
func compactJSON(value json.RawMessage) string {
	var compact bytes.Buffer
	if json.Compact(&compact, value) != nil {
		return string(value)
	}
	return compact.String()
}
