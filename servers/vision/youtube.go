package vision

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/model"
	"github.com/tenon-mcp/tenon/internal/modeltool"
	"github.com/tenon-mcp/tenon/internal/typed"
)

type youtubeInput struct {
	URL        string `json:"url" jsonschema:"address of the video: youtube.com/watch, youtube.com/shorts, youtube.com/live or youtu.be"`
	Question   string `json:"question,omitempty" jsonschema:"what to find out about the video; needed unless provide_transcribe is true"`
	Transcribe bool   `json:"provide_transcribe,omitempty" jsonschema:"also return what is said, with times and what is seen meanwhile"`
}

type youtubeOutput struct {
	URL           string       `json:"url" jsonschema:"address of the video that was watched"`
	Transcription string       `json:"transcription,omitempty" jsonschema:"what is said and seen, with times"`
	Answer        string       `json:"answer,omitempty" jsonschema:"answer to the question"`
	Usage         *model.Usage `json:"usage,omitempty" jsonschema:"what the model has taken"`
	Notes         []string     `json:"notes,omitempty" jsonschema:"what failed or was left out"`
}

func (s *server) addYouTube(srv *mcp.Server) {
	typed.AddContent(srv, typed.Spec{
		Name: "visual_audio_youtube_analyzing", Title: "Watch a YouTube video", Annotations: modeltool.External(), MaxArguments: 1 << 20,
		Defaults:    map[string]any{"question": "", "provide_transcribe": false},
		Description: "Watches and hears a public YouTube video by Gemini, answers a question about it, and writes down what is said with times where provide_transcribe is true. Long videos take minutes and may be refused. For the page around a video (comments, description) read its address with a tool for web pages.",
	}, func(ctx context.Context, req *mcp.CallToolRequest, in youtubeInput) ([]mcp.Content, youtubeOutput, error) {
		ctx, cancel := s.base.Deadline(ctx)
		defer cancel()
		out, err := s.youtube(ctx, req, in)
		if err != nil {
			return nil, out, err
		}
		return typed.Text(out.markdown(in.Question)), out, nil
	})
}

// videoID reports whether s may be the id of a video.
func videoID(s string) bool {
	const known = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
	return len(s) >= 6 && len(s) <= 20 && strings.Trim(s, known) == ""
}

// youtubeURL returns the address of a video in one spelling.
func youtubeURL(s string) (string, error) {
	wrong := errors.New("url is no address of a YouTube video: write https://www.youtube.com/watch?v=ID, or one with /shorts/ID or /live/ID, or https://youtu.be/ID")
	s = strings.TrimSpace(s)
	if len(s) > 2000 {
		return "", wrong
	}
	if !strings.Contains(s, "://") {
		s = "https://" + s
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		return "", wrong
	}
	id := ""
	first, rest, _ := strings.Cut(strings.Trim(u.Path, "/"), "/")
	switch strings.ToLower(u.Host) {
	case "youtube.com", "www.youtube.com", "m.youtube.com", "music.youtube.com":
		switch first {
		case "watch":
			id = u.Query().Get("v")
		case "shorts", "live":
			id = rest
		}
	case "youtu.be":
		id = first
	}
	if !videoID(id) {
		return "", wrong
	}
	return "https://www.youtube.com/watch?v=" + id, nil
}

const transcribePrompt = `Write down what is said in this video, word for word, with the time of each passage as [MM:SS] and who speaks where that is clear. Between that, describe in brackets what is seen at that time: places, people, actions, text and figures on the screen. Say where something cannot be understood.`

func (s *server) youtube(ctx context.Context, req *mcp.CallToolRequest, in youtubeInput) (youtubeOutput, error) {
	question := strings.TrimSpace(in.Question)
	address, err := youtubeURL(in.URL)
	switch n := utf8.RuneCountInString(question); {
	case err != nil:
		return youtubeOutput{}, err
	case question == "" && !in.Transcribe:
		return youtubeOutput{}, errors.New("there is nothing to do: give a question, or set provide_transcribe to true, or both")
	case n > maxQuestion:
		return youtubeOutput{}, fmt.Errorf("question has %d characters, at most %d are asked", n, maxQuestion)
	case s.gemini == nil:
		return youtubeOutput{}, errors.New("videos of YouTube are watched by Gemini, which is not set up here: the operator must set GEMINI_API_KEY for this server")
	}
	out := youtubeOutput{URL: address}
	watch := func(prompt string) (string, error) {
		a, err := s.gemini.Ask(ctx, model.Request{Parts: []model.Part{{URI: address}, model.Text(prompt)}, Stream: true, OnText: modeltool.Growth(ctx, req)})
		if a.Usage.Requests > 0 {
			if out.Usage == nil {
				out.Usage = &model.Usage{}
			}
			out.Usage.Add(a.Usage)
		}
		if model.TooLong(err) {
			err = fmt.Errorf("the video is too long to be watched in one piece: %w", err)
		}
		if a.Cut {
			out.Notes = append(out.Notes, "an answer was cut at the bound of the model")
		}
		return a.Text, err
	}
	var failed error
	if in.Transcribe {
		if out.Transcription, failed = watch(transcribePrompt); failed != nil {
			out.Notes = append(out.Notes, "the video could not be written down: "+failed.Error())
		}
	}
	if question != "" {
		var err error
		if out.Answer, err = watch("Watch and hear the whole video, then answer this question. Name the times that your answer rests on, and say what is uncertain.\n\n" + question); err != nil {
			failed = err
			out.Notes = append(out.Notes, "the question could not be answered: "+err.Error())
		}
	}
	if out.Transcription == "" && out.Answer == "" {
		return out, failed
	}
	return out, nil
}

func (o *youtubeOutput) markdown(question string) string {
	var b strings.Builder
	answer, cutAnswer := modeltool.Bounded(o.Answer, maxChars/2-1000)
	written, cut := modeltool.Bounded(o.Transcription, maxChars-2000-utf8.RuneCountInString(answer)-min(utf8.RuneCountInString(question), 500))
	if written != "" {
		b.WriteString("Transcription:\n\n" + written + "\n\n")
	}
	if answer != "" {
		q, _ := modeltool.Bounded(question, 500)
		b.WriteString("Answer of the question: " + q + "\n\n" + answer)
	}
	if cut || cutAnswer {
		o.Notes = append(o.Notes, "more was written than is shown: ask about a part of the video, by its times")
	}
	return strings.TrimSpace(b.String()) + modeltool.Notes(o.Notes)
}
