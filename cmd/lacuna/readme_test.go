package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	fencedBlock = regexp.MustCompile("(?ms)^```.*?^```$")
	inlineCode  = regexp.MustCompile("`([^`]+)`")
	linkTarget  = regexp.MustCompile(`\]\(([^)#]+)[^)]*\)`) // of other files: headings have their own names in each language
	headingLine = regexp.MustCompile(`(?m)^(#+) (.*)$`)
	tableRow    = regexp.MustCompile(`(?m)^\|`)
)

// readmeSection is what a section of a README says that is the same in every language.
type readmeSection struct {
	heading, level      string
	blocks, code, links []string
	rows                int
}

func readmeSections(t *testing.T, path string) (sections []readmeSection) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	blocks := fencedBlock.FindAllString(string(text), -1)
	prose := fencedBlock.ReplaceAllString(string(text), "\x00") // # in a block is no heading
	headings := headingLine.FindAllStringSubmatchIndex(prose, -1)
	for i, h := range headings {
		end := len(prose)
		if i+1 < len(headings) {
			end = headings[i+1][0]
		}
		body := prose[h[1]:end]
		s := readmeSection{heading: prose[h[4]:h[5]], level: prose[h[2]:h[3]], rows: len(tableRow.FindAllString(body, -1))}
		n := strings.Count(body, "\x00")
		s.blocks, blocks = blocks[:n], blocks[n:]
		for _, code := range inlineCode.FindAllStringSubmatch(body, -1) {
			s.code = append(s.code, strings.Join(strings.Fields(code[1]), " "))
		}
		for _, link := range linkTarget.FindAllStringSubmatch(body, -1) {
			s.links = append(s.links, link[1])
		}
		slices.Sort(s.code)
		slices.Sort(s.links)
		sections = append(sections, s)
	}
	return sections
}

// What is changed in one README is changed in the other: the sections, and in each its examples, tables, links, and whatever
// stands as code.
func TestBothREADMEsSayTheSame(t *testing.T) {
	english, chinese := readmeSections(t, "../../README.md"), readmeSections(t, "../../README.zh-CN.md")
	require.Equal(t, len(english), len(chinese), "README.md and README.zh-CN.md have as many sections")
	for i, e := range english {
		c := chinese[i]
		where := "README.md, " + e.heading + "; README.zh-CN.md, " + c.heading
		require.Equal(t, e.level, c.level, where)
		require.Equal(t, e.blocks, c.blocks, where)
		require.Equal(t, e.rows, c.rows, "rows of tables in "+where)
		if i == 0 { // each leads to the other
			require.Equal(t, []string{"README.zh-CN.md"}, e.links)
			require.Equal(t, []string{"README.md"}, c.links)
			continue
		}
		require.Equal(t, e.links, c.links, where)
		require.Equal(t, e.code, c.code, where)
	}
}
