package main

import (
	"fmt"
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
	linkTarget  = regexp.MustCompile(`\]\(([^)]+)\)|<(https?://[^>]+)>`)
	blockRemark = regexp.MustCompile(`(?m)(^|[ \t]+)(#|//) .*$`) // may be translated
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
	for i, block := range blocks {
		blocks[i] = blockRemark.ReplaceAllString(block, "")
	}
	prose := fencedBlock.ReplaceAllString(string(text), "\x00") // # in a block is no heading
	headings := headingLine.FindAllStringSubmatchIndex(prose, -1)
	anchors := map[string]string{} // headings have their own names in each language: what counts is which one is meant
	for i, h := range headings {
		anchors["#"+strings.ReplaceAll(strings.ToLower(prose[h[4]:h[5]]), " ", "-")] = fmt.Sprintf("section %d of this file", i)
	}
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
			target := link[1] + link[2]
			if strings.HasPrefix(target, "#") {
				require.Contains(t, anchors, target, "%s, %s: the link leads to no heading", path, s.heading)
				target = anchors[target]
			}
			if i > 0 || !strings.HasPrefix(target, "README") { // at the top, each leads to the other
				s.links = append(s.links, target)
			}
		}
		sections = append(sections, s)
	}
	return sections
}

// lacks is what stands in a more often than in b.
func lacks(a, b []string) (missing []string) {
	left := slices.Clone(b)
	for _, x := range a {
		if i := slices.Index(left, x); i >= 0 {
			left = slices.Delete(left, i, i+1)
		} else {
			missing = append(missing, x)
		}
	}
	return missing
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
		require.Empty(t, lacks(e.links, c.links), "links that README.zh-CN.md lacks: "+where)
		require.Empty(t, lacks(c.links, e.links), "links that README.md lacks: "+where)
		require.Empty(t, lacks(e.code, c.code), "code that README.zh-CN.md lacks: "+where)
		require.Empty(t, lacks(c.code, e.code), "code that README.md lacks: "+where)
	}
	require.Contains(t, readmeTop(t, "../../README.md"), "[简体中文](README.zh-CN.md)")
	require.Contains(t, readmeTop(t, "../../README.zh-CN.md"), "[English](README.md)")
}

// readmeTop is what stands above the first section.
func readmeTop(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	top, _, _ := strings.Cut(string(text), "\n## ")
	return top
}
