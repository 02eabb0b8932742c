package suite

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A server is an entry of the gateway's configuration.
type server struct {
	command []string // stdio, or
	url     string   // streamable HTTP
}

// configuration returns a tenon.yaml with these servers. Answers are not cut,
// since a cut answer is cheaper than a whole one, and calls are recorded in memory,
// since the disk of the machine is not what is measured.
func configuration(servers ...server) (string, error) {
	var b strings.Builder
	b.WriteString("version: 1\nstore: {url: memory}\nservers:\n")
	for i, s := range servers {
		entry := map[string]any{"url": s.url}
		if s.url == "" {
			entry = map[string]any{"command": s.command[0], "args": s.command[1:]}
		}
		flow, err := json.Marshal(entry) // which is YAML too
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "  bench%d: %s\n", i+1, flow)
	}
	b.WriteString("tools:\n  \"*/*\": {max_result_chars: 0}\n")
	return b.String(), nil
}
