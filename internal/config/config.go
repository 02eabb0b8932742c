// Package config turns files into one validated, defaulted value: the servers
// of the pool, what the operator declares of their tools, and the settings of
// the gateway.
//
// Load reads a tenon.yaml with all that it includes. It also reads, as they
// are, the files that people already have: the mcpServers JSON of desktop
// clients, folders of one-tool files, and agent files that pick tools out of
// such a folder. A desktop client's file and a tenon.yaml give the same value:
//
//	cfg, err := config.Load(config.Source{Path: "tenon.yaml", Env: os.Environ()})
//	if err != nil {
//		return err // *config.Error: every mistake, each with file, line and column
//	}
//	for _, s := range cfg.Servers {
//		if s.Err != nil {
//			continue // a broken entry, also told in cfg.Broken; the others work
//		}
//		start(s)
//	}
//
// # How it works
//
// Package source parses a file into a tree of nodes that know their place. An
// object reads the keys of one map, collects each mistake with its
// place, and at the end names the keys that it does not know (object.go).
//
// Texts may hold ${env:NAME}; what comes from there, from the file .env, or
// stands under `env:` and `headers:` is a secret. No text of this package,
// neither an error nor a printed value, holds one.
//
// This package starts nothing and looks at nothing but the files that it is
// given: whether a command exists is found out when its server starts.
package config

import (
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/tenon-mcp/tenon/internal/named"
	"github.com/tenon-mcp/tenon/internal/source"
	"github.com/tenon-mcp/tenon/tool"
)

// A Problem is one mistake in one place.
type Problem = source.Problem

// An Error holds every mistake that was found, by place.
type Error = source.Error

// A Source says what to load.
type Source struct {
	// Path is a tenon.yaml, a client's JSON, an agent file, a one-tool file, or a
	// folder that holds a tenon.yaml or one-tool files.
	Path string
	// Env is the environment as os.Environ gives it. It feeds ${env:…} and wins
	// over the file .env. No other variable of the process is read.
	Env []string
	// Bundled are the names that `bundled:` may give; nil leaves them unchecked.
	Bundled []string
	// Aliases are other names that it may give, each with the one that it stands for.
	Aliases map[string]string
	// AliasOptions are options that a server has under another name unless its entry sets
	// them: JSON objects.
	AliasOptions map[string]string
	// Rules are the names of the content rules that hold unless `content_rules:`
	// says otherwise; nil leaves them unchecked.
	Rules []string
	// CheckAddress tells what is wrong with an address of a content rule, in words
	// that read on after it; nil leaves them unchecked.
	CheckAddress func(pattern string) error
	// CheckParameter tells what is wrong with a rule for an argument, and
	// CheckReadOnlyFor with an expression that says when a tool only reads; nil
	// leaves them unchecked. An error with a method Place() int says where in the
	// expression the mistake is.
	CheckParameter   func(r ParameterRule) error
	CheckReadOnlyFor func(expression string) error
	// LoadSkills reads the skills that there are; nil leaves names of skills unchecked.
	LoadSkills func(Skills) SkillSet
}

// A Config is all that the files say, validated, with the defaults filled in.
// It is not safe for concurrent change; nothing changes it after Load.
type Config struct {
	Path string // as in Source
	Dir  string // the absolute folder that relative paths start from

	// Files are the absolute paths of the files that were read, and of the folders
	// that were looked through for some: what a change of the configuration is in.
	Files []string `json:"-"`

	// Servers are the entries in the order of the files. A broken one stays,
	// with Err set and its fields as far as they could be read. Names are unique.
	Servers []Server
	// Tools are the metadata overrides in the order of the files: where several
	// match one tool, all apply, and a later one wins over an earlier one.
	Tools []ToolRule
	// Blacklist are the tools that nobody may list or call. Both halves may be
	// patterns: see Match.
	Blacklist []tool.ID

	// Fallbacks are the tools that stand in for others, in the order of the files.
	// The first one for a tool counts.
	Fallbacks []Fallback

	// ContentRules are what the files say of addresses that must not be reached, in
	// their order. Names are unique.
	ContentRules []ContentRule

	FailSilently bool // false: a required server that failed stops the start
	Strict       bool // true: a broken entry is an error of the whole
	Gateway      Gateway
	Store        Store  `json:",omitzero"` // where long results are kept
	Policy       Policy `json:",omitzero"`
	Skills       Skills `json:",omitzero"`
	Auth         Auth   `json:",omitzero"`
	Lazy         Lazy   `json:",omitzero"` // whether the list of tools is short

	Sampling *Sampling `json:",omitempty"` // nil answers nothing

	// Named are all places that name tools of servers that are there.
	Named []named.Name `json:"-"`
	// Delegations are the entries that hand subtasks to tools of the pool.
	Delegations []Delegation `json:"-"`

	// Broken are the mistakes in server entries, by place.
	Broken []Problem
	// Warnings are what was read over: unknown keys of foreign files, say.
	Warnings []Problem
	// Secrets are the texts to hide wherever they turn up: what ${file:…}, ${keyring:…}
	// and ${secret:…} gave; and of .env, of `env:`, `headers:` and `options:` and of what
	// interpolation took from the environment, whatever is a secret by its name or by its
	// look (redact.IsSetting). Texts shorter than six bytes are left out, for hiding each
	// "true" and "8080" would hide the log.
	Secrets []tool.Secret
}

