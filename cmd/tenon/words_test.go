package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// words is a tool server on standard input and output. Its tools show what
// reaches them:
//
//	echo  gives back its arguments as they came; its schema has one of each type
//	say   says a text
//	fail  fails
//	wait  waits until it is canceled
//	slow  waits for ms milliseconds
//
// With WORDS=none it ends at once.
func words() {
	if os.Getenv("WORDS") == "none" {
		fmt.Fprintln(os.Stderr, "the disk is gone")
		return
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "words", Version: "1"}, nil)
	add := func(name, description, schema string, f func(ctx context.Context, arguments json.RawMessage) (string, error)) {
		s.AddTool(&mcp.Tool{Name: name, Description: description, InputSchema: json.RawMessage(schema)},
			func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				text, err := f(ctx, r.Params.Arguments)
				if err != nil {
					res := &mcp.CallToolResult{}
					res.SetError(err)
					return res, nil
				}
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil
			})
	}
	add("echo", "Gives back its arguments.\nThis line is not in tables.", `{"type":"object","properties":{
		"text":{"type":"string"},"count":{"type":"integer"},"ratio":{"type":"number"},"loud":{"type":"boolean"},
		"tags":{"type":"array","items":{"type":"string"}},"ids":{"type":"array","items":{"type":"integer"}},
		"point":{"type":"object"},"maybe":{"type":["integer","null"]},"either":{"anyOf":[{"type":"integer"},{"type":"string"}]},
		"mood":{"enum":["good","bad"]},"any":{},"ref":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}}`,
		func(_ context.Context, arguments json.RawMessage) (string, error) { return string(arguments), nil })
	add("say", "Says a text.", `{"type":"object","properties":{"text":{"type":"string"}}}`, func(_ context.Context, arguments json.RawMessage) (string, error) {
		var in struct{ Text string }
		err := json.Unmarshal(arguments, &in)
		return in.Text, err
	})
	add("fail", "Fails.", `{"type":"object"}`, func(context.Context, json.RawMessage) (string, error) {
		return "", errors.New("no luck: try echo")
	})
	add("wait", "Waits until it is canceled.", `{"type":"object"}`, func(ctx context.Context, _ json.RawMessage) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	add("slow", "Waits for a while.", `{"type":"object","properties":{"ms":{"type":"integer"}}}`, func(ctx context.Context, arguments json.RawMessage) (string, error) {
		var in struct{ MS int }
		if err := json.Unmarshal(arguments, &in); err != nil {
			return "", err
		}
		select {
		case <-time.After(time.Duration(in.MS) * time.Millisecond):
			return "waited", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	})
	_ = s.Run(context.Background(), &mcp.StdioTransport{}) // it ends when its client does
	// The race detector would wait a second before a common end, and the pool gives
	// a server no variable that could forbid it.
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
}
