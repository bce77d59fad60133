package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// schemas replace those that describe any Connect service.
//
//go:embed schemas.yaml
var schemas []byte

// keyHeader is the other spelling of NextRequest.idempotency_key.
const keyHeader = `
name: Idempotency-Key
in: header
description: Another spelling of the field idempotencyKey; in quotes or without.
schema: {type: string, minLength: 1, maxLength: 130}
`

const header = "# Generated from the protos by make generate. DO NOT EDIT.\n"

// mend makes the document as true as the service.
func mend(document []byte) ([]byte, error) {
	var root, ours, key yaml.Node
	for text, node := range map[*[]byte]*yaml.Node{&document: &root, &schemas: &ours} {
		if err := yaml.Unmarshal(*text, node); err != nil {
			return nil, err
		}
	}
	if err := yaml.Unmarshal([]byte(keyHeader), &key); err != nil {
		return nil, err
	}
	top := root.Content[0]
	all := child(child(top, "components"), "schemas")
	if all == nil {
		return nil, fmt.Errorf("the document has no components.schemas")
	}
	for i := 0; i+1 < len(ours.Content[0].Content); i += 2 {
		put(all, ours.Content[0].Content[i].Value, ours.Content[0].Content[i+1])
	}
	for _, unused := range []string{"compression", "connect"} {
		remove(all, unused)
	}
	walk(top, mendNode)
	next := child(child(child(top, "paths"), "/lacuna.v1.SequenceService/Next"), "post")
	if next == nil {
		return nil, fmt.Errorf("the document has no call of Next")
	}
	parameters := child(next, "parameters")
	parameters.Content = append(parameters.Content, key.Content[0])

	var out bytes.Buffer
	out.WriteString(header)
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(&root); err != nil {
		return nil, err
	}
	return out.Bytes(), encoder.Close()
}

// mendNode mends one object of the document.
func mendNode(n *yaml.Node) {
	// OpenAPI 3.1 has none, and what is absent is left out.
	drop(n, "nullable")
	if t := child(n, "type"); t != nil && t.Kind == yaml.SequenceNode { // 64 bits: a string in every answer
		put(n, "type", scalar("string"))
		put(n, "pattern", scalar("^-?[0-9]+$"))
	}
	if d := child(n, "description"); d != nil && d.Kind == yaml.ScalarNode {
		d.Value = strings.ReplaceAll(d.Value, "\n ", "\n")
	}
	if s := child(n, "summary"); s != nil {
		s.Value = firstSentence(s.Value)
	}
	if p := child(n, "parameters"); p != nil {
		var kept []*yaml.Node
		for _, parameter := range p.Content {
			switch name := child(parameter, "name"); name.Value {
			case "compression", "connect": // identity is the only one; what is not v1 is refused
				continue
			case "Connect-Protocol-Version":
				drop(parameter, "required")
			}
			kept = append(kept, parameter)
		}
		p.Content = kept
	}
}

func firstSentence(text string) string {
	sentence, _, more := strings.Cut(strings.Join(strings.Fields(text), " "), ". ")
	if more {
		sentence += "."
	}
	return sentence
}

func walk(n *yaml.Node, visit func(*yaml.Node)) {
	if n.Kind == yaml.MappingNode {
		visit(n)
	}
	for _, c := range n.Content {
		walk(c, visit)
	}
}

// child gives a key's value; nil where n is nil or has no such key.
func child(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// put sets a key's value.
func put(n *yaml.Node, key string, value *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content[i+1] = value
			return
		}
	}
	n.Content = append(n.Content, scalar(key), value)
}

// drop removes a key, unless it is the name of a field, whose value is an object.
func drop(n *yaml.Node, key string) {
	if value := child(n, key); value != nil && value.Kind == yaml.ScalarNode {
		remove(n, key)
	}
}

func remove(n *yaml.Node, key string) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			n.Content = append(n.Content[:i], n.Content[i+2:]...)
			return
		}
	}
}

func scalar(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
}
