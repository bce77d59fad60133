package main

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// strictJSON is Connect's JSON codec, but that it refuses fields which do not exist: a mistyped
// field that is dropped in silence would be worse than an error. Responses carry every field that
// has a value.
type strictJSON struct{}

// Name is the codec's content subtype.
func (strictJSON) Name() string { return "json" }

// Marshal spells a message as JSON.
func (strictJSON) Marshal(message any) ([]byte, error) {
	m, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no message", message)
	}
	return protojson.Marshal(m)
}

// Unmarshal reads a message from JSON; an empty body is an empty message.
func (strictJSON) Unmarshal(data []byte, message any) error {
	m, ok := message.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is no message", message)
	}
	if len(data) == 0 {
		data = []byte("{}")
	}
	return protojson.Unmarshal(data, m)
}
