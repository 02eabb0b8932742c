package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// listed is a tool server on standard input and output whose tools are the lines of
// the file that it is given, each time it is asked for them: it may change its mind.
// Each call is answered with "done", and followed by the news that the list has
// changed. Its version is the second argument, its instructions are the third.
func listed() {
	arg := func(i int) string {
		if i < len(os.Args) {
			return os.Args[i]
		}
		return ""
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		result := `{}`
		switch m.Method {
		case "initialize":
			about, _ := json.Marshal(map[string]any{
				"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{"listChanged": true}},
				"serverInfo": map[string]any{"name": "listed", "version": arg(2)}, "instructions": arg(3),
			})
			result = string(about)
		case "tools/list":
			text, err := os.ReadFile(arg(1))
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			result = `{"tools":[` + string(bytes.Join(bytes.Split(bytes.TrimSpace(text), []byte("\n")), []byte(","))) + `]}`
		case "tools/call":
			result = `{"content":[{"type":"text","text":"done"}]}`
		case "ping":
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", m.ID)
			continue
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
		if m.Method == "tools/call" {
			fmt.Println(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
	}
	// The race detector would wait a second before a common end.
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Kill()
	}
}
