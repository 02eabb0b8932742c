package cli

import (
	"fmt"
	"io"
	"os"
)

// maxInput bounds what is read of a file or of standard input: the size of the
// largest message that a server may send.
const maxInput = 64 << 20

// readInput reads a file whole, or standard input where its name is "-".
func readInput(a *app, name string) ([]byte, error) {
	in := a.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	if err == nil && len(text) > maxInput {
		err = fmt.Errorf("%s is larger than %d MiB", name, maxInput>>20)
	}
	return text, err
}
