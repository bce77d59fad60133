package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	inSession = regexp.MustCompile(`(?m)^\$ lacuna ([^#\n]*)`)
	inText    = regexp.MustCompile("`lacuna ([^`]*)`")
	shellWord = regexp.MustCompile(`"[^"]*"|\S+`)
)

// Every command that the documents show is one that the program takes, with these flags.
func TestDocumentsShowCommandsThatThereAre(t *testing.T) {
	t.Setenv("LACUNA_MYSQL_DSN", "user:password@tcp(host:3306)/database")
	files, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	seen := 0
	for _, file := range append(files, "../../README.md", "../../README.zh-CN.md") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range append(inSession.FindAllStringSubmatch(string(text), -1), inText.FindAllStringSubmatch(string(text), -1)...) {
			if strings.ContainsAny(match[1], "[…") { // a pattern, and no example
				continue
			}
			var args []string
			for _, word := range shellWord.FindAllString(match[1], -1) {
				args = append(args, strings.Trim(word, `"`))
			}
			var c commands
			parser, err := newParser(t.Context(), &c, io.Discard, &terminal{})
			require.NoError(t, err)
			_, err = parser.Parse(args)
			if err != nil && !strings.HasPrefix(err.Error(), "expected ") && !strings.HasPrefix(err.Error(), "missing flags") { // the name of a command, without its arguments
				t.Errorf("%s: lacuna %s: %v", file, match[1], err)
			}
			seen++
		}
	}
	require.Greater(t, seen, 30)
}

// The sections of the runbook that stuck names are there.
func TestStuckLinksIntoTheRunbook(t *testing.T) {
	book, err := os.ReadFile("../../" + runbook)
	require.NoError(t, err)
	anchors := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(book), -1) {
		anchors[strings.ReplaceAll(strings.ToLower(heading[1]), " ", "-")] = true
	}
	source, err := os.ReadFile("stuck.go")
	require.NoError(t, err)
	links := regexp.MustCompile(`runbook \+ "#([^"]*)"`).FindAllStringSubmatch(string(source), -1)
	require.NotEmpty(t, links)
	for _, link := range links {
		require.True(t, anchors[link[1]], "%s has no section %s", runbook, link[1])
	}
}
