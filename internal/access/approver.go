package access

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tenon-mcp/tenon/tool"
)

// approverFile is the name of the approver's token in the state folder.
const approverFile = "approver-token"

// ReadApprover returns the approver's token that is kept in the state folder. The
// zero Secret says that there is none yet.
func ReadApprover(dir string) (tool.Secret, error) {
	path := filepath.Join(dir, approverFile)
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return tool.Secret{}, nil
	}
	if err != nil {
		return tool.Secret{}, err
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return tool.Secret{}, fmt.Errorf("%s can be read by others than its owner, so it is no secret: remove it, and a new one is made", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return tool.Secret{}, err
	}
	token := strings.TrimSpace(string(text))
	if len(token) < minApprover {
		return tool.Secret{}, fmt.Errorf("%s holds no token: remove it, and a new one is made", path)
	}
	return tool.NewSecret(token), nil
}

// minApprover is how long a token of the file must be: one that is shorter was cut.
const minApprover = 20

// MakeApprover returns the approver's token that is kept in the state folder, and
// makes one where there is none.
func MakeApprover(dir string) (tool.Secret, error) {
	token, err := ReadApprover(dir)
	if err != nil || token.Reveal() != "" {
		return token, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return tool.Secret{}, err
	}
	// The whole file is linked to its name, so that of two gateways that start at
	// once one makes the token, and neither reads half of it.
	f, err := os.CreateTemp(dir, approverFile+".*.new") // of mode 0600
	if err != nil {
		return tool.Secret{}, err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString("tna_" + strings.ToLower(rand.Text()+rand.Text()) + "\n")
	if err := errors.Join(err, f.Close()); err != nil {
		return tool.Secret{}, err
	}
	path := filepath.Join(dir, approverFile)
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		if err := os.Rename(f.Name(), path); err != nil { // a file system without links
			return tool.Secret{}, err
		}
	}
	return ReadApprover(dir)
}
