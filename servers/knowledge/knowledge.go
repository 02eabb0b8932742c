// Package knowledge is the bundled server "knowledge": it finds what documents say.
//
//	srv, err := knowledge.New(knowledge.Options{Roots: []string{"./runbooks"}})
//
// Documents are files in folders that the operator names: Markdown, HTML, PDF, those
// of office programs and more (internal/document). They are cut to sections that can
// be read alone (chunk), kept in an index on disk (index) that follows the folders
// (library), and found by their words, without any model. Where the operator names an
// endpoint, they are also found by what they mean, and put in order by a reranker
// (meaning); where that does not answer, words find alone, and the answer says so.
//
// Nothing outside the folders is read, links included, and nothing is written but what
// kb_add_document adds to the one folder that the option writable names.
package knowledge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/servers/knowledge/library"
	"github.com/tenon-mcp/tenon/servers/knowledge/meaning"
	"github.com/tenon-mcp/tenon/tool"
)

// Options are the settings of the server.
type Options struct {
	Roots     []string `json:"roots,omitempty" path:"yes" jsonschema:"folders of documents; nothing outside of them is read"`
	Writable  string   `json:"writable,omitempty" path:"yes" jsonschema:"folder that kb_add_document writes to, which is searched like a root; default: none, and nothing can be added"`
	IndexDir  string   `json:"index_dir,omitempty" path:"yes" jsonschema:"folder of the index; default: one in the user's cache folder; - keeps it in memory"`
	Exclude   []string `json:"exclude,omitempty" jsonschema:"patterns of names of files and folders that are left out, such as draft-*; names that begin with a dot are left out anyway"`
	Types     []string `json:"types,omitempty" jsonschema:"endings of names that count as documents besides the usual ones, such as .log or .yaml"`
	MaxFileMB int      `json:"max_file_mb,omitempty" jsonschema:"size in MiB beyond which a file is left out; default: 50"`

	EmbeddingsURL   string `json:"embeddings_url,omitempty" jsonschema:"base URL of an endpoint for embeddings as OpenAI has it, such as http://127.0.0.1:8080/v1; default: none, and documents are found by their words"`
	EmbeddingsModel string `json:"embeddings_model,omitempty" jsonschema:"model that the endpoint is to use"`
	EmbeddingsKey   string `json:"embeddings_key,omitempty" jsonschema:"key of the endpoint; better set as KNOWLEDGE_EMBEDDINGS_KEY in the environment of the server"`
	RerankURL       string `json:"rerank_url,omitempty" jsonschema:"base URL of an endpoint with /rerank, as Jina, Cohere and vLLM have it; default: none"`
	RerankModel     string `json:"rerank_model,omitempty" jsonschema:"model that the reranker is to use"`
	RerankKey       string `json:"rerank_key,omitempty" jsonschema:"key of the reranker; better set as KNOWLEDGE_RERANK_KEY in the environment of the server"`
	CAFile          string `json:"ca_file,omitempty" path:"yes" jsonschema:"file of PEM certificates to trust besides the system's, for these endpoints"`
}

type server struct {
	lib      *library.Library // nil: no folder is named
	writable string
	embedder *meaning.Model // nil: none
	reranker *meaning.Model
	patience time.Duration // how long a search waits for the first look at the folders
	sessions sync.WaitGroup
}

// New returns the server. It fails where a folder is none, or an endpoint's URL cannot
// be used. It reads no document before it is connected.
func New(o Options) (*mcp.Server, error) { return NewIn(o, os.Getenv) }

// NewIn is New where the environment is another one than that of this process.
func NewIn(o Options, getenv func(string) string) (*mcp.Server, error) {
	return NewAt(o, tool.Place{Getenv: getenv})
}

// NewAt is New for a place, which is told to wait until the index is closed.
func NewAt(o Options, at tool.Place) (*mcp.Server, error) {
	s, err := newServer(o, at.Getenv)
	if err != nil {
		return nil, err
	}
	if at.AtEnd != nil {
		at.AtEnd(func() error { s.sessions.Wait(); return nil }) // the last one closes it
	}
	return s.mcp(), nil
}

