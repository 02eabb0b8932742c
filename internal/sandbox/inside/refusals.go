package inside

import "github.com/tenon-mcp/tenon/internal/sandbox"

// refusals are what the program says why it does not do something, each by a word. The
// sentences are ours: code that takes the program's place can choose among them, and say
// nothing of its own.
var refusals = map[string]*sandbox.Error{
	"ENOENT":       invalid("there is no such file or folder"),
	"ELOOP":        invalid("the path leads out of " + sandbox.Home + " by a symbolic link"),
	"EISDIR":       invalid("it is a folder, not a file"),
	"ENOTDIR":      invalid("a part of the path is a file, not a folder"),
	"ENXIO":        invalid("it is no ordinary file"),
	"ENAMETOOLONG": invalid("the path is too long"),
	"EACCES":       invalid("the code of the sandbox has taken away the right to it"),
	"EPERM":        invalid("the code of the sandbox has taken away the right to it"),
	"EROFS":        invalid("nothing can be written there"),
	"E2BIG":        invalid("the command is too long"),
	"ENOSPC":       full,
	"EDQUOT":       full,
	"EFBIG":        full,
	"EMFILE":       busy,
	"ENFILE":       busy,
	"EAGAIN":       busy,
	"ENOMEM":       limit("the sandbox has no memory left"),
	"large":        limit("the file is too large"),
}

var (
	full = limit("the disk of the sandbox is full: remove files, or create another sandbox")
	busy = limit("the sandbox has too much open or running already: end some of it from Python code in it, or create another sandbox")
)

func invalid(text string) *sandbox.Error { return &sandbox.Error{Kind: sandbox.Invalid, Text: text} }

func limit(text string) *sandbox.Error { return &sandbox.Error{Kind: sandbox.Limit, Text: text} }

func (r reply) err() error {
	if r.Error == "" {
		return nil
	}
	if known := refusals[r.Error]; known != nil {
		return known
	}
	return invalid("the sandbox could not do it, and gave no reason that is known")
}
