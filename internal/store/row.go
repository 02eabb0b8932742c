package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tenon-mcp/tenon/internal/record"
	"github.com/tenon-mcp/tenon/tool"
)

// What is kept of arguments and results. Masks see slack bytes more than that, so
// that a secret at the cut is known whole.
const (
	maxArguments = 64 << 10
	maxHead      = 1 << 10
	slack        = 16 << 10
	headScan     = 64 << 10 // how far into a result its text is looked for
	maxName      = 256      // of a name, which a model may have made up
	maxText      = 4 << 10  // of a note
	maxNotes     = 64
)

// The types of rows.
const (
	TypeCall     = "call"
	TypeBegun    = "begun"    // a call was about to be sent
	TypeApproval = "approval" // what became of a request for approval
	TypePruned   = "pruned"   // older rows left; the chain begins behind them
	TypeGap      = "gap"      // calls went on unrecorded
	TypeBreak    = "break"    // the chain did not go on from where it ended
)

// A Row is what the record keeps of one event. Most are calls.
type Row struct {
	Type string `json:"type"`
	*Call
	Approval *tool.Approval `json:"approval,omitempty"`
	Pruned   *Pruned        `json:"pruned,omitempty"`
	Gap      *Gap           `json:"gap,omitempty"`
	Break    *Break         `json:"break,omitempty"`
	Run      string         `json:"run,omitempty"`     // process of a call that has begun
	Sum      string         `json:"sum,omitempty"`     // SHA-256 of what the table of approvals has
	Changed  bool           `json:"changed,omitempty"` // and that it had something else than the row before

	Seq  int64  `json:"-"`
	Hash string `json:"-"` // hexadecimal
}

// A Call is what is kept of a finished call.
type Call struct {
	ID        string         `json:"id"`
	Server    string         `json:"server_name"`
	Tool      string         `json:"tool_name"`
	Kind      tool.Kind      `json:"error_kind,omitempty"`
	Caller    tool.Caller    `json:"caller"`
	Key       string         `json:"key,omitempty"` // of the caller's credential
	Session   string         `json:"session,omitempty"`
	Task      string         `json:"task_id,omitempty"`
	Skill     string         `json:"skill,omitempty"`
	Started   time.Time      `json:"started"`
	ElapsedMS float64        `json:"elapsed_ms"`
	Bytes     int            `json:"bytes"`
	Attempts  int            `json:"attempts"`
	Notes     []tool.Note    `json:"notes,omitempty"`
	Decision  *tool.Decision `json:"decision,omitempty"`
	Usage     *tool.Usage    `json:"usage,omitempty"` // of models
	Details
}

// Details are the parts of a call that are not for everybody.
type Details struct {
	Arguments json.RawMessage `json:"arguments,omitempty"` // all of them, secrets masked
	// Of arguments that are too long, or no JSON, there is the beginning; and of
	// those that are too long their size and the SHA-256 of the whole.
	ArgumentsHead string `json:"arguments_head,omitempty"`
	ArgumentsSize int    `json:"arguments_size,omitempty"`
	ArgumentsHash string `json:"arguments_sha256,omitempty"`
	ResultHead    string `json:"result_head,omitempty"` // the beginning of the text
	Handle        string `json:"handle,omitempty"`      // of the whole result
}

// Pruned says that rows have left the chain.
type Pruned struct {
	At   time.Time `json:"at"`
	Upto int64     `json:"upto"` // the number of the last of them
	Hash string    `json:"hash"` // of that one; the chain goes on from it
	Rows int64     `json:"rows"`
	// Faults are what was wrong with them and those before, Bad how many such there
	// were.
	Faults []Fault `json:"faults,omitempty"`
	Bad    int     `json:"bad,omitempty"`
}

// Gap says that calls went on unrecorded.
type Gap struct {
	At    time.Time `json:"at"`
	Calls int64     `json:"calls"`
	Why   string    `json:"why"`
	// Unknown is that nobody knows how many, if any.
	Unknown bool `json:"unknown,omitempty"`
}

// Break says that the chain was not what the file beside the database said.
type Break struct {
	At   time.Time `json:"at"`
	Seq  int64     `json:"seq"` // of the last row, as the file had it
	Hash string    `json:"hash"`
	Had  int64     `json:"had"` // the number of the last row that was there
}

// kindBegun begins the column kind of a call that has begun; the process follows.
const kindBegun = "begun:"

// An encoded row is ready to be chained.
type encoded struct {
	typ, id                                   string
	at                                        int64 // µs since 1970
	server, tool, kind, caller, session, task string
	body                                      string
}

