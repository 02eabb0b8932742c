package model

import (
	"bytes"
	"context"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
)

// A Recording is a sound whose words are wanted.
type Recording struct {
	Name     string // such as speech.mp3: its ending tells the format
	MIME     string
	Data     []byte
	Language string // ISO-639-1, or nothing
	Prompt   string // what was said before, or nothing
}

// A Transcript is what was said.
type Transcript struct {
	Text    string
	Seconds float64 // length of the sound, where the endpoint tells
	Usage   Usage
}

// Transcribe asks by POST /audio/transcriptions. A sound in which nobody speaks has no
// words, which is no error.
func (c *Client) Transcribe(ctx context.Context, r Recording) (Transcript, error) {
	to, err := address(c.BaseURL, "", "/audio/transcriptions")
	if err != nil {
		return Transcript{}, err
	}
	body, kind, err := form(c, r)
	if err != nil {
		return Transcript{}, err
	}
	h := http.Header{"Content-Type": {kind}, "Accept": {"application/json"}}
	if c.Key != "" {
		h.Set("Authorization", "Bearer "+c.Key)
	}
	var out Transcript
	err = c.send(ctx, message{url: to, header: h, body: body, read: func(_ string, body io.Reader) error {
		var reply struct {
			Text     *string `json:"text"`
			Duration float64 `json:"duration"`
			Usage    struct {
				Input   int     `json:"input_tokens"`
				Output  int     `json:"output_tokens"`
				Seconds float64 `json:"seconds"`
			} `json:"usage"`
		}
		if err := c.decode(body, &reply); err != nil {
			return err
		}
		if reply.Text == nil {
			return c.fault("gave an answer without text. The operator should check the base URL")
		}
		out = Transcript{Text: strings.TrimSpace(*reply.Text), Seconds: max(reply.Duration, reply.Usage.Seconds), Usage: c.usage("", reply.Usage.Input, reply.Usage.Output, 0)}
		out.Usage.Seconds = out.Seconds
		return nil
	}})
	c.Prices.set(&out.Usage)
	note(ctx, out.Usage)
	return out, err
}

// form returns the multipart form of a recording.
func form(c *Client, r Recording) (body []byte, kind string, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	fields := [][2]string{{"model", c.Name}, {"response_format", "json"}, {"language", r.Language}, {"prompt", r.Prompt}}
	for _, f := range fields {
		if f[1] == "" {
			continue
		}
		if err := w.WriteField(f[0], f[1]); err != nil {
			return nil, "", err
		}
	}
	part, err := w.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {`form-data; name="file"; filename="` + r.Name + `"`}, "Content-Type": {r.MIME},
	})
	if err != nil {
		return nil, "", err
	}
	if _, err := part.Write(r.Data); err != nil {
		return nil, "", err
	}
	if err := w.Close(); err != nil {
		return nil, "", err
	}
	return b.Bytes(), w.FormDataContentType(), nil
}