func newServer(o Options, getenv func(string) string) (*server, error) {
	s := &server{patience: 10 * time.Second}
	err := setModel(&s.embedder, "embeddings_url", o.EmbeddingsURL, o.EmbeddingsModel, cmp.Or(o.EmbeddingsKey, getenv("KNOWLEDGE_EMBEDDINGS_KEY")), o.CAFile)
	if err != nil {
		return nil, err
	}
	if err = setModel(&s.reranker, "rerank_url", o.RerankURL, o.RerankModel, cmp.Or(o.RerankKey, getenv("KNOWLEDGE_RERANK_KEY")), o.CAFile); err != nil {
		return nil, err
	}
	if o.MaxFileMB < 0 || o.MaxFileMB > 1024 {
		return nil, fmt.Errorf("option max_file_mb: %d is not between 1 and 1024", o.MaxFileMB)
	}
	roots := o.Roots
	if o.Writable != "" {
		roots = append(slices.Clip(roots), o.Writable)
		if s.writable, err = filepath.Abs(o.Writable); err != nil {
			return nil, fmt.Errorf("option writable: %w", err)
		}
		if target, err := filepath.EvalSymlinks(s.writable); err == nil {
			s.writable = target // else it may come yet
		}
	}
	if len(roots) == 0 {
		return s, nil // the tools say what to set
	}
	s.lib, err = library.New(library.Options{
		Roots: roots, IndexDir: o.IndexDir, MaxFile: int64(o.MaxFileMB) << 20, Types: o.Types, Exclude: o.Exclude, Embedder: s.embedder, Getenv: getenv,
	})
	if err != nil {
		return nil, fmt.Errorf("options of knowledge: %w", err)
	}
	return s, nil
}

// setModel sets the model behind an option, where that is set.
func setModel(m **meaning.Model, option, base, name, key, ca string) error {
	if base == "" {
		return nil
	}
	out, err := egress.New(egress.Options{Server: "knowledge", CAFile: ca})
	if err != nil {
		return err
	}
	client, err := out.Service(base)
	if err != nil {
		return fmt.Errorf("option %s: %w", option, err)
	}
	*m = &meaning.Model{Client: client, BaseURL: base, Name: name, Key: key}
	return nil
}

func (s *server) mcp() *mcp.Server {
	srv := mcp.NewServer(&mcp.Implementation{Name: "tenon-knowledge", Title: "Knowledge base", Version: "1.0.0"},
		&mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}, InitializedHandler: s.keepOpen})
	s.addSearch(srv)
	s.addList(srv)
	s.addGet(srv)
	s.addAdd(srv)
	return srv
}

// keepOpen keeps the index open, and up with the folders, while a session lasts. Calls
// open it for themselves, for there are clients without sessions.
func (s *server) keepOpen(ctx context.Context, req *mcp.InitializedRequest) {
	if s.lib == nil {
		return
	}
	release, err := s.lib.Use(context.WithoutCancel(ctx))
	if err != nil {
		return // the first call says why
	}
	s.sessions.Go(func() {
		defer release()
		_ = req.Session.Wait() // however it ended
	})
}

// errNoFolders is what the tools answer where there is nothing to search.
var errNoFolders = errors.New("the knowledge base has no folders: its operator must name some in the option roots (or --roots), such as roots: [./docs]")

// use opens the index for a call.
func (s *server) use(ctx context.Context) (release func(), err error) {
	if s.lib == nil {
		return nil, errNoFolders
	}
	return s.lib.Use(ctx)
}

// Most characters of the answers.
const (
	searchChars = 8000
	listChars   = 8000
	getChars    = 24_000
	addChars    = 600
)

// Meta returns what is declared of each tool, by its name.
func Meta() map[string]tool.Meta {
	m := func(chars int, hint string) tool.Meta {
		return tool.Meta{
			Registered: true, ReadOnly: true, ConcurrencySafe: true, Idempotent: true,
			SideEffect: tool.EffectNone, RiskLevel: tool.RiskLow, MaxResultChars: chars, SearchHint: hint,
		}
	}
	add := m(addChars, "add write save note document runbook to the knowledge base 添加 保存 文档 知识库")
	add.ReadOnly, add.ConcurrencySafe, add.Idempotent = false, false, false
	add.SideEffect, add.RiskLevel = tool.EffectFilesystem, tool.RiskMedium
	return map[string]tool.Meta{
		"search_knowledge_base": m(searchChars, "search knowledge base runbook documentation manual wiki how to procedure 知识库 检索 文档 手册 故障处理"),
		"kb_list_documents":     m(listChars, "list documents files of the knowledge base 文档 列表"),
		"kb_get_document":       m(getChars, "read whole document of the knowledge base 读取 文档 全文"),
		"kb_add_document":       add,
	}
}