// encode makes the row of a finished call: masked, cut, and safe for any database.
func (s *core) encode(f *Finished) encoded {
	r := Row{Type: TypeCall, Call: &Call{
		ID: f.ID, Server: s.name(f.Server), Tool: s.name(f.Tool), Kind: f.Kind,
		Caller:  tool.Caller{Name: s.name(f.Caller.Name), Via: f.Caller.Via},
		Session: s.name(f.Session), Task: s.name(f.Task), Skill: s.name(f.Skill),
		Started: f.Started.UTC().Truncate(time.Microsecond), ElapsedMS: float64(f.Elapsed.Microseconds()) / 1e3,
		Bytes: f.Bytes, Attempts: f.Attempts, Notes: s.notes(f.Notes), Decision: s.decision(f.Decision), Usage: usageOf(s, f.Usage),
	}}
	if f.begun != nil {
		r.Type, r.Run = TypeBegun, s.self.id()
	}
	if g := f.Caller.Grant; g != nil {
		r.Key = g.Key
	}
	r.Handle = f.Handle
	r.ResultHead = s.cut(resultText(f), maxHead)
	s.arguments(f, &r.Details)
	return s.encodeRow(&r)
}

// usage returns what is kept of the usage of models. Their names come from outside.
func usageOf(s *core, u *tool.Usage) *tool.Usage {
	if u == nil {
		return nil
	}
	out := *u
	out.Provider, out.Model = s.name(u.Provider), s.name(u.Model)
	return &out
}

// notes returns what is kept of notes.
func (s *core) notes(all []tool.Note) []tool.Note {
	var out []tool.Note
	for _, n := range all[:min(len(all), maxNotes)] {
		out = append(out, tool.Note{Stage: n.Stage, Text: s.cut(n.Text, maxText)})
	}
	return out
}

// decision returns what is kept of a decision. Its texts may hold arguments.
func (s *core) decision(d *tool.Decision) *tool.Decision {
	if d == nil || d.Behavior == tool.Allow && d.Reason == "" && len(d.Chain) == 0 {
		return d
	}
	out := *d
	out.Reason = s.cut(d.Reason, maxText)
	out.Chain = nil
	for _, step := range d.Chain[:min(len(d.Chain), maxNotes)] {
		step.Text = s.cut(step.Text, maxText)
		out.Chain = append(out.Chain, step)
	}
	return &out
}

// arguments fills in what is kept of the arguments.
func (s *core) arguments(f *Finished, d *Details) {
	if len(f.Arguments) == 0 || string(f.Arguments) == "{}" {
		return
	}
	if f.size <= maxArguments {
		if json.Valid(f.Arguments) {
			if masked := s.o.MaskJSON(f.Arguments); len(masked) <= maxArguments && json.Valid(masked) {
				d.Arguments = masked
				return
			}
		}
		d.ArgumentsHead = s.cut(string(f.Arguments), maxArguments)
		return
	}
	sum := f.sum
	if f.size <= heavy {
		sum = sha256.Sum256(f.Arguments)
	}
	d.ArgumentsHead = s.cut(string(f.Arguments[:min(len(f.Arguments), maxArguments+slack)]), maxArguments)
	d.ArgumentsSize, d.ArgumentsHash = f.size, hex.EncodeToString(sum[:])
}

// cut masks a text and then cuts it.
func (s *core) cut(text string, most int) string {
	return clip(s.o.Mask(text), most)
}

// clip cuts a text at a character.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// encodeRow makes the body of a row, and what its columns hold.
func (s *core) encodeRow(r *Row) encoded {
	b, err := json.Marshal(r)
	if err != nil { // arguments were checked, all else always marshals
		b, _ = json.Marshal(Row{Type: r.Type, Call: &Call{ID: idOf(r), Started: time.Now().UTC()}})
	}
	body := strings.ToValidUTF8(string(b), "\uFFFD")
	if r.Type != TypeCall || err != nil { // the columns hold what the body says
		var again Row
		if json.Unmarshal([]byte(body), &again) == nil {
			*r = again
		}
	}
	return columns(r, body)
}

// name bounds a name that comes from outside, and makes it one that every database
// takes as it is.
func (s *core) name(text string) string {
	if text == "" {
		return ""
	}
	return storable(s.cut(clip(text, maxName+slack), maxName))
}

func idOf(r *Row) string {
	switch {
	case r.Call != nil:
		return r.Call.ID
	case r.Approval != nil:
		return r.Approval.ID
	}
	return ""
}

