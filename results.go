package tenon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"

	"github.com/tenon-mcp/tenon/internal/call"
	"github.com/tenon-mcp/tenon/internal/catalog"
	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/lazy"
	"github.com/tenon-mcp/tenon/internal/proc"
	"github.com/tenon-mcp/tenon/internal/query"
	"github.com/tenon-mcp/tenon/internal/results"
	"github.com/tenon-mcp/tenon/internal/taint"
	"github.com/tenon-mcp/tenon/tool"
)

// ownServer is the server that the gateway's own tools belong to. It is no member
// of the pool: nothing runs, and nothing can fail.
const ownServer = "tenon"

// memoryOnly bounds the long results of a gateway that has no folder for them.
const memoryOnly = 64 << 20

// ReadOptions say what to read behind a handle, and how: by offset, page, regular
// expression or jq.
type ReadOptions = results.ReadOptions

// A Reading is what was read behind a handle.
type Reading = results.Reading

// ServeQuery is what the process of Options.Query does: it runs one query of jq
// that it reads, and returns the status to exit with. Where a query needs too much
// memory it calls exit by itself.
func ServeQuery(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer, exit func(status int)) int {
	return query.Serve(ctx, stdin, stdout, stderr, exit)
}

// longResults are the results that were cut.
type longResults struct{ store *results.Store }

func (l longResults) close() error {
	if l.store == nil {
		return nil // the gateway was not opened so far
	}
	return l.store.Close()
}

// openResults opens the store of long results.
func openResults(cfg *config.Config, from Options, spawner *proc.Spawner) longResults {
	o := results.Options{
		Dir: cfg.Store.Dir, MaxBytes: cfg.Store.MaxSize, TTL: cfg.Store.TTL, Logger: from.Logger,
		Query: query.Runner{Spawner: spawner, Command: from.Query, Env: proc.Environ(from.Env, nil)}.Run,
	}
	if o.Dir == "" {
		if cache := cacheDir(from.Env); cache != "" {
			o.Dir = filepath.Join(cache, "tenon", "results")
		} else if o.MaxBytes == 0 {
			o.MaxBytes = memoryOnly
		}
	}
	return longResults{results.New(o)}
}

// cacheDir returns the user's cache folder by the environment, or nothing.
func cacheDir(env []string) string {
	var home, cache string
	for _, e := range env {
		key, value, _ := strings.Cut(e, "=")
		if !filepath.IsAbs(value) {
			continue
		}
		switch {
		case key == "HOME":
			home = value
		case runtime.GOOS == "windows" && strings.EqualFold(key, "LocalAppData"), key == "XDG_CACHE_HOME":
			cache = value
		}
	}
	switch {
	case cache != "" && runtime.GOOS != "darwin":
		return cache
	case home == "" || runtime.GOOS == "windows":
		return ""
	case runtime.GOOS == "darwin":
		return filepath.Join(home, "Library", "Caches")
	}
	return filepath.Join(home, ".cache")
}

// ReadResult reads a long result behind a handle, on behalf of the caller whose
// call gave it. The error is a *tool.Error that says what to do next: of kind
// NotFound for a handle that has expired or belongs to somebody else, Invalid for
// a wrong question, Timeout for one that takes too long.
func (g *Gateway) ReadResult(ctx context.Context, caller tool.Caller, o ReadOptions) (*Reading, error) {
	read, err := g.long.store.Read(ctx, caller.Name, o)
	if err == nil {
		g.taint.Opened(taint.Key{Caller: caller.Name}, o.ID)
		read.Untrusted = g.taint.Untrusted(o.ID)
	}
	return read, err
}

// keeper is the store as the pipeline sees it. A result belongs to the name of
// its caller, whatever the session and whichever way they came.
type keeper struct{ g *Gateway }

func (k keeper) Keep(r *call.Request, kind string, body io.WriterTo) (*tool.Handle, error) {
	if k.g.o.Brief && (r.Caller.Through == "" || r.Caller.Through == lazy.Execute) { // an agent of the pool reads on
		return nil, call.ErrUnread
	}
	kept, err := k.g.long.store.Put(r.Caller.Name, results.Item{Kind: kind, Body: body})
	if err != nil {
		return nil, err
	}
	if r.Target != nil {
		k.g.taint.Kept(kept.Handle.ID, r.Target.Meta.Labels, taint.Source{Tool: r.Target.ID, Call: r.ID}, kept.Handle.ExpiresAt)
	}
	return &kept.Handle, nil
}

func (k keeper) Value(ctx context.Context, caller tool.Caller, ref call.Reference, most int) ([]byte, error) {
	return k.g.long.store.Value(ctx, caller.Name, ref.ID, results.Part{Path: ref.Path, JQ: ref.JQ}, most)
}

