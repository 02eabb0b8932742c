package wire_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/wire"
	"github.com/tenon-mcp/tenon/tool"
)

// events is a transport that answers everything with one stream of events.
type events struct{ body io.Reader }

// RoundTrip implements http.RoundTripper.
func (e events) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(e.body), ContentLength: -1, Request: r,
	}, nil
}

// heard keeps what comes before an answer.
type heard struct {
	notes   []string
	garbage []string
}

func (*heard) Request(context.Context, *wire.Exchange, *jsonrpc.Message) (tool.Bytes, *jsonrpc.Error) {
	return nil, jsonrpc.Errorf(1, "no")
}

func (h *heard) Notification(_ *wire.Exchange, m *jsonrpc.Message) {
	h.notes = append(h.notes, m.Method+string(m.Params.Join()))
}

// hear reads a stream with the client, and returns what it heard and the answer.
func hear(body io.Reader, limit int64) (*heard, string) {
	h := &heard{}
	c := wire.NewHTTP(wire.HTTPOptions{
		URL: "http://server", Client: &http.Client{Transport: events{body}},
		Handler: h, MaxMessage: limit,
		Garbage: func(head []byte, err error) {
			if _, large := errors.AsType[*jsonrpc.TooLargeError](err); large {
				h.garbage = append(h.garbage, "large")
				return
			}
			h.garbage = append(h.garbage, string(head[:min(len(head), 256)]))
		},
	})
	c.SetVersion("2026-07-28") // a stream is not resumed
	got, err := c.Call(context.Background(), &wire.Request{Method: "x"})
	_ = c.Close()
	var rpc *jsonrpc.Error
	var large *jsonrpc.TooLargeError
	switch {
	case errors.As(err, &rpc):
		return h, "error"
	case errors.As(err, &large):
		return h, "large"
	case err != nil:
		return h, "lost"
	}
	return h, string(got.Join())
}

// model reads a whole stream, as plainly as the standard puts it.
func model(stream string, limit int) (*heard, string) {
	h := &heard{}
	stream = strings.TrimPrefix(stream, "\xef\xbb\xbf")
	stream = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(stream)
	name, data, has := "", "", false
	for _, line := range append(strings.Split(stream, "\n"), "") {
		if line != "" {
			field, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch field {
			case "data":
				if has {
					data += "\n"
				}
				data, has = data+value, true
			case "event":
				name = value
			}
			continue
		}
		isMessage := name == "" || name == "message"
		text := data
		name, data, has = "", "", false
		if text == "" || !isMessage {
			continue
		}
		m, err := jsonrpc.Parse(tool.OneOf([]byte(text)))
		switch {
		case len(text) > limit:
			h.garbage = append(h.garbage, "large")
			if err != nil && (strings.Contains(text, "1") || strings.Contains(text, "\\u") || strings.Contains(text, "result") || strings.Contains(text, "error")) {
				return h, "unknown" // the id, or what makes it an answer, may stand before what is wrong
			}
			if err == nil && (m.ID == nil || strings.Trim(string(m.ID), `"`) == "1") && m.IsAnswer() {
				return h, "large"
			}
		case err != nil || m.IsRequest():
			h.garbage = append(h.garbage, text[:min(len(text), 256)])
			if err != nil && strings.Contains(text, "1") && strings.Contains(text, "2.0") {
				return h, "unknown" // an answer to this request all the same, perhaps
			}
		case m.IsNotification() && m.Method != "notifications/cancelled":
			h.notes = append(h.notes, m.Method+string(m.Params.Join()))
		case m.IsAnswer() && (m.ID == nil && m.Error != nil || string(m.ID) == "1" || string(m.ID) == `"1"`):
			if m.Error != nil {
				return h, "error"
			}
			return h, string(m.Result.Join())
		}
	}
	return h, "lost"
}

func compare(t *testing.T, stream string, limit int) {
	t.Helper()
	want, wantAnswer := model(stream, limit)
	if wantAnswer == "unknown" {
		return
	}
	readers := map[string]io.Reader{
		"at once":     strings.NewReader(stream),
		"by halves":   iotest.HalfReader(strings.NewReader(stream)),
		"with an end": iotest.DataErrReader(strings.NewReader(stream)),
	}
	if len(stream) < 2000 {
		readers["by bytes"] = iotest.OneByteReader(strings.NewReader(stream))
	}
	for name, r := range readers {
		got, gotAnswer := hear(r, int64(limit))
		if gotAnswer != wantAnswer {
			t.Errorf("%s: answer %.100q, want %.100q", name, gotAnswer, wantAnswer)
		}
		if a, b := strings.Join(got.notes, "|"), strings.Join(want.notes, "|"); a != b {
			t.Errorf("%s: notifications %.300q, want %.300q", name, a, b)
		}
		if a, b := len(got.garbage), len(want.garbage); a != b {
			t.Errorf("%s: %d events are garbage, want %d", name, a, b)
		}
	}
}

