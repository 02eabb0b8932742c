package doubles

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Gemini stands in for generativelanguage.googleapis.com: POST
// /v1beta/models/NAME:generateContent and :streamGenerateContent?alt=sse. It repeats what
// it was told, as [OpenAI] does. Of a fault, Empty makes an answer without text, Code,
// with a status of 0, is the finishReason, and Warning the blockReason.
func Gemini() *Double {
	return newDouble("gemini", serveGemini, func(w http.ResponseWriter, f Fault) { geminiError(w, f.Status, f.Code, "the request was refused") })
}

func geminiError(w http.ResponseWriter, status int, name, message string) {
	if name == "" {
		name = map[int]string{
			400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED",
			500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
		}[status]
	}
	if strings.Contains(name, " ") { // a message
		name, message = "INVALID_ARGUMENT", name
	}
	reply(w, status, object{"error": object{"code": status, "message": message, "status": name, "details": []any{}}})
}

func serveGemini(w http.ResponseWriter, c Call, f Fault) {
	rest, ok := strings.CutPrefix(c.Path, "/v1beta/models/")
	name, verb, colon := strings.Cut(rest, ":")
	streams := verb == "streamGenerateContent" && c.Query.Get("alt") == "sse"
	list := c.Method == http.MethodGet && c.Path == "/v1beta/models"
	switch {
	case !list && (c.Method != http.MethodPost || !ok || !colon || name == "" || verb != "generateContent" && !streams):
		geminiError(w, 404, "", "Requested entity was not found.")
		return
	case c.Header.Get("X-Goog-Api-Key") != Key:
		geminiError(w, 400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.")
		return
	}
	if list {
		reply(w, 200, object{"models": []object{{"name": "models/gemini-2.5-pro", "version": "2.5", "displayName": "Gemini 2.5 Pro"}}})
		return
	}
	text, thinks, why := readContents(c)
	if why != "" {
		geminiError(w, 400, "", why)
		return
	}
	usage := object{"promptTokenCount": 100, "candidatesTokenCount": 15, "thoughtsTokenCount": 5, "totalTokenCount": 120}
	if f.Warning != "" {
		reply(w, 200, object{"promptFeedback": object{"blockReason": f.Warning}, "usageMetadata": usage, "modelVersion": name, "responseId": "r1"})
		return
	}
	finish := "STOP"
	if f.Code != "" {
		finish = f.Code
	}
	if f.Empty || finish == "SAFETY" {
		text = ""
	}
	candidate := func(finish string, parts ...any) object {
		o := object{"candidates": []any{object{"index": 0, "content": object{"role": "model", "parts": parts}}}, "usageMetadata": usage, "modelVersion": name, "responseId": "r1"}
		if finish != "" {
			o["candidates"].([]any)[0].(object)["finishReason"] = finish
		}
		return o
	}
	var thought []any
	if thinks {
		thought = []any{object{"text": "Let me see.", "thought": true}}
	}
	if !streams {
		reply(w, 200, candidate(finish, append(thought, object{"text": text})...))
		return
	}
	half := len(text) / 2
	stream(w, "", candidate("", append(thought, object{"text": text[:half]})...), candidate(finish, object{"text": text[half:]}))
}

func readContents(c Call) (text string, thinks bool, why string) {
	var in map[string]json.RawMessage
	if !c.JSON(&in) {
		return "", false, "Invalid JSON payload received."
	}
	for name := range in {
		if !slices.Contains([]string{"contents", "systemInstruction", "generationConfig"}, name) {
			return "", false, fmt.Sprintf("Invalid JSON payload received. Unknown name %q: Cannot find field.", name)
		}
	}
	var body struct {
		Contents []struct {
			Role string            `json:"role"`
			Raw  []json.RawMessage `json:"parts"`
		} `json:"contents"`
		Config map[string]json.RawMessage `json:"generationConfig"`
	}
	if err := json.Unmarshal(c.Body, &body); err != nil {
		return "", false, "Invalid JSON payload received. " + err.Error()
	}
	for name := range body.Config {
		if !slices.Contains([]string{"temperature", "topP", "maxOutputTokens", "stopSequences", "thinkingConfig"}, name) {
			return "", false, fmt.Sprintf("Invalid JSON payload received. Unknown name %q at 'generation_config': Cannot find field.", name)
		}
	}
	if len(body.Contents) == 0 || len(body.Contents[0].Raw) == 0 {
		return "", false, "GenerateContentRequest.contents: contents is not specified"
	}
	var b strings.Builder
	for _, content := range body.Contents {
		if content.Role != "user" && content.Role != "model" {
			return "", false, "Please use a valid role: user, model."
		}
		for _, raw := range content.Raw {
			s, why := geminiPart(raw)
			if why != "" {
				return "", false, why
			}
			b.WriteString(s + "\n")
		}
	}
	return b.String(), body.Config["thinkingConfig"] != nil, ""
}

func geminiPart(raw json.RawMessage) (text, why string) {
	var p struct {
		Text   *string `json:"text"`
		Inline *struct {
			MIME string `json:"mimeType"`
			Data string `json:"data"`
		} `json:"inlineData"`
		File *struct {
			URI string `json:"fileUri"`
		} `json:"fileData"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return "", err.Error()
	}
	switch {
	case p.Text != nil:
		return *p.Text, ""
	case p.Inline != nil:
		data, err := base64.StdEncoding.DecodeString(p.Inline.Data)
		if err != nil || len(data) == 0 || !sniffed(p.Inline.MIME, data) {
			return "", "Unable to process input image. Please retry or report."
		}
		return fmt.Sprintf("[%s of %d bytes]", p.Inline.MIME, len(data)), ""
	case p.File != nil && p.File.URI != "":
		return "[" + p.File.URI + "]", ""
	}
	return "", "contents.parts must not be empty."
}