const readDefinition = `{"name":"` + call.ReadTool + `","title":"Read a long result",` +
	`"description":"Reads on in the result of an earlier call that was cut. Without more, gives the text from offset on. ` +
	`With grep, the lines that match, each with its line number and its offset (line@offset: text). With jq, the output of a query on a result that is JSON. ` +
	`To pass a whole long result to another tool, give {\"$handle\": \"h_…\"} as the value of its argument, with \"path\": \"/items/0/name\" for a part of JSON: it need not be read for that.",` +
	`"inputSchema":{"type":"object","properties":{` +
	`"id":{"type":"string","description":"Handle of the result, h_…, as the call that was cut gave it."},` +
	`"offset":{"type":"integer","minimum":0,"description":"Characters to leave out first."},` +
	`"limit":{"type":"integer","minimum":1,"maximum":100000,"description":"Characters to give at most; 16000 if left out."},` +
	`"page":{"type":"integer","minimum":1,"description":"In place of offset: the number of a page of limit characters."},` +
	`"grep":{"type":"string","description":"Regular expression (RE2) that lines must match; (?i) ignores case."},` +
	`"context":{"type":"integer","minimum":0,"maximum":20,"description":"Lines to give around each match of grep."},` +
	`"jq":{"type":"string","description":"Query in jq, such as .items[3].name or [.items[] | select(.size > 100) | .name]."}` +
	`},"required":["id"],"additionalProperties":false},` +
	`"annotations":{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}`

// readArguments are the arguments of the tool.
type readArguments struct {
	ID      string `json:"id"`
	Offset  int    `json:"offset"`
	Limit   int    `json:"limit"`
	Page    int    `json:"page"`
	Grep    string `json:"grep"`
	Context int    `json:"context"`
	JQ      string `json:"jq"`
}

// readResult carries out a call of the tool.
func (v view) readResult(ctx context.Context, r *call.Request, params []byte) (tool.Bytes, error) {
	var p struct {
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	var in readArguments
	d := json.NewDecoder(bytes.NewReader(p.Arguments))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil && len(p.Arguments) > 0 {
		return nil, &tool.Error{
			Kind: tool.Invalid, Err: err,
			Text: fmt.Sprintf("The arguments of %s are not valid: %s. It takes id, and offset and limit, page, grep and context, or jq.", call.ReadTool, jsonFault(err)),
		}
	}
	read, err := v.long.store.Read(ctx, r.Caller.Name, ReadOptions(in))
	if err != nil {
		return nil, err
	}
	v.taint.Opened(taintKey(r), in.ID)
	end := "}]}"
	if v.taint.Untrusted(in.ID) {
		end = `}],"_meta":{"` + call.UntrustedKey + `":true}}`
		if read.Text != "" {
			read.Text = call.Fence(read.Text)
		}
	}
	out := append(jsonrpc.Quote([]byte(`{"content":[{"type":"text","text":`), readingText(read, in)), end...)
	return tool.OneOf(out), nil
}

// jsonFault says what is wrong with JSON, to somebody who does not know of Go.
func jsonFault(err error) string {
	e, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case !ok:
		return strings.TrimPrefix(err.Error(), "json: ")
	case e.Field == "":
		return "they are " + e.Value + ", and must be an object"
	case e.Type.Kind() == reflect.Int:
		return e.Field + " is " + e.Value + ", and must be a whole number in reach"
	}
	return e.Field + " is " + e.Value + ", and must be a text"
}

// readingText is what a model is told: what was read, then where that was, and
// how to go on.
func readingText(r *Reading, in readArguments) string {
	var end string
	switch {
	case in.Grep != "":
		end = fmt.Sprintf("%d matches in %d characters", *r.Matches, r.Chars)
		if r.Text == "" {
			end = fmt.Sprintf("no line matches, in %d characters that begin: %s", r.Chars, r.FirstLines)
		}
	case in.JQ != "":
		end = "output of jq"
		if r.Text == "" {
			end = "the query gives nothing; the JSON begins: " + r.FirstLines
		}
	case r.Next != nil:
		end = fmt.Sprintf("characters %d to %d of %d", r.Offset, *r.Next, r.Chars)
	default:
		end = fmt.Sprintf("characters %d to %d, the end", r.Offset, r.Chars)
	}
	if r.Next != nil {
		end += fmt.Sprintf("; read on with offset %d", *r.Next)
	}
	text := r.Text
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + "[" + end + "]"
}

// canCut reports whether the answer of some tool of the snapshot can be cut: only
// then is the tool that reads on worth a place in a list.
func canCut(snap *catalog.Snapshot) bool {
	for _, t := range snap.Tools() {
		if t.Meta.MaxResultChars != 0 {
			return true
		}
	}
	return false
}
