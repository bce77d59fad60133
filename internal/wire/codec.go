package wire

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Codec is Connect's JSON codec, but that it refuses fields which do not exist: a mistyped
// field that is dropped in silence would be worse than an error. Responses carry every field that
// has a value.
type Codec struct{}

// Name is the codec's content subtype.
func (Codec) Name() string { return "json" }

// Marshal spells a message as JSON.
func (Codec) Marshal(message any) ([]byte, error) {
	m, ok := message.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("%T is no message", message)
	}
	return protojson.Marshal(m)
}

// Unmarshal reads a message from JSON; an empty body is an empty message.
func (Codec) Unmarshal(data []byte, message any) error {
	m, ok := message.(proto.Message)
	if !ok {
		return fmt.Errorf("%T is no message", message)
	}
	if len(data) == 0 {
		data = []byte("{}")
	}
	return protojson.Unmarshal(data, m)
}