// streams are what the parser is compared with its model on.
func streams() []string {
	note := `{"jsonrpc":"2.0","method":"note","params":{"pad":"PAD"}}`
	done := `data: {"jsonrpc":"2.0","id":1,"result":{"ok":true}}` + "\n\n"
	out := []string{
		"", "\n", "\r", "\ufeff", "\ufeffdata: " + note + "\n\n", "data", "data:", "data\n\ndata\n\n", ":\n\n", "data: x",
		"event: ping\ndata: {}\n\n" + done, "event: message\ndata: " + note + "\n\n" + done,
		"data: {\ndata: }\n\n" + done, "data: {\"jsonrpc\":\"2.0\",\rdata: \"method\":\"m\"}\r\n\r\n" + done,
		"id: \x00\ndata: " + note + "\n\n" + done, "\xef\xbb", "\xef\xbbdata: x\n\n", "retry: 99999999999999999999\n\n" + done,
		`data: {"jsonrpc":"2.0","id":"1","error":{"code":1,"message":"m"}}` + "\n\n",
		`data: {"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}` + "\n\n",
	}
	for _, n := range []int{10, 32_700, 32_768, 40_000, 270_000} {
		padded := strings.ReplaceAll(note, "PAD", strings.Repeat("p", n))
		half := len(padded) - 4
		out = append(out,
			"data: "+padded+"\n\n"+done,
			"data: "+padded+"\r\n\r\n"+done,
			"data: "+padded+"\r\r"+done,
			"data: "+padded,
			":"+padded+"\n"+done,
			"event: "+padded+"\ndata: x\n\n"+done,
			"data:  \ndata: "+padded[:half]+"\ndata: "+padded[half:]+"\n\n"+done,
			"data: "+strings.ReplaceAll(padded, "p", "\\u0070")+"\n\n"+done,
			"data: "+strings.Repeat(" \ndata:", n/8)+padded+"\n\n"+done,
			`data: {"jsonrpc":"2.0","result":"`+padded[52:n+52-1]+`","id":1}`+"\n\n",
		)
	}
	return out
}

func TestEvents(t *testing.T) {
	for i, s := range streams() {
		limits := []int{64 << 20, 35_000, 50}
		if len(s) > 100_000 {
			limits = limits[:2]
		}
		for _, limit := range limits {
			if compare(t, s, limit); t.Failed() {
				t.Fatalf("stream %d %.120q of %d bytes, limit %d", i, s, len(s), limit)
			}
		}
	}
}

func FuzzEvents(f *testing.F) {
	for _, s := range streams() {
		if len(s) < 50_000 {
			f.Add(s, 100)
		}
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		compare(t, s, max(limit, 1)%(1<<20)+1)
	})
}

// TestEventsBounded reads streams that never end a field, in little memory.
func TestEventsBounded(t *testing.T) {
	for _, head := range []string{"data: ", ": ", "event: ", "id: ", "x", "data: {}\ndata: "} {
		n := testing.AllocsPerRun(1, func() {
			endless := io.MultiReader(strings.NewReader(head), io.LimitReader(repeat("x"), 16<<20))
			if _, got := hear(endless, 1<<20); got != "lost" {
				t.Errorf("%q: got %s", head, got)
			}
		})
		if n > 500 {
			t.Errorf("%q: %v allocations", head, n)
		}
	}
	for _, line := range []string{"data: x\n", "id: 1\n", ":\n", "event: a\n", "data\n"} {
		body := io.LimitReader(repeat(line), 2<<20)
		if _, got := hear(body, 1<<20); got != "lost" {
			t.Errorf("%q: got %s", line, got)
		}
	}
}

// repeat returns a reader of the same text for ever.
func repeat(text string) io.Reader {
	return &repeater{text: strings.Repeat(text, 1024), size: len(text)}
}

type repeater struct {
	text     string
	size, at int
}

// Read implements io.Reader.
func (r *repeater) Read(p []byte) (n int, _ error) {
	n = copy(p, r.text[r.at:])
	r.at = (r.at + n) % r.size
	return n, nil
}
