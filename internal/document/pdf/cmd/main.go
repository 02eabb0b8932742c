// Command cmd is the child that reads PDF, alone: tests start it in place of themselves,
// for with the race detector it takes eight times as long.
package main

import (
	"context"
	"os"

	"github.com/tenon-mcp/tenon/internal/document/pdf"
)

func main() { pdf.Serve(context.Background(), os.Stdin, os.Stdout) }
