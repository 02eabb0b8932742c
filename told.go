package tenon

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
)

// sessionKey is the member of _meta that tells a bundled server whose call it is.
const sessionKey = "tenon/session"

// told tells a bundled server whose call it is, so that it keeps apart what belongs to
// two sessions, and how long the caller waits: it then ends a little earlier, and says
// what the call hung on. Whatever the client said there is replaced. No other server
// is told anything.
func told(v view, r *call.Request, m *member, params []byte) []byte {
	if m.entry == nil || m.entry.Bundled == "" {
		return params
	}
	var fields []jsonrpc.Field
	switch name := v.sessions.of(r.Caller.Name, r.SessionName()); {
	case name != "":
		fields = append(fields, jsonrpc.Field{Key: sessionKey, Value: jsonrpc.Quote(nil, name)})
	case bytes.Contains(params, []byte("tenon")) || bytes.Contains(params, []byte(`\u`)):
		fields = append(fields, jsonrpc.Field{Key: sessionKey, Value: []byte("null")}) // nobody names one for himself
	}
	if left, ok := r.Fixed(); ok && left >= time.Millisecond {
		fields = append(fields, jsonrpc.Field{Key: "tenon/timeout_ms", Value: strconv.AppendInt(nil, left.Milliseconds(), 10)})
	}
	if len(fields) == 0 {
		return params
	}
	edited, err := jsonrpc.EditMeta(params, fields...)
	if err != nil {
		return params // the server cannot read them either
	}
	return edited.Join()
}

// sessionNames are the names by which bundled servers know sessions: the same one for
// a caller's session each time, also after a restart, and one from which nobody learns
// what the caller calls it, or makes that of somebody else.
type sessionNames struct {
	dir  string // of the key; empty keeps none
	warn func(msg string, args ...any)

	once sync.Once
	key  []byte
}

// of returns the name of a caller's session: of all that a caller does without one
// where session is empty, and "" for a local user without one.
func (n *sessionNames) of(caller, session string) string {
	if caller == "" && session == "" {
		return ""
	}
	n.once.Do(func() {
		var err error
		if n.key, err = keptKey(n.dir); err != nil {
			n.warn("sessions get other names at bundled servers after a restart, for their key cannot be kept", "error", err)
		}
	})
	h := hmac.New(sha256.New, n.key)
	fmt.Fprintf(h, "%d %s%s", len(caller), caller, session)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:18])
}

// sessionKeyFile is where the key of the names is kept, in the state folder.
const sessionKeyFile = "sessions.key"

// keyBytes is how long a key is.
const keyBytes = 32

// keptKey returns the key in a folder, and makes it where there is none. With an error
// it is a key for this time alone.
func keptKey(dir string) ([]byte, error) {
	key := make([]byte, keyBytes)
	_, _ = rand.Read(key) // it never fails
	if dir == "" {
		return key, nil
	}
	path := filepath.Join(dir, sessionKeyFile)
	if kept, err := os.ReadFile(path); err == nil && len(kept) == keyBytes {
		return kept, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return key, err
	}
	tmp, err := os.CreateTemp(dir, sessionKeyFile+".*") // for its user alone
	if err != nil {
		return key, err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(key)
	if closed := tmp.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return key, err
	}
	if err := os.Link(tmp.Name(), path); err == nil { // whole, or not at all
		return key, nil
	}
	kept, err := os.ReadFile(path) // another process was first
	if err == nil && len(kept) != keyBytes {
		err = fmt.Errorf("%s is damaged; remove it", path)
	}
	if err != nil {
		return key, err
	}
	return kept, nil
}
