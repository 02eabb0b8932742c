// Package audio is the bundled server "audio": it writes down what is said in
// recordings, and answers questions about sounds, by models of the operator's choice.
//
//	srv, err := audio.New(audio.Options{Access: intake.Access{Roots: []string{"./calls"}}})
//
// Words are written down by an endpoint of one's own that answers as OpenAI does
// (WHISPER_BASE_URL), else by OpenAI, else by pocketsphinx where that is installed.
// Long recordings are cut where nobody speaks, and formats that an endpoint does not
// take are converted by ffmpeg where that is installed; WAV needs no program.
package audio

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/internal/intake"
	"github.com/tenon-mcp/tenon/internal/model"
	"github.com/tenon-mcp/tenon/internal/modeltool"
	"github.com/tenon-mcp/tenon/servers/audio/sound"
	"github.com/tenon-mcp/tenon/tool"
)

// Options are the settings of the server. The zero value takes them from the environment.
type Options struct {
	intake.Access
	MaxFileMB int `json:"max_file_mb,omitempty" jsonschema:"size in MiB beyond which a file is not taken, 1 to 500; default: 100"`
	Speech
	OpenAI
	Programs
	modeltool.Common
}

// Speech are the settings of an endpoint for transcription.
type Speech struct {
	WhisperBaseURL   string `json:"whisper_base_url,omitempty" jsonschema:"base URL, or address of /audio/transcriptions, of an endpoint like OpenAI's (faster-whisper, vLLM, whisper.cpp), which is asked in place of OpenAI; default: $WHISPER_BASE_URL"`
	WhisperAPIKey    string `json:"whisper_api_key,omitempty" jsonschema:"key of that endpoint; better in the environment of the server as WHISPER_API_KEY"`
	WhisperModelName string `json:"whisper_model_name,omitempty" jsonschema:"model of that endpoint; default: $WHISPER_MODEL_NAME, else whisper-1"`
}

// OpenAI are the settings of OpenAI.
type OpenAI struct {
	APIKey             string `json:"openai_api_key,omitempty" jsonschema:"key of OpenAI, or of who answers at openai_base_url; better in the environment of the server as OPENAI_API_KEY"`
	BaseURL            string `json:"openai_base_url,omitempty" jsonschema:"base URL of OpenAI; default: $OPENAI_BASE_URL, else https://api.openai.com/v1"`
	TranscriptionModel string `json:"openai_transcription_model_name,omitempty" jsonschema:"model that writes down what is said; default: $OPENAI_TRANSCRIPTION_MODEL_NAME, else gpt-4o-mini-transcribe"`
	AudioModel         string `json:"openai_audio_model_name,omitempty" jsonschema:"model that answers questions about sounds; default: $OPENAI_AUDIO_MODEL_NAME, else gpt-4o-audio-preview"`
}

// Programs are the settings of programs that help.
type Programs struct {
	FFmpeg       string `json:"ffmpeg,omitempty" jsonschema:"program that converts sounds, with ffprobe beside it; default: ffmpeg in the PATH; - is none"`
	Pocketsphinx string `json:"pocketsphinx,omitempty" jsonschema:"program that writes down English speech where no endpoint is set up; default: pocketsphinx_continuous in the PATH; - is none"`
}

type server struct {
	base     *modeltool.Base
	files    *intake.Intake
	writer   *model.Client // nil: none writes down
	listener *model.Client // nil: none answers
	programs sound.Programs
	most     lengths
}

// lengths bound what models hear at once.
type lengths struct {
	whole time.Duration // of a file that is sent as it is
	piece time.Duration // of what a longer one is cut to
	heard time.Duration // of PCM in a question, within maxInline
}

var usual = lengths{whole: 20 * time.Minute, piece: 10 * time.Minute, heard: 7 * time.Minute}

// New returns the server. It fails where an option cannot be used, and names it.
func New(o Options) (*mcp.Server, error) { return NewIn(o, os.Getenv) }

// NewIn is New with the environment that the server is to have.
func NewIn(o Options, getenv func(string) string) (*mcp.Server, error) {
	s, err := build(o, getenv, egress.Seconds(2, 8, 20))
	if err != nil {
		return nil, err
	}
	return s.mcp(), nil
}

