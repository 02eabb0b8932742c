package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

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

// approverPrefix begins every token that is made.
const approverPrefix = "tna_"

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
	_, err = f.WriteString(approverPrefix + strings.ToLower(rand.Text()+rand.Text()) + "\n")
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

// An approver is the approver's token as it is now.
type approver struct {
	dir   string // empty where it is given
	log   *slog.Logger
	learn func(tool.Secret)

	sum  atomic.Pointer[[sha256.Size]byte] // nil where there is none
	next atomic.Int64                      // when it is due to look, in ns since 1970
	turn chan struct{}                     // has room for the one who looks
	told string                            // the last error; of who has the turn
}

// newApprover returns what Options say of the token; nil is none.
func newApprover(o *Options, log *slog.Logger) *approver {
	a := &approver{dir: o.ApproverDir, log: log, learn: o.Learn, turn: make(chan struct{}, 1)}
	switch {
	case o.Approver.Reveal() != "":
		a.dir = ""
		a.set(o.Approver)
	case a.dir == "":
		return nil
	}
	a.look()
	return a
}

func (a *approver) set(token tool.Secret) {
	sum := sha256.Sum256([]byte(token.Reveal()))
	if old := a.sum.Load(); old != nil && *old == sum {
		return
	}
	if a.sum.Store(&sum); a.learn != nil {
		a.learn(token)
	}
}

// known reports whether there is a token that would be taken.
func (a *approver) known() bool { return a != nil && a.sum.Load() != nil }

// is reports whether a credential of this hash is the token. One that looks like it may
// have been made just now.
func (a *approver) is(sum *[sha256.Size]byte, alike bool) bool {
	if a == nil {
		return false
	}
	if time.Now().UnixNano() >= a.next.Load() {
		a.look()
	}
	same := func() bool {
		own := a.sum.Load()
		return own != nil && subtle.ConstantTimeCompare(own[:], sum[:]) == 1
	}
	if !same() && alike {
		a.look()
	}
	return same()
}

// look reads the token again where it is kept in a folder, and makes one where there is
// none. One that cannot be had is told to the log once.
func (a *approver) look() {
	if a == nil || a.dir == "" {
		return
	}
	a.turn <- struct{}{}
	defer func() { <-a.turn }()
	token, err := MakeApprover(a.dir)
	a.next.Store(time.Now().Add(lookInterval).UnixNano())
	if err == nil {
		a.told = ""
		a.set(token)
		return
	}
	a.sum.Store(nil)
	if text := stable(err); a.told != text {
		a.told = text
		a.log.Warn("no approver's token: nobody can decide approvals, or stop tools, over REST; it is tried again when somebody wants to", "error", err)
	}
}

// stable returns the text of an error without the name of a temporary file.
func stable(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Op + e.Err.Error()
	}
	return err.Error()
}