// columns returns the row with what its columns hold, which is what queries look at.
func columns(r *Row, body string) encoded {
	e := encoded{typ: r.Type, id: idOf(r), body: body}
	switch {
	case r.Call != nil:
		c := r.Call
		e.at, e.server, e.tool, e.kind = c.Started.UnixMicro(), c.Server, c.Tool, string(c.Kind)
		e.caller, e.session, e.task = c.Caller.Name, c.Session, c.Task
		if r.Type == TypeBegun {
			e.kind = kindBegun + r.Run
		}
	case r.Approval != nil:
		a := r.Approval
		e.at, e.server, e.tool, e.caller, e.session, e.task = a.CreatedAt.UnixMicro(), a.Server, a.Tool, a.Caller.Name, a.Session, a.Task
	case r.Pruned != nil:
		e.at = r.Pruned.At.UnixMicro()
	case r.Gap != nil:
		e.at = r.Gap.At.UnixMicro()
	case r.Break != nil:
		e.at = r.Break.At.UnixMicro()
	}
	for _, text := range []*string{&e.id, &e.server, &e.tool, &e.kind, &e.caller, &e.session, &e.task} {
		*text = storable(*text)
	}
	return e
}

// storable returns a text that every database takes.
func storable(s string) string {
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// link returns the hash of a row that follows the row with hash before.
func link(before []byte, seq int64, body string) []byte {
	h := sha256.New()
	h.Write(before)
	var n [8]byte
	for i := range n {
		n[i] = byte(seq >> (56 - 8*i))
	}
	h.Write(n[:])
	h.Write([]byte(body))
	return h.Sum(nil)
}

// resultText returns the beginning of the text of a result, with some more than is
// kept. It looks at the first bytes only: no answer is decoded for it.
func resultText(f *Finished) string {
	if f.Result.Len() == 0 {
		return clip(f.Message, maxHead+slack)
	}
	raw := f.Result.Slice(0, min(f.Result.Len(), headScan)).Join()
	var text []byte
	for rest := raw; len(text) < maxHead+slack; {
		value, after := nextText(rest)
		if after == nil {
			break
		}
		if len(text) > 0 {
			text = append(text, '\n')
		}
		text = appendUnquoted(text, value)
		rest = after
	}
	if len(text) == 0 {
		return clip(string(raw), maxHead+slack) // structured, or of a shape of its own
	}
	return string(text)
}

var textKey = []byte(`"text":`)

// nextText returns the inside of the next JSON string that is the value of a key
// "text", and what follows; nil where there is none. At the end of what is looked
// at a string may lack its end.
func nextText(raw []byte) (value, after []byte) {
	for {
		i := bytes.Index(raw, textKey)
		if i < 0 {
			return nil, nil
		}
		escaped := i > 0 && raw[i-1] == '\\' // it stands within a text
		raw = bytes.TrimLeft(raw[i+len(textKey):], " \t\r\n")
		if escaped || len(raw) == 0 || raw[0] != '"' {
			continue
		}
		raw = raw[1:]
		for j := 0; j < len(raw); j++ {
			switch raw[j] {
			case '\\':
				j++
			case '"':
				return raw[:j], raw[j:]
			}
		}
		return raw, raw[len(raw):]
	}
}

// appendUnquoted adds the inside of a JSON string, which may be cut within an escape.
func appendUnquoted(to, inside []byte) []byte {
	inside = inside[:min(len(inside), maxHead+slack)]
	for drop := 0; drop < 12 && drop <= len(inside); drop++ {
		quoted := make([]byte, 0, len(inside)+2)
		quoted = append(append(append(quoted, '"'), inside[:len(inside)-drop]...), '"')
		var text string
		if json.Unmarshal(quoted, &text) == nil {
			return append(to, text...)
		}
	}
	return append(to, strings.ToValidUTF8(string(inside), "\uFFFD")...)
}

// Entry returns the row of a call as the memory of calls has it.
func (c *Call) Entry() record.Entry {
	return record.Entry{
		ID: c.ID, Server: c.Server, Tool: c.Tool, Kind: c.Kind, Caller: c.Caller, Session: c.Session, Task: c.Task,
		Skill: c.Skill, Started: c.Started, Elapsed: time.Duration(c.ElapsedMS * float64(time.Millisecond)),
		Bytes: c.Bytes, Attempts: c.Attempts, Notes: c.Notes, Decision: c.Decision, Handle: c.Handle, Usage: c.Usage,
	}
}