// build makes the server without its tools. A model is asked again after waits.
func build(o Options, getenv func(string) string, waits []time.Duration) (*server, error) {
	modeltool.Fill(getenv, map[*string]string{
		&o.WhisperBaseURL: "WHISPER_BASE_URL", &o.WhisperAPIKey: "WHISPER_API_KEY", &o.WhisperModelName: "WHISPER_MODEL_NAME",
		&o.APIKey: "OPENAI_API_KEY", &o.BaseURL: "OPENAI_BASE_URL",
		&o.TranscriptionModel: "OPENAI_TRANSCRIPTION_MODEL_NAME", &o.AudioModel: "OPENAI_AUDIO_MODEL_NAME",
	})
	if o.MaxFileMB == 0 {
		o.MaxFileMB = 100
	}
	if o.MaxFileMB < 1 || o.MaxFileMB > 500 {
		return nil, fmt.Errorf("option max_file_mb: %d is not between 1 and 500", o.MaxFileMB)
	}
	base, err := o.Open("audio", o.Allow)
	if err != nil {
		return nil, err
	}
	base.Waits = waits
	s := &server{base: base, most: usual}
	if s.files, err = intake.New(intake.Options{Roots: o.Roots, Pages: base.Pages, MaxBytes: int64(o.MaxFileMB) << 20}); err != nil {
		return nil, err
	}
	if err := s.chooseModels(o); err != nil {
		return nil, err
	}
	s.programs, err = o.find()
	s.programs.Env = modeltool.HelperEnv(getenv)
	return s, err
}

func (s *server) chooseModels(o Options) (err error) {
	vendor := modeltool.Vendors{OpenAIAPIKey: o.APIKey, OpenAIBaseURL: o.BaseURL}
	if o.APIKey != "" {
		vendor.OpenAIModelName = o.AudioModel
		if s.listener, err = s.base.OpenAI(vendor, "gpt-4o-audio-preview"); err != nil {
			return err
		}
		vendor.OpenAIModelName = o.TranscriptionModel
		if s.writer, err = s.base.OpenAI(vendor, "gpt-4o-mini-transcribe"); err != nil {
			return err
		}
	}
	if o.WhisperBaseURL == "" {
		return nil
	}
	if o.WhisperModelName == "" {
		o.WhisperModelName = "whisper-1"
	}
	s.writer, err = s.base.Client("whisper_base_url", model.Client{
		Kind: model.OpenAI, Label: "the speech endpoint", BaseURL: o.WhisperBaseURL, Name: o.WhisperModelName, Key: o.WhisperAPIKey, KeyName: "WHISPER_API_KEY",
	})
	return err
}

// find returns where the programs are.
func (p Programs) find() (sound.Programs, error) {
	var out sound.Programs
	for _, w := range []struct {
		option, set, usual string
		into               *string
	}{
		{"ffmpeg", p.FFmpeg, "ffmpeg", &out.FFmpeg}, {"pocketsphinx", p.Pocketsphinx, "pocketsphinx_continuous", &out.Sphinx},
	} {
		switch w.set {
		case "-":
		case "":
			*w.into, _ = exec.LookPath(w.usual) // or none
		default:
			path, err := exec.LookPath(w.set)
			if err != nil {
				return out, fmt.Errorf("option %s: %w", w.option, err)
			}
			*w.into = path
		}
	}
	if out.FFmpeg != "" {
		out.FFprobe = beside(out.FFmpeg)
	}
	return out, nil
}

// maxChars bounds an answer.
const maxChars = 20_000

// Meta returns what is declared of each tool, by its name.
func Meta() map[string]tool.Meta {
	m := func(hint string) tool.Meta {
		return tool.Meta{
			Registered: true, ReadOnly: true, ConcurrencySafe: true, Idempotent: true,
			SideEffect: tool.EffectExternal, RiskLevel: tool.RiskMedium, MaxResultChars: maxChars, SearchHint: hint, AsksModels: true,
		}
	}
	return map[string]tool.Meta{
		"audio_transcription":      m("transcribe speech recording audio to text words spoken meeting call 语音 转文字 转写 录音"),
		"audio_question_answering": m("listen to audio sound recording music answer question duration 听 音频 问答 时长"),
	}
}

func (s *server) mcp() *mcp.Server {
	srv := mcp.NewServer(&mcp.Implementation{Name: "tenon-audio", Title: "Audio", Version: "1.0.0"},
		&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}})
	srv.AddReceivingMiddleware(modeltool.Bill)
	s.addTranscription(srv)
	s.addQuestion(srv)
	return srv
}

var errNobodyWrites = errors.New("nobody can write down speech here: the operator must set WHISPER_BASE_URL or OPENAI_API_KEY for this server, or install pocketsphinx")
