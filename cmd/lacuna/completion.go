package main

import (
	"io"
	"slices"
	"strings"
	"text/template"

	"github.com/alecthomas/kong"
)

// completionCommand prints what makes a shell complete commands and flags.
type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish. To try it in bash: . <(lacuna completion bash)"`
}

// Run prints a script that knows every command and flag of this program; it calls nothing when it completes.
func (c completionCommand) Run(out io.Writer, k *kong.Context) error {
	return completions[c.Shell].Execute(out, completedNodes(k.Model.Node, ""))
}

// completedNode is a command and what may follow it.
type completedNode struct {
	Path     string // each command with a blank before it; empty for lacuna itself
	Commands []completedWord
	Flags    []completedWord
}

type completedWord struct{ Name, Help string }

// Words are the commands, the words of an argument, and the flags.
func (n completedNode) Words() string {
	var words []string
	for _, c := range n.Commands {
		words = append(words, c.Name)
	}
	for _, f := range n.Flags {
		words = append(words, "--"+f.Name)
	}
	return strings.Join(words, " ")
}

// completedNodes walks the commands from the node down.
func completedNodes(node *kong.Node, path string) []completedNode {
	n := completedNode{Path: path}
	var below []completedNode
	for _, child := range node.Children {
		if child.Type != kong.CommandNode || child.Hidden {
			continue
		}
		n.Commands = append(n.Commands, completedWord{child.Name, child.Help})
		below = append(below, completedNodes(child, path+" "+child.Name)...)
	}
	for _, p := range node.Positional {
		if p.Enum != "" {
			for _, word := range strings.Split(p.Enum, ",") {
				n.Commands = append(n.Commands, completedWord{Name: word})
			}
		}
	}
	for _, group := range node.AllFlags(true) {
		for _, f := range group {
			n.Flags = append(n.Flags, completedWord{f.Name, f.Help})
		}
	}
	slices.SortFunc(n.Flags, func(a, b completedWord) int { return strings.Compare(a.Name, b.Name) })
	return append([]completedNode{n}, below...)
}

const bashCompletion = `_lacuna() {
    local at="" word i list=""
    for ((i = 1; i < COMP_CWORD; i++)); do
        word="${COMP_WORDS[i]}"
        case "$at $word" in
{{- range .}}{{if .Path}}
            "{{.Path}}") at="{{.Path}}" ;;
{{- end}}{{end}}
        esac
    done
    case "$at" in
{{- range .}}
        "{{.Path}}") list="{{.Words}}" ;;
{{- end}}
    esac
    COMPREPLY=($(compgen -W "$list" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _lacuna lacuna
`

const fishCompletion = `function __lacuna_at
    set -l words (commandline -opc)
    set -e words[1]
    set -l at ''
    for word in $words
        switch "$at $word"
            case{{range .}}{{if .Path}} '{{.Path}}'{{end}}{{end}}
                set at "$at $word"
        end
    end
    test "$at" = "$argv[1]"
end
{{range .}}{{$path := .Path -}}
{{range .Commands}}complete -c lacuna -f -n "__lacuna_at '{{$path}}'" -a {{.Name}} -d '{{quote .Help}}'
{{end}}{{range .Flags}}complete -c lacuna -n "__lacuna_at '{{$path}}'" -l {{.Name}} -d '{{quote .Help}}'
{{end}}{{end}}`

// completions are the scripts by shell. Zsh reads that of bash.
var completions = map[string]*template.Template{
	"bash": template.Must(template.New("bash").Parse(bashCompletion)),
	"zsh":  template.Must(template.New("zsh").Parse("autoload -U +X bashcompinit && bashcompinit\n" + bashCompletion)),
	"fish": template.Must(template.New("fish").Funcs(template.FuncMap{"quote": func(s string) string {
		return strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s)
	}}).Parse(fishCompletion)),
}
