package doubles

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
)

// OpenAI stands in for api.openai.com: POST /v1/chat/completions and
// /v1/audio/transcriptions. It repeats what it was told: the texts of the last message,
// and "[image/png of 70 bytes]" for what is no text. Of a fault, Empty makes an answer
// without text, Warning puts a text before </think> (or into reasoning_content, where the
// model's name holds "reasoner"), and Code, with a status of 0, is the finish_reason.
func OpenAI() *Double {
	return newDouble("openai", serveOpenAI, func(w http.ResponseWriter, f Fault) {
		kind := map[int]string{401: "invalid_request_error", 429: "requests", 500: "server_error", 503: "server_error"}[f.Status]
		if kind == "" {
			kind = "invalid_request_error"
		}
		code := any(nil)
		if f.Code != "" {
			code = f.Code
			if f.Status == http.StatusTooManyRequests {
				kind = f.Code
			}
		}
		message := "The request was refused."
		if f.Status == http.StatusUnauthorized {
			message = "Incorrect API key provided: " + Key
			code = "invalid_api_key"
		}
		openaiError(w, f.Status, kind, message, nil, code)
	})
}

func openaiError(w http.ResponseWriter, status int, kind, message string, param, code any) {
	reply(w, status, object{"error": object{"message": message, "type": kind, "param": param, "code": code}})
}

func serveOpenAI(w http.ResponseWriter, c Call, f Fault) {
	refuse := func(param, why string) {
		openaiError(w, 400, "invalid_request_error", why, param, nil)
	}
	switch {
	case c.Method == http.MethodGet && c.Path == "/v1/models" && c.Bearer() == Key:
		reply(w, 200, object{"object": "list", "data": []object{{"id": "gpt-4o", "object": "model", "created": 1715367049, "owned_by": "system"}}})
	case c.Method != http.MethodPost && c.Path != "/v1/models":
		openaiError(w, 405, "invalid_request_error", "Not allowed to "+c.Method+" on "+c.Path, nil, "method_not_supported")
	case c.Bearer() != Key:
		openaiError(w, 401, "invalid_request_error", "Incorrect API key provided: "+c.Bearer(), nil, "invalid_api_key")
	case c.Path == "/v1/chat/completions":
		q, param, why := readChat(c)
		if why != "" {
			refuse(param, why)
			return
		}
		serveChat(w, q, f)
	case c.Path == "/v1/audio/transcriptions":
		serveTranscription(w, c, f, refuse)
	default:
		openaiError(w, 404, "invalid_request_error", "Invalid URL (POST "+c.Path+")", nil, nil)
	}
}

type chatQuestion struct {
	model  string
	stream bool
	usage  bool
	text   string
	limit  int
}

