package proc

import "os"

// An Input is the standard input of a child: a pipe that takes deadlines.
type Input struct{ *os.File }
