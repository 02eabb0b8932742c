// Command go is a tool server of one's own: copy it, change the tool, and name it
// in tenon.yaml.
//
//	servers:
//	  dice: {command: go, args: [run, ./examples/go]}
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Roll is what the tool takes. The tags are what the model reads of it.
type Roll struct {
	Sides int `json:"sides" jsonschema:"sides of each die, 2 to 100"`
	Dice  int `json:"dice,omitempty" jsonschema:"how many dice, 1 to 100; 1 if left out"`
}

// Rolled is what the tool gives.
type Rolled struct {
	Values []int `json:"values"`
	Total  int   `json:"total"`
}

func roll(_ context.Context, _ *mcp.CallToolRequest, in Roll) (*mcp.CallToolResult, Rolled, error) {
	if in.Dice == 0 {
		in.Dice = 1
	}
	if in.Sides < 2 || in.Sides > 100 {
		return nil, Rolled{}, fmt.Errorf("sides must be between 2 and 100, not %d", in.Sides) // the model reads this
	}
	if in.Dice < 1 || in.Dice > 100 {
		return nil, Rolled{}, fmt.Errorf("dice must be between 1 and 100, not %d", in.Dice)
	}
	var out Rolled
	for range in.Dice {
		n := 1 + rand.IntN(in.Sides)
		out.Values = append(out.Values, n)
		out.Total += n
	}
	return nil, out, nil
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	server := mcp.NewServer(&mcp.Implementation{Name: "dice", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{
		Name:        "roll",
		Description: "Roll dice and give each value and the total.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, roll)
	// Standard output belongs to the protocol. Log to standard error.
	if err := server.Run(ctx, &mcp.StdioTransport{}); err != nil && !errors.Is(err, context.Canceled) {
		log.Print(err)
	}
}