// readChat reads a request as the service does, and says what is wrong with it.
func readChat(c Call) (q chatQuestion, param, why string) {
	var in map[string]json.RawMessage
	if !c.JSON(&in) {
		return q, "", "We could not parse the JSON body of your request."
	}
	known := []string{"model", "messages", "max_tokens", "max_completion_tokens", "temperature", "top_p", "stream", "stream_options", "stop"}
	for name := range in {
		if !slices.Contains(known, name) {
			return q, name, "Unrecognized request argument supplied: " + name
		}
	}
	var body struct {
		Model    string `json:"model"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Max         int      `json:"max_tokens"`
		MaxNew      int      `json:"max_completion_tokens"`
		Temperature *float64 `json:"temperature"`
		Stream      bool     `json:"stream"`
		Stop        []string `json:"stop"`
		Options     *struct {
			Usage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	if err := json.Unmarshal(c.Body, &body); err != nil {
		return q, "", err.Error()
	}
	thinks := strings.HasPrefix(body.Model, "o3") || strings.HasPrefix(body.Model, "gpt-5")
	switch {
	case body.Model == "":
		return q, "model", "you must provide a model parameter"
	case len(body.Messages) == 0:
		return q, "messages", "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead."
	case thinks && body.Max > 0:
		return q, "max_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
	case thinks && body.Temperature != nil:
		return q, "temperature", "Unsupported value: 'temperature' does not support this value with this model."
	case len(body.Stop) > 4:
		return q, "stop", "Invalid 'stop': array too long. Expected an array with maximum length 4."
	case thinks && body.Stop != nil:
		return q, "stop", "Unsupported parameter: 'stop' is not supported with this model."
	case body.Options != nil && !body.Stream:
		return q, "stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled."
	}
	for i, m := range body.Messages {
		if !slices.Contains([]string{"system", "user", "assistant", "developer"}, m.Role) {
			return q, fmt.Sprintf("messages[%d].role", i), "Invalid value for role"
		}
		text, why := chatText(m.Content)
		if why != "" {
			return q, fmt.Sprintf("messages[%d].content", i), why
		}
		q.text = text
	}
	q.model, q.stream, q.usage, q.limit = body.Model, body.Stream, body.Options != nil && body.Options.Usage, body.Max+body.MaxNew
	return q, "", ""
}

// chatText returns what a content says.
func chatText(content json.RawMessage) (text, why string) {
	if json.Unmarshal(content, &text) == nil {
		return text, ""
	}
	var parts []struct {
		Type  string                `json:"type"`
		Text  *string               `json:"text"`
		Image *struct{ URL string } `json:"image_url"`
		Video *struct{ URL string } `json:"video_url"`
	}
	var sounds []struct {
		Audio *struct {
			Data   string `json:"data"`
			Format string `json:"format"`
		} `json:"input_audio"`
	}
	if json.Unmarshal(content, &parts) != nil || json.Unmarshal(content, &sounds) != nil || len(parts) == 0 {
		return "", "Invalid type for content: expected a string or a list of parts"
	}
	var b strings.Builder
	for i, p := range parts {
		switch {
		case p.Type == "text" && p.Text != nil:
			b.WriteString(*p.Text + "\n")
		case p.Type == "image_url" && p.Image != nil:
			kind, n, ok := parseData(p.Image.URL)
			if !ok || !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind) {
				return "", "You uploaded an unsupported image. Please make sure your image is valid."
			}
			fmt.Fprintf(&b, "[%s of %d bytes]\n", kind, n)
		case p.Type == "video_url" && p.Video != nil: // servers of open models alone
			kind, n, ok := parseData(p.Video.URL)
			if !ok || !strings.HasPrefix(kind, "video/") {
				return "", "unsupported video"
			}
			fmt.Fprintf(&b, "[%s of %d bytes]\n", kind, n)
		case p.Type == "input_audio" && sounds[i].Audio != nil:
			a := sounds[i].Audio
			data, err := base64.StdEncoding.DecodeString(a.Data)
			if err != nil || a.Format != "wav" && a.Format != "mp3" || a.Format == "wav" != bytes.HasPrefix(data, []byte("RIFF")) {
				return "", "The data provided for 'input_audio' is not of valid " + a.Format + " format."
			}
			fmt.Fprintf(&b, "[%s of %d bytes]\n", a.Format, len(data))
		default:
			return "", "Invalid value for type of a part: " + p.Type
		}
	}
	return b.String(), ""
}

// parseData reads a data URI in base64.
func parseData(uri string) (kind string, n int, ok bool) {
	rest, ok := strings.CutPrefix(uri, "data:")
	if !ok {
		return "", 0, false
	}
	kind, data, ok := strings.Cut(rest, ";base64,")
	if !ok {
		return "", 0, false
	}
	b, err := base64.StdEncoding.DecodeString(data)
	return kind, len(b), err == nil && sniffed(kind, b)
}

// sniffed reports whether data are of the kind that they are declared to be.
func sniffed(kind string, b []byte) bool {
	magic := map[string]string{"image/png": "\x89PNG", "image/jpeg": "\xff\xd8\xff", "image/gif": "GIF8", "image/webp": "RIFF"}[kind]
	return bytes.HasPrefix(b, []byte(magic))
}

func serveChat(w http.ResponseWriter, q chatQuestion, f Fault) {
	text, thought, finish := q.text, "", "stop"
	if f.Code != "" {
		finish = f.Code
	}
	if f.Empty || finish == "content_filter" {
		text = ""
	}
	if f.Warning != "" {
		if strings.Contains(q.model, "reasoner") {
			thought = f.Warning
		} else {
			text = f.Warning + "</think>" + text
		}
	}
	if q.limit > 0 && len(text) > 4*q.limit {
		text, finish = text[:4*q.limit], "length"
	}
	usage := object{"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120, "completion_tokens_details": object{"reasoning_tokens": 5}}
	name := q.model + "-2026-01-01"
	if !q.stream {
		message := object{"role": "assistant", "content": text, "refusal": nil}
		if thought != "" {
			message["reasoning_content"] = thought
		}
		reply(w, 200, object{
			"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": name, "usage": usage,
			"choices": []any{object{"index": 0, "finish_reason": finish, "logprobs": nil, "message": message}},
		})
		return
	}
	chunk := func(choices []any, usage any) object {
		o := object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": name, "choices": choices}
		if usage != nil {
			o["usage"] = usage
		}
		return o
	}
	delta := func(d object, finish any) []any {
		return []any{object{"index": 0, "delta": d, "finish_reason": finish}}
	}
	list := []any{chunk(delta(object{"role": "assistant", "content": ""}, nil), nil)}
	if thought != "" {
		list = append(list, chunk(delta(object{"reasoning_content": thought}, nil), nil))
	}
	half := len(text) / 2
	for _, s := range []string{text[:half], text[half:]} {
		list = append(list, chunk(delta(object{"content": s}, nil), nil))
	}
	list = append(list, chunk(delta(object{}, finish), nil))
	if q.usage {
		list = append(list, chunk([]any{}, usage))
	}
	stream(w, "", list...)
	_, _ = io.WriteString(w, "data: [DONE]\n\n") // the client is gone
}

// stream writes server-sent events. Where named is a member of the objects, its value is
// the name of the event.
func stream(w http.ResponseWriter, named string, list ...any) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.WriteHeader(http.StatusOK)
	for _, v := range list {
		if o, ok := v.(object); ok && named != "" {
			fmt.Fprintf(w, "event: %v\n", o[named])
		}
		b, err := json.Marshal(v)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(w, "data: %s\n\n", b)
	}
}

var transcriptionFiles = []string{".flac", ".mp3", ".mp4", ".mpeg", ".mpga", ".m4a", ".ogg", ".wav", ".webm"}

// serveTranscription hears "[speech.wav of 1234 bytes]".
func serveTranscription(w http.ResponseWriter, c Call, f Fault, refuse func(param, why string)) {
	kind, params, err := mime.ParseMediaType(c.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/form-data" {
		refuse("", "Could not parse multipart form")
		return
	}
	form, err := multipart.NewReader(bytes.NewReader(c.Body), params["boundary"]).ReadForm(maxBody)
	if err != nil {
		refuse("", "Could not parse multipart form")
		return
	}
	defer func() { _ = form.RemoveAll() }()
	for name := range form.Value {
		if !slices.Contains([]string{"model", "language", "prompt", "response_format", "temperature"}, name) {
			refuse(name, "Unrecognized request argument supplied: "+name)
			return
		}
	}
	if v := form.Value["response_format"]; len(v) > 0 && v[0] != "json" {
		refuse("response_format", "unsupported here")
		return
	}
	if len(form.Value["model"]) != 1 || len(form.File["file"]) != 1 {
		refuse("file", "you must provide a model parameter and a file")
		return
	}
	file := form.File["file"][0]
	if !slices.ContainsFunc(transcriptionFiles, func(end string) bool { return strings.HasSuffix(file.Filename, end) }) {
		refuse("file", "Invalid file format.")
		return
	}
	if file.Size > 25<<20 {
		openaiError(w, 413, "server_error", "Maximum content size limit (26214400) exceeded", nil, nil)
		return
	}
	text := fmt.Sprintf("[%s of %d bytes]", file.Filename, file.Size)
	if f.Empty {
		text = ""
	}
	usage := object{"type": "tokens", "input_tokens": 50, "input_token_details": object{"text_tokens": 0, "audio_tokens": 50}, "output_tokens": 10, "total_tokens": 60}
	if strings.HasPrefix(form.Value["model"][0], "whisper") {
		usage = object{"type": "duration", "seconds": 30}
	}
	reply(w, 200, object{"text": text, "usage": usage})
}
