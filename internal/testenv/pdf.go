package testenv

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// PDF returns a program that reads PDF as Tenon's child does, and the folder of code that
// it has compiled already. Both are built without the race detector, under which they
// take eight times as long, and all packages share the folder.
//
// Where the process itself is to read PDF, $XDG_CACHE_HOME set to .cache in the root lets
// it find the code too.
func PDF(tb testing.TB) (program, compiled string) {
	tb.Helper()
	root := Root(tb)
	compiled = filepath.Join(root, ".cache", "tenon", "compiled")
	program, err := readPDF(root, compiled)
	if err != nil {
		tb.Fatal(err)
	}
	return program, compiled
}

var (
	onePDF sync.Mutex
	built  string
)

func readPDF(root, compiled string) (string, error) {
	onePDF.Lock()
	defer onePDF.Unlock()
	if built != "" {
		return built, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	program := filepath.Join(root, ".cache", "bin", "read-pdf")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	fresh := fmt.Sprintf("%s.%d", program, os.Getpid())
	// Code is kept for a version, which test programs do not know of themselves.
	build := exec.CommandContext(ctx, "go", "build", "-ldflags=-X=github.com/tetratelabs/wazero/internal/version.version=dev", "-o", fresh, "./internal/document/pdf/cmd")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program that reads PDF: %w\n%s", err, out)
	}
	if err := os.Rename(fresh, program); err != nil { // other packages do the same
		return "", err
	}
	// Whatever it is given, it compiles its code first.
	head, err := json.Marshal(map[string]any{"size": 1, "cache": compiled})
	if err != nil {
		return "", err
	}
	warm := exec.CommandContext(ctx, program)
	warm.Stdin = strings.NewReader(string(head) + "\n%")
	if out, err := warm.CombinedOutput(); err != nil {
		return "", fmt.Errorf("compile what reads PDF: %w\n%s", err, out)
	}
	built = program
	return program, nil
}