// Incoming bounds what comes over HTTP.
type Incoming struct {
	MaxBodyBytes int64 // of one request
	Connections  Connections
}

// Connections bound those that are open at once at the listener; 0 is no bound.
type Connections struct {
	Max        int
	PerAddress int // from one address that is not of this machine
}

// Gateway is the section `gateway:`, what concerns the whole process.
type Gateway struct {
	Listen          string        // host:port
	AllowedHosts    []string      // values of Host and Origin that are let in beside the listener's own
	TLS             TLS           `json:",omitzero"` // of the listener
	ListenAt, TLSAt Problem       `json:"-"`         // the places of both
	Incoming                      // of the listener
	MaxMessageBytes int64         // of one message from a server
	CallTimeout     time.Duration // of a call where neither tool, server nor caller says one
	MaxCallTimeout  time.Duration // of any call, whatever its caller asks for
	MemoryLimit     int64         // soft limit in bytes, as GOMEMLIMIT; 0 is none
	GCPercent       int           // as GOGC; 0 leaves it alone
	RememberTools   bool          // list the tools of the run before until a server has listed its own
	Admission       Admission     `json:"-"`
	Spawning        Spawning      `json:"-"`
	Retry           Retry         // of calls
}

// Admission bounds what runs at once, and what waits for that.
type Admission struct {
	MaxConcurrent int   // calls of all servers that run; 0 is no limit
	MaxQueue      int   // calls of all servers that wait; 0 is none
	MaxQueueBytes int64 // of the arguments of calls that wait
	MaxParallel   int   // calls of one batch that run side by side
	MaxBatch      int   // calls of one batch that are carried out; 0 is no limit
}

// The limits of a server that says none: see the manual for their arithmetic.
const (
	maxConcurrent     = 256
	maxConcurrentCall = 16 // each call is a process of its own
	maxQueue          = 1000
	maxCalls          = 1_000_000 // the largest limit that may be set
)

// concurrent returns how many calls of a server run at once where its entry does
// not say.
func concurrent(i Isolation) int {
	if i == IsolationCall {
		return maxConcurrentCall
	}
	return maxConcurrent
}

// A Transport is how a server is spoken to.
type Transport string

// The transports. Auto tries streamable HTTP, then SSE.
const (
	TransportAuto  Transport = "auto"
	TransportStdio Transport = "stdio"
	TransportHTTP  Transport = "streamable-http"
	TransportSSE   Transport = "sse"
)

// Isolation says who shares one running server.
type Isolation string

// The isolations.
const (
	IsolationShared  Isolation = "shared"  // all callers
	IsolationSession Isolation = "session" // one session of one caller
	IsolationCall    Isolation = "call"    // nobody: one process or connection a call
)

// Start says when a server starts. The empty value leaves it to the program.
type Start string

// The starts.
const (
	StartLazy  Start = "lazy"  // on its first use
	StartEager Start = "eager" // with the gateway
)

// defaults returns the values of everything that a file does not say. It is the
// only place that knows them.
func defaults() (Config, Server) {
	cfg := Config{
		FailSilently: true,
		Policy:       Policy{Mode: tool.ModeNormal, BlockHighRisk: true, AllowNotification: true},
		Skills:       Skills{BuiltIn: true},
		Gateway: Gateway{
			Listen:          "127.0.0.1:8400",
			Incoming:        Incoming{MaxBodyBytes: 64 << 20, Connections: Connections{Max: 10_000, PerAddress: 1000}},
			MaxMessageBytes: 64 << 20,
			CallTimeout:     900 * time.Second,
			MaxCallTimeout:  time.Hour,
			RememberTools:   true,
			Admission: Admission{
				MaxConcurrent: 1000, MaxQueue: 4000, MaxQueueBytes: 256 << 20,
				MaxParallel: 6, MaxBatch: 10,
			},
			Spawning: Spawning{Rate: 50, MaxProcesses: 512},
			Retry:    Retry{Attempts: 3, Delay: 200 * time.Millisecond, MaxDelay: 5 * time.Second},
		},
	}
	server := Server{
		Transport:    TransportAuto,
		Isolation:    IsolationShared,
		StartTimeout: 30 * time.Second,
		Retries:      1,
		RetryDelay:   500 * time.Millisecond,

		MaxConcurrent: maxConcurrent,
		MaxQueue:      maxQueue,
		Care:          Care{HealthCheck: healthCheck},
	}
	return cfg, server
}

// environ returns the lookup of a list as os.Environ gives it.
func environ(list []string) map[string]string {
	env := make(map[string]string, len(list))
	for _, kv := range list {
		// Windows keeps the folder of each drive under names such as "=C:".
		if name, value, ok := strings.Cut(kv, "="); ok && name != "" {
			env[envKey(name)] = value
		}
	}
	return env
}

// envKey returns the name under which a variable is kept: Windows does not
// distinguish upper and lower case.
func envKey(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}

// under returns path as seen from dir.
func under(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
