package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	lacunav1 "github.com/lacuna-seq/lacuna/api/lacuna/v1"
)

func orderType() *lacunav1.BizType {
	return &lacunav1.BizType{
		Name: "ORDER", Format: proto.String("A-{seq:6}"), Source: lacunav1.Source_SOURCE_SEGMENT.Enum(), ConfirmTimeout: durationpb.New(15 * time.Minute), SafetyWindow: durationpb.New(2 * time.Minute),
		MaxReplays: proto.Int32(2), Reuse: lacunav1.Reuse_REUSE_ANY.Enum(), Track: lacunav1.Track_TRACK_EVERY.Enum(), Revision: proto.Int64(3),
		Probe: &lacunav1.Probe{By: &lacunav1.Probe_Http{Http: &lacunav1.HTTPProbe{Url: "http://shop"}}},
	}
}

// editor is a program that changes a file by sed.
func editor(t *testing.T, script string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "editor")
	require.NoError(t, os.WriteFile(name, []byte("#!/bin/sh\nexec sed -i '"+script+"' \"$1\"\n"), 0o700)) //nolint:gosec // it is to be run
	t.Setenv("VISUAL", "")
	t.Setenv("EDITOR", name)
}

func TestTypesAreListedAndPutBack(t *testing.T) {
	f := &fake{bizType: orderType()}
	out, err := f.lacuna(t, "types", "list")
	require.NoError(t, err)
	require.Equal(t, []string{"ORDER", "A-{seq:6}", "SEGMENT", "15m0s", "2m0s", "2", "ANY", "EVERY", "3"}, fields(out)[1])

	text, err := f.lacuna(t, "types", "get", "ORDER")
	require.NoError(t, err)
	require.Contains(t, text, "  \"safetyWindow\": \"120s\",\n")
	out, _, err = f.lacunaAt(t, text, false, "types", "put", "-")
	require.NoError(t, err)
	require.Equal(t, "ORDER: revision 4\n", out)
	require.True(t, proto.Equal(orderType(), last[*lacunav1.PutBizTypeRequest](t, f).GetBizType()), "what get prints is what put takes")

	_, _, err = f.lacunaAt(t, `{"name":"ORDER","safetyWindows":"60s"}`, false, "types", "put", "-")
	require.ErrorContains(t, err, "safetyWindows", "a field that is mistyped")
	f.put = func(*lacunav1.BizType) error {
		return connect.NewError(connect.CodeAborted, errors.New("the revision is 5"))
	}
	_, _, err = f.lacunaAt(t, text, false, "types", "put", "-")
	require.ErrorContains(t, err, "put biz type ORDER with revision 3: it exists at another revision")
}

func TestTypesEdit(t *testing.T) {
	t.Run("puts back what was changed, with the revision that was read", func(t *testing.T) {
		f := &fake{bizType: orderType()}
		editor(t, `s/"120s"/"60s"/; s/"maxReplays": 2/"maxReplays": 0/`)
		out, err := f.lacuna(t, "types", "edit", "ORDER")
		require.NoError(t, err)
		require.Equal(t, "ORDER: revision 4\n  maxReplays: 2 -> 0\n  safetyWindow: \"120s\" -> \"60s\"\n", out)
		want := &lacunav1.BizType{Name: "ORDER", Revision: proto.Int64(3), MaxReplays: proto.Int32(0), SafetyWindow: durationpb.New(time.Minute)}
		require.True(t, proto.Equal(want, last[*lacunav1.PutBizTypeRequest](t, f).GetBizType()))
	})
	t.Run("changes nothing where nothing was", func(t *testing.T) {
		f := &fake{bizType: orderType()}
		editor(t, ``)
		out, err := f.lacuna(t, "types", "edit", "ORDER")
		require.NoError(t, err)
		require.Equal(t, "ORDER: nothing was changed\n", out)
	})
	t.Run("keeps the text where it is refused", func(t *testing.T) {
		f := &fake{bizType: orderType(), put: func(*lacunav1.BizType) error {
			return connect.NewError(connect.CodeAborted, errors.New("the revision is 5"))
		}}
		editor(t, `s/"120s"/"60s"/`)
		_, err := f.lacuna(t, "types", "edit", "ORDER")
		require.ErrorContains(t, err, "it exists at another revision")
		kept := regexp.MustCompile(`your text is in (\S+)`).FindStringSubmatch(err.Error())
		require.Len(t, kept, 2)
		text, err := os.ReadFile(kept[1])
		require.NoError(t, err)
		require.Contains(t, string(text), `"60s"`)
		require.NoError(t, os.Remove(kept[1]))
	})
}

func TestTypesEditWithoutAnEditorLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	_, err := (&fake{bizType: orderType()}).lacuna(t, "types", "edit", "ORDER", "--editor", "/no/such/editor")
	require.ErrorContains(t, err, "run the editor /no/such/editor")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestChangesOfABizType(t *testing.T) {
	was := []byte(`{"name":"ORDER","revision":"3","maxReplays":2,"probe":{"http":{"url":"http://shop"}}}`)
	change, lines, err := bizTypeChanges(was, []byte(`{"name":"ORDER","revision":"3","maxReplays":2}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"name":"ORDER","revision":"3","probe":{}}`, string(change), "a probe that is taken out is taken away")
	require.Equal(t, []string{`probe: {"http":{"url":"http://shop"}} -> -`}, lines)
	for words, is := range map[string]string{
		"name is not changed here":     `{"name":"OTHER","revision":"3","maxReplays":2}`,
		"revision is not changed here": `{"name":"ORDER","maxReplays":2}`,
		"maxReplays was taken out":     `{"name":"ORDER","revision":"3"}`,
		"not JSON any more":            `{"name":`,
	} {
		_, _, err := bizTypeChanges(was, []byte(is))
		require.ErrorContains(t, err, words)
	}
}
