// Command openapi is a plugin of buf: it makes api/openapi.yaml with protoc-gen-connect-openapi, and mends what that
// says of every Connect service and is not so of this one.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/sudorandom/protoc-gen-connect-openapi/converter"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	request := &pluginpb.CodeGeneratorRequest{}
	if err := proto.Unmarshal(text, request); err != nil {
		return fmt.Errorf("read the request of buf: %w", err)
	}
	response, err := converter.Convert(request)
	if err != nil {
		return fmt.Errorf("convert the protos: %w", err)
	}
	for _, file := range response.GetFile() {
		mended, err := mend([]byte(file.GetContent()))
		if err != nil {
			return fmt.Errorf("mend %s: %w", file.GetName(), err)
		}
		file.Content = proto.String(string(mended))
	}
	text, err = proto.Marshal(response)
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}
