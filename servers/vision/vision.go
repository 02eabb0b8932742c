// Package vision is the bundled server "vision": it looks at images and videos, by
// models of the operator's choice.
//
//	srv, err := vision.New(vision.Options{Access: intake.Access{Roots: []string{"./charts"}}})
//
// Who looks is the first that is set up of these: an endpoint of one's own that answers
// as OpenAI does (VISION_BASE_URL), Anthropic, OpenAI, Gemini. Where none is, the letters
// on an image are read by tesseract, if it is installed, and the answer says that nobody
// has looked at the rest.
//
// Images are known by their content, made small enough for who looks, and come from
// folders that the operator has opened, from the web through guards, or as data.
package vision

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
	"github.com/tenon-mcp/tenon/servers/vision/picture"
	"github.com/tenon-mcp/tenon/tool"
)

// Options are the settings of the server. The zero value takes them from the environment.
type Options struct {
	intake.Access
	MaxFileMB       int    `json:"max_file_mb,omitempty" jsonschema:"size in MiB beyond which an image is not taken, 1 to 100; videos may have two and a half times that; default: 20"`
	VisionBaseURL   string `json:"vision_base_url,omitempty" jsonschema:"base URL, or address of /chat/completions, of an endpoint like OpenAI's that takes images (vLLM, Ollama, llama.cpp), which is asked before all others; default: $VISION_BASE_URL"`
	VisionAPIKey    string `json:"vision_api_key,omitempty" jsonschema:"key of that endpoint; better in the environment of the server as VISION_API_KEY"`
	VisionModelName string `json:"vision_model_name,omitempty" jsonschema:"model of that endpoint; default: $VISION_MODEL_NAME"`
	Tesseract       string `json:"tesseract,omitempty" jsonschema:"program that reads letters where no model is set up; default: tesseract in the PATH; - is none"`
	OCRLanguages    string `json:"ocr_languages,omitempty" jsonschema:"languages of tesseract, such as eng+deu; default: its own"`
	modeltool.Vendors
	modeltool.Common
}

// A looker is a model, and what it takes.
type looker struct {
	*model.Client
	limits picture.Limits
	video  int // most bytes of a video; 0: it takes none
}

type server struct {
	base      *modeltool.Base
	files     *intake.Intake
	image     int64         // most bytes of an image
	look      *looker       // nil: none is set up
	gemini    *model.Client // nil: no key
	tesseract string        // path, or nothing
	languages string
	env       []string
}

// New returns the server. It fails where an option cannot be used, and names it.
func New(o Options) (*mcp.Server, error) { return NewIn(o, os.Getenv) }

// NewIn is New with the environment that the server is to have.
func NewIn(o Options, getenv func(string) string) (*mcp.Server, error) {
	s, err := build(o, getenv, egress.Seconds(2, 8, 30))
	if err != nil {
		return nil, err
	}
	return s.mcp(), nil
}

// build makes the server without its tools. A model is asked again after waits.
func build(o Options, getenv func(string) string, waits []time.Duration) (*server, error) {
	o.Complete(getenv)
	modeltool.Fill(getenv, map[*string]string{&o.VisionBaseURL: "VISION_BASE_URL", &o.VisionAPIKey: "VISION_API_KEY", &o.VisionModelName: "VISION_MODEL_NAME"})
	if o.MaxFileMB == 0 {
		o.MaxFileMB = 20
	}
	if o.MaxFileMB < 1 || o.MaxFileMB > 100 {
		return nil, fmt.Errorf("option max_file_mb: %d is not between 1 and 100", o.MaxFileMB)
	}
	base, err := o.Open("vision", o.Allow)
	if err != nil {
		return nil, err
	}
	base.Waits = waits
	s := &server{base: base, image: int64(o.MaxFileMB) << 20, languages: o.OCRLanguages, env: modeltool.HelperEnv(getenv)}
	if s.files, err = intake.New(intake.Options{Roots: o.Roots, Pages: base.Pages, MaxBytes: s.image * 5 / 2}); err != nil {
		return nil, err
	}
	if o.GeminiAPIKey != "" {
		if s.gemini, err = base.Gemini(o.Vendors); err != nil {
			return nil, err
		}
	}
	if s.look, err = chooseLooker(o, base, s.gemini); err != nil {
		return nil, err
	}
	switch o.Tesseract {
	case "-":
	case "":
		s.tesseract, _ = exec.LookPath("tesseract") // or none
	default:
		if s.tesseract, err = exec.LookPath(o.Tesseract); err != nil {
			return nil, fmt.Errorf("option tesseract: %w", err)
		}
	}
	return s, nil
}

// Bounds of what vendors take, with room for the rest of a request.
const (
	anthropicBytes = 3_700_000 // 5 MiB in base64
	anthropicSide  = 8000
	openaiBytes    = 14 << 20
	openaiSide     = 8000
	geminiBytes    = 14 << 20 // 20 MiB for a request in all
	ownVideoBytes  = 50 << 20
)

// chooseLooker returns who looks, or nil.
func chooseLooker(o Options, base *modeltool.Base, gemini *model.Client) (*looker, error) {
	plain := picture.Limits{Bytes: openaiBytes, Side: openaiSide}
	switch {
	case o.VisionBaseURL != "":
		c, err := base.Client("vision_base_url", model.Client{
			Kind: model.OpenAI, Label: "the vision endpoint", BaseURL: o.VisionBaseURL, Name: o.VisionModelName, Key: o.VisionAPIKey, KeyName: "VISION_API_KEY",
		})
		if o.VisionModelName == "" && err == nil {
			err = errors.New("option vision_model_name (VISION_MODEL_NAME): it must be set with vision_base_url")
		}
		return &looker{c, plain, ownVideoBytes}, err
	case o.AnthropicAPIKey != "":
		c, err := base.Anthropic(o.Vendors)
		return &looker{c, picture.Limits{Bytes: anthropicBytes, Side: anthropicSide}, 0}, err
	case o.OpenAIAPIKey != "":
		c, err := base.OpenAI(o.Vendors, "gpt-4o")
		return &looker{c, plain, 0}, err
	case gemini != nil:
		return &looker{gemini, picture.Limits{Bytes: geminiBytes, Side: openaiSide}, geminiBytes}, nil
	}
	return nil, nil
}

func (s *server) mcp() *mcp.Server {
	srv := mcp.NewServer(&mcp.Implementation{Name: "tenon-vision", Title: "Vision", Version: "1.0.0"},
		&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}})
	srv.AddReceivingMiddleware(modeltool.Bill)
	s.addQuestion(srv)
	s.addYouTube(srv)
	return srv
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
		"visual_question_answering":      m("look at image picture photo screenshot chart diagram video OCR text on image 看图 图片 识别 问答 文字识别"),
		"visual_audio_youtube_analyzing": m("watch YouTube video transcript transcribe summary question 视频 油管 转写 字幕 分析"),
	}
}
