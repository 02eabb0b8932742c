package config_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/tool"
)

// write writes files below a new folder and returns it. Names are slash-separated.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// reveal returns the values of secrets.
func reveal(secrets map[string]tool.Secret) map[string]string {
	out := make(map[string]string)
	for name, s := range secrets {
		out[name] = s.Reveal()
	}
	return out
}

func names(cfg *config.Config) []string {
	var out []string
	for _, s := range cfg.Servers {
		out = append(out, s.Name)
	}
	return out
}

// TestBrokenEntryStopsNobody is the promise of the file: one bad entry leaves the
// others working, unless the file is strict.
func TestBrokenEntryStopsNobody(t *testing.T) {
	const text = "servers:\n  one: {command: x}\n  two: {comand: y}\n  three: {bundled: system}\n"
	dir := write(t, map[string]string{"tenon.yaml": "version: 1\n" + text, "strict.yaml": "version: 1\nstrict: true\n" + text})
	cfg, err := load(t, filepath.Join(dir, "tenon.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := names(cfg), []string{"one", "two", "three"}; !slices.Equal(got, want) {
		t.Errorf("servers are %v, want %v in the order of the file", got, want)
	}
	for _, s := range cfg.Servers {
		if broken := s.Err != nil; broken != (s.Name == "two") {
			t.Errorf("server %s: error is %v", s.Name, s.Err)
		}
	}
	if len(cfg.Broken) != 1 {
		t.Errorf("%d problems, want 1: %v", len(cfg.Broken), cfg.Broken)
	}
	if e, ok := errors.AsType[*config.Error](cfg.Servers[1].Err); !ok || len(e.Problems) != 1 {
		t.Errorf("the entry's error is %v, want its one problem", cfg.Servers[1].Err)
	}
	if cfg, err := load(t, filepath.Join(dir, "strict.yaml")); err == nil {
		t.Errorf("strict: loaded %v, want an error", names(cfg))
	}
}

// TestNamesAreUnique: of two entries with one name the first is kept, and the
// second is told.
func TestNamesAreUnique(t *testing.T) {
	cfg, err := load(t, "testdata/bad/include-double")
	if err != nil {
		t.Fatal(err)
	}
	if got := names(cfg); !slices.Equal(got, []string{"a"}) || cfg.Servers[0].Command != "x" || cfg.Servers[0].Err != nil {
		t.Errorf("servers are %v, want the first a alone, and whole", cfg.Servers)
	}
	if len(cfg.Broken) != 1 {
		t.Errorf("problems are %v, want one", cfg.Broken)
	}
}

// TestValues looks behind the dots of the dumps.
func TestValues(t *testing.T) {
	cfg, err := load(t, "testdata/good/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	reading, files, docs, auto := cfg.Servers[1], cfg.Servers[2], cfg.Servers[4], cfg.Servers[6]
	wantOptions := `{"roots":["./docs"],"depth":3,"ratio":0.5,"deep":{"on":true,"off":null},"key":"token-from-environment","big":9007199254740993}`
	if got := reading.Options.Reveal(); got != wantOptions {
		t.Errorf("options are\n%s, want\n%s", got, wantOptions)
	}
	wantEnv := map[string]string{"TOKEN": "token-from-environment", "PORT": "8080", "DEBUG": "true", "VERSION": "1.10", "LITERAL": "a${b}"}
	if diff := cmp.Diff(wantEnv, reveal(files.Env)); diff != "" {
		t.Errorf("env (-want +got):\n%s", diff)
	}
	if got, want := files.Args[6], "--token=token-from-environment"; got != want {
		t.Errorf("argument is %q, want %q", got, want)
	}
	if got, want := docs.Headers["Authorization"].Reveal(), "Bearer token-from-environment"; got != want {
		t.Errorf("header is %q, want %q", got, want)
	}
	if got, want := auto.URL, "http://tools.example.com/mcp?key=token-from-environment"; got != want {
		t.Errorf("url is %q, want %q", got, want)
	}
	if files.Timeout != 45*time.Second {
		t.Errorf("timeout is %s, want that of the variable, 45s", files.Timeout)
	}
}

// TestExpand is the table of expressions, in a tenon.yaml.
func TestExpand(t *testing.T) {
	tests := []struct{ text, want string }{
		{"${env:TOKEN}", "token-from-environment"},
		{"${oc.env:TOKEN}", "token-from-environment"},
		{"a${env:PORT}b${env:PORT}", "a8080b8080"},
		{"${env:EMPTY}", ""},
		{"${env:EMPTY,other}", ""}, // set, though empty
		{"${env:NO_SUCH,}", ""},
		{"${env:NO_SUCH, spaced }", "spaced"},
		{"${env:NO_SUCH,'  kept  '}", "  kept  "},
		{`${oc.env:NO_SUCH,""}`, ""},
		{"${oc.env:NO_SUCH,null}", ""},
		{"${env:NO_SUCH,null}", "null"},
		{"${env:NO_SUCH,https://example.com/a,b?c=d}", "https://example.com/a,b?c=d"},
		{"${env:NO_SUCH,${env:PORT}}", "8080"},
		{"${env:NO_SUCH,${env:NOR_THIS,deep}}", "deep"},
		{"$${env:TOKEN}", "${env:TOKEN}"},
		{"$$${env:TOKEN}", "$${env:TOKEN}"},
		{"${env:PORT}$${x}", "8080${x}"},
		{"$$ $x $ {y}", "$$ $x $ {y}"},
		{"???", "???"},
	}
	for _, tt := range tests {
		quoted, err := json.Marshal(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		dir := write(t, map[string]string{"tenon.yaml": fmt.Sprintf("version: 1\nservers: {a: {command: x, args: [%s]}}\n", quoted)})
		cfg, err := load(t, filepath.Join(dir, "tenon.yaml"))
		if err != nil || len(cfg.Broken) > 0 {
			t.Errorf("%s: %v %v", tt.text, err, cfg.Broken)
			continue
		}
		if got := cfg.Servers[0].Args[0]; got != tt.want {
			t.Errorf("%s becomes %q, want %q", tt.text, got, tt.want)
		}
	}
}

// TestDotenv is the table of lines of .env.
func TestDotenv(t *testing.T) {
	tests := []struct {
		text string
		want string // of V
		bad  string // or this problem's place and text
	}{
		{text: "V=plain", want: "plain"},
		{text: "  V = spaced out  ", want: "spaced out"},
		{text: "export V=x", want: "x"},
		{text: "export\tV=x", want: "x"},
		{text: "V=", want: ""},
		{text: "V=a#b", want: "a#b"},
		{text: "V=a # comment", want: "a"},
		{text: "V=#fff", want: "#fff"},
		{text: "V= # comment", want: ""},
		{text: "# V=no\n\n\nV=yes\n# end", want: "yes"},
		{text: "V='single $x \\n'", want: `single $x \n`},
		{text: `V="double \"q\" \\ \n\t\$x \z"`, want: "double \"q\" \\ \n\t$x \\z"},
		{text: `V="x" # comment`, want: "x"},
		{text: "V=\"two\nlines\"\nW=1", want: "two\nlines"},
		{text: "V=\"a\\\nb\"", want: "a\\\nb"},
		{text: "V=a=b", want: "a=b"},
		{text: "V=ü\r\nW=x\r\n", want: "ü"},
		{text: "\ufeffV=x", want: "x"},
		{text: "V=one\nV=two", want: "two"},
		{text: "V=don't", want: "don't"},
		{text: "V=${W}", want: "${W}"},
		{text: "exportV=1\nV=x", want: "x"},
		{text: "V", bad: "1:2: wants NAME=value (a value that spans lines is quoted)"},
		{text: "ok=1\n  =x", bad: "2:3: wants NAME=value (a name is letters, digits and _, and begins with no digit)"},
		{text: "ok=1\n9V=x", bad: "2:1: wants NAME=value (a name is letters, digits and _, and begins with no digit)"},
		{text: "V=\"open\nW=1", bad: "1:3: this quote is never closed"},
		{text: "W=\"a\nb\" c\n", bad: `2:4: stands behind a closing quote (quote the whole value, or write \" within it)`},
		{text: "V='a'b", bad: `1:6: stands behind a closing quote (quote the whole value, or write \" within it)`},
		{text: "V=a\x00b", bad: "1:3: holds a NUL byte"},
		{text: "V=\xff", bad: " is not UTF-8 text"},
	}
	for _, tt := range tests {
		dir := write(t, map[string]string{".env": tt.text, "tenon.yaml": "version: 1\nservers: {a: {command: x, env: {V: '${env:V,unset}'}}}\n"})
		cfg, err := config.Load(config.Source{Path: filepath.Join(dir, "tenon.yaml")})
		if tt.bad != "" {
			if want := filepath.Join(dir, ".env") + ":" + tt.bad; err == nil || err.Error() != want {
				t.Errorf("%q: error is\n%v, want\n%s", tt.text, err, want)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		if got := cfg.Servers[0].Env["V"].Reveal(); got != tt.want {
			t.Errorf("%q gives %q, want %q", tt.text, got, tt.want)
		}
	}
}

// TestEnvironmentWins: what the environment says goes over .env, an empty value
// too; what .env holds is hidden, unless it looks like no secret.
func TestEnvironmentWins(t *testing.T) {
	dir := write(t, map[string]string{
		".env":       "BOTH=file-key-111\nEMPTY=file-key-111\nFILE=only-file-key-222\nUNUSED=never-asked-key-333\nMODE=settings\n",
		"tenon.yaml": "version: 1\nservers: {a: {command: x, args: ['${env:BOTH}', '${env:EMPTY}', '${env:FILE}', '${env:HOME}']}}\n",
	})
	cfg, err := config.Load(config.Source{Path: filepath.Join(dir, "tenon.yaml"), Env: []string{"BOTH=environment-key-444", "EMPTY=", "HOME=/home/ada", "=C:=x", "junk"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"environment-key-444", "", "only-file-key-222", "/home/ada"}, cfg.Servers[0].Args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	var secrets []string
	for _, s := range cfg.Secrets {
		secrets = append(secrets, s.Reveal())
	}
	want := []string{"environment-key-444", "never-asked-key-333", "only-file-key-222", "file-key-111"}
	if diff := cmp.Diff(want, secrets); diff != "" {
		t.Errorf("secrets, the longest first (-want +got):\n%s", diff)
	}
}

// TestNothingShowsSecrets loads every file of testdata and looks for the secrets
// in all that can be printed.
func TestNothingShowsSecrets(t *testing.T) {
	secrets := []string{"token-from-environment", "value-that-fits-nothing", "lines-of-a-value", "sk-", "from-the-file", "a key, from", "pass@"}
	for _, path := range append(cases(t, "bad"), cases(t, "good")...) {
		cfg, err := load(t, path)
		var out strings.Builder
		logger := slog.New(slog.NewJSONHandler(&out, nil))
		logger.Info("loaded", "config", cfg, "error", err)
		slog.New(slog.NewTextHandler(&out, nil)).Info("loaded", "config", cfg, "error", err)
		fmt.Fprintf(&out, "%v %+v %#v", err, err, err)
		show := func(problems []config.Problem) {
			for _, p := range problems {
				fmt.Fprintf(&out, "%s\n%s\n%+v\n", p, p.Excerpt, p)
			}
		}
		if e, ok := errors.AsType[*config.Error](err); ok {
			show(e.Problems)
		}
		if cfg != nil {
			fmt.Fprintf(&out, "%v %+v %#v %v", cfg, cfg, cfg, *cfg)
			dump, err := json.Marshal(cfg)
			if err != nil {
				t.Fatal(err)
			}
			out.Write(dump)
			show(cfg.Broken)
			show(cfg.Warnings)
			for _, s := range cfg.Servers {
				fmt.Fprintf(&out, "%v %+v %#v %s %v", s, s, s, s, s.Err)
				logger.Info("server", "server", s)
			}
		}
		for _, secret := range secrets {
			if i := strings.Index(out.String(), secret); i >= 0 {
				t.Errorf("%s shows %q: …%s…", path, secret, out.String()[max(0, i-80):min(out.Len(), i+40)])
			}
		}
	}
}

// TestApply: a rule says what it says and leaves the rest; only one that tells
// what a tool does registers it.
func TestApply(t *testing.T) {
	yes, no, risk, chars, hint, wait := true, false, tool.RiskHigh, 0, "hint", time.Minute
	base := tool.Meta{ReadOnly: true, Destructive: true, SideEffect: tool.EffectNetwork, RiskLevel: tool.RiskLow, MaxResultChars: 5}
	tests := []struct {
		name string
		rule config.ToolRule
		want tool.Meta
	}{
		{"empty", config.ToolRule{}, base},
		{"limits", config.ToolRule{MaxResultChars: &chars, SearchHint: &hint, Timeout: &wait}, tool.Meta{
			ReadOnly: true, Destructive: true, SideEffect: tool.EffectNetwork, RiskLevel: tool.RiskLow, SearchHint: hint, Timeout: wait,
		}},
		{"reads, so it destroys nothing", config.ToolRule{ReadOnly: &yes}, tool.Meta{
			Registered: true, ReadOnly: true, SideEffect: tool.EffectNetwork, RiskLevel: tool.RiskLow, MaxResultChars: 5,
		}},
		{"destroys, so it does not only read", config.ToolRule{Destructive: &yes}, tool.Meta{
			Registered: true, Destructive: true, SideEffect: tool.EffectNetwork, RiskLevel: tool.RiskLow, MaxResultChars: 5,
		}},
		{"safety", config.ToolRule{ReadOnly: &no, ConcurrencySafe: &yes, Destructive: &no, Idempotent: &yes, Notification: &yes, RiskLevel: &risk}, tool.Meta{
			Registered: true, ConcurrencySafe: true, Idempotent: true, Notification: true, SideEffect: tool.EffectNetwork, RiskLevel: tool.RiskHigh, MaxResultChars: 5,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.rule.Apply(base)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestRuleCoversEveryField: whatever Meta can hold, a rule can say.
func TestRuleCoversEveryField(t *testing.T) {
	dir := write(t, map[string]string{"tenon.yaml": `version: 1
servers: {a: {command: x}}
tools:
  a/b: {read_only: true, concurrency_safe: true, destructive: false, idempotent: true, is_notification: true,
    side_effect: external, risk_level: medium, max_result_chars: 7, search_hint: words, timeout: 3s,
    is_read_only_for_input: "true", labels: [egress], spend: 2}
`})
	cfg, err := load(t, filepath.Join(dir, "tenon.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want := tool.Meta{
		Registered: true, ReadOnly: true, ConcurrencySafe: true, Idempotent: true, Notification: true,
		SideEffect: tool.EffectExternal, RiskLevel: tool.RiskMedium, MaxResultChars: 7, SearchHint: "words", Timeout: 3 * time.Second,
		ReadOnlyFor: "true", Labels: []tool.Label{tool.LabelEgress}, Spend: 2,
	}
	if diff := cmp.Diff(want, cfg.Tools[0].Apply(tool.Meta{Destructive: true})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestPython: the interpreter is that of the active virtual environment.
func TestPython(t *testing.T) {
	dir := write(t, map[string]string{"a.yaml": "tool_command: python\n", "b.yaml": "tool_command: python3.11\n"})
	venv := t.TempDir()
	plain, inside := "python3", filepath.Join(venv, "bin", "python")
	if runtime.GOOS == "windows" {
		plain, inside = "python", filepath.Join(venv, "Scripts", "python.exe")
	}
	for want, env := range map[string][]string{plain: nil, inside: {"VIRTUAL_ENV=" + venv}} {
		cfg, err := config.Load(config.Source{Path: dir, Env: env})
		if err != nil {
			t.Fatal(err)
		}
		if got := cfg.Servers[0].Command; got != want {
			t.Errorf("python with %v is %q, want %q", env, got, want)
		}
		if got := cfg.Servers[1].Command; got != "python3.11" {
			t.Errorf("python3.11 is %q, want it as it is", got)
		}
	}
}

// TestOneTools looks behind the dots of a folder of one-tool files.
func TestOneTools(t *testing.T) {
	cfg, err := load(t, "testdata/good/one-tools")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"tool-code", "tool-http", "tool-markitdown", "tool-reading", "tool-reasoning", "tool-remote"}
	if got := names(cfg); !slices.Equal(got, want) {
		t.Fatalf("servers are %v, want %v", got, want)
	}
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range cfg.Servers {
		if s.Isolation != config.IsolationSession {
			t.Errorf("%s is %s, want session", s.Name, s.Isolation)
		}
		if s.Command != "" && s.Cwd != wd {
			t.Errorf("%s starts in %s, want the working folder %s", s.Name, s.Cwd, wd)
		}
	}
	wantEnv := map[string]string{
		"E2B_API_KEY": "token-from-environment", "LOGS_DIR": "./logs", "DEFAULT_TEMPLATE_ID": "all_pip_apt_pkg", "DEFAULT_TIMEOUT": "1800",
	}
	if diff := cmp.Diff(wantEnv, reveal(cfg.Servers[0].Env)); diff != "" {
		t.Errorf("env of tool-code (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"SERPER_API_KEY": "", "JINA_API_KEY": "a key, from the file"}, reveal(cfg.Servers[3].Env)); diff != "" {
		t.Errorf("env of tool-reading (-want +got):\n%s", diff)
	}
	if s := cfg.Servers[5]; s.URL != "https://example.com/sse" || s.Transport != config.TransportSSE {
		t.Errorf("an address as the command is %s over %s, want SSE", s.URL, s.Transport)
	}
}

// TestAgent: an agent file picks out of the folder, in its order.
func TestAgent(t *testing.T) {
	for _, path := range []string{"testdata/good/agent/config/agent.yaml", "testdata/good/agent"} {
		cfg, err := load(t, path)
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"tool-two", "tool-one", "tool-three"}
		if got := names(cfg)[:3]; !slices.Equal(got, want) {
			t.Errorf("%s: servers are %v, want %v", path, got, want)
		}
		if len(cfg.Broken)+len(cfg.Warnings) > 0 {
			t.Errorf("%s: %v %v", path, cfg.Broken, cfg.Warnings)
		}
		if !slices.Contains(cfg.Blacklist, tool.ID{Server: "tool-one", Name: "danger"}) {
			t.Errorf("%s: blacklist is %v", path, cfg.Blacklist)
		}
	}
}

func TestInclude(t *testing.T) {
	cfg, err := load(t, "testdata/good/include")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"first", "tool-b", "from-client", "part", "more", "single"}
	if got := names(cfg); !slices.Equal(got, want) {
		t.Errorf("servers are %v, want %v", got, want)
	}
	dir, err := filepath.Abs("testdata/good/include")
	if err != nil {
		t.Fatal(err)
	}
	for name, cwd := range map[string]string{
		"first": dir, "tool-b": dir, "single": dir, // one-tool files start in the folder of the file that includes them
		"from-client": filepath.Join(dir, "sub"), "more": filepath.Join(dir, "parts"), "part": filepath.Join(dir, "parts"),
	} {
		s := cfg.Servers[slices.Index(want, name)]
		if s.Cwd != cwd {
			t.Errorf("%s starts in %s, want %s", name, s.Cwd, cwd)
		}
	}
}

// TestClient looks behind the dots of VS Code's file.
func TestClient(t *testing.T) {
	cfg, err := load(t, "testdata/good/vscode/.vscode/mcp.json")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs("testdata/good/vscode")
	if err != nil {
		t.Fatal(err)
	}
	s := cfg.Servers[0]
	if s.Command != filepath.Join(dir, ".venv", "bin", "python") || s.Cwd != dir {
		t.Errorf("starts %s in %s, want it of the workspace %s", s.Command, s.Cwd, dir)
	}
	if diff := cmp.Diff([]string{"-m", "server", "--name=vscode", "--home=/home/ada"}, s.Args); runtime.GOOS != "windows" && diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"TOKEN": "token-from-environment", "EXTRA": "from-the-file"}, reveal(s.Env)); diff != "" {
		t.Errorf("env, of which the entry wins over the file (-want +got):\n%s", diff)
	}
	cfg, err = load(t, "testdata/good/claude.json")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"A": "fallback", "B": "other", "D": "5"}, reveal(cfg.Servers[2].Env)); diff != "" {
		t.Errorf("env (-want +got):\n%s", diff)
	}
}

// TestBounds: what is too large is refused, at once.
func TestBounds(t *testing.T) {
	many := func(n int) string {
		var b strings.Builder
		b.WriteString("version: 1\nservers:\n")
		for i := range n {
			fmt.Fprintf(&b, "  s%d: {command: x}\n", i)
		}
		return b.String()
	}
	nest := func(n int) map[string]string {
		files := make(map[string]string)
		for i := range n {
			files[fmt.Sprintf("f%d.yaml", i)] = fmt.Sprintf("version: 1\ninclude: [f%d.yaml]\n", i+1)
		}
		files[fmt.Sprintf("f%d.yaml", n)] = "version: 1\n"
		return files
	}
	tests := []struct {
		name  string
		files map[string]string
		want  string // in the error; empty for none
	}{
		{"bytes", map[string]string{"f0.yaml": "version: 1\n#" + strings.Repeat("x", 256<<10)}, "is larger than 256KiB"},
		{"lines", map[string]string{"f0.yaml": "version: 1\n" + strings.Repeat("#\n", 10_000)}, "has more than 10000 lines"},
		{"servers", map[string]string{"f0.yaml": many(1001)}, "is one of more than 1000 servers"},
		{"as many servers as may be", map[string]string{"f0.yaml": many(1000)}, ""},
		{"includes", nest(9), "files include each other more than 8 deep"},
		{"as many includes as may be", nest(8), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			start := time.Now()
			_, err := load(t, filepath.Join(write(t, tt.files), "f0.yaml"))
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("took %s", took)
			}
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("error is %v, want %q", err, tt.want)
			}
		})
	}
}

// TestPaths: a program of the configuration's own folder is found from wherever
// Tenon starts.
func TestPaths(t *testing.T) {
	elsewhere := t.TempDir()
	dir := write(t, map[string]string{"tenon.yaml": `version: 1
servers:
  name: {command: npx, args: [./data]}
  own: {command: ./bin/server, cwd: ../other}
  absolute: {command: x, cwd: '` + elsewhere + `'}
`})
	cfg, err := load(t, filepath.Join(dir, "tenon.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{
		"name":     {"npx", dir},
		"own":      {filepath.Join(dir, "bin", "server"), filepath.Join(filepath.Dir(dir), "other")},
		"absolute": {"x", elsewhere},
	}
	for _, s := range cfg.Servers {
		if got := []string{s.Command, s.Cwd}; !slices.Equal(got, want[s.Name]) {
			t.Errorf("%s: command and folder are %v, want %v", s.Name, got, want[s.Name])
		}
	}
	if got := cfg.Servers[0].Args; !slices.Equal(got, []string{"./data"}) {
		t.Errorf("arguments are %v, want them left alone", got)
	}
}

func TestNoFile(t *testing.T) {
	for path, want := range map[string]string{
		"":                         "no configuration is named",
		"testdata/no-such.yaml":    "testdata/no-such.yaml: no such file or folder (name a tenon.yaml, the mcpServers JSON of a desktop client, or a folder with a tenon.yaml or files of one tool each)",
		"testdata/no-such-folder/": "testdata/no-such-folder/: no such file or folder (name a tenon.yaml, the mcpServers JSON of a desktop client, or a folder with a tenon.yaml or files of one tool each)",
	} {
		_, err := load(t, path)
		if err == nil || err.Error() != want {
			t.Errorf("%q: error is %v, want %s", path, err, want)
		}
	}
}

func TestBuiltIn(t *testing.T) {
	cfg := config.BuiltIn([]string{"system", "time"})
	if got := names(cfg); !slices.Equal(got, []string{"system", "time"}) {
		t.Errorf("servers are %v", got)
	}
	if s := cfg.Servers[0]; s.Bundled != "system" || s.Retries != 1 || cfg.Gateway.Listen == "" {
		t.Errorf("defaults are missing: %+v %+v", s, cfg.Gateway)
	}
}

// FuzzLoad: no text makes Load panic or take long, and what it loads prints.
func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"testdata/bad/*.*", "testdata/good/*.*", "testdata/*/*/*.*"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, path := range paths {
			if data, err := os.ReadFile(path); err == nil && len(data) < 4<<10 {
				f.Add(data, strings.HasSuffix(path, ".json"), false)
				f.Add(data, false, strings.HasSuffix(path, ".env"))
			}
		}
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte, asJSON, asEnv bool) {
		files := map[string][]byte{"tenon.yaml": data}
		switch {
		case asJSON:
			files = map[string][]byte{"tenon.json": data}
		case asEnv:
			files = map[string][]byte{"tenon.yaml": []byte("version: 1\n"), ".env": data}
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		path := slices.Sorted(maps.Keys(files))[len(files)-1]
		start := time.Now()
		cfg, err := config.Load(config.Source{Path: filepath.Join(dir, path), Env: env})
		if took := time.Since(start); took > 30*time.Second {
			t.Fatalf("took %s", took)
		}
		if !asEnv {
			_ = os.Remove(filepath.Join(dir, ".env"))
		}
		if (cfg == nil) == (err == nil) {
			t.Fatalf("config %v and error %v", cfg, err)
		}
		if err != nil {
			if _, ok := errors.AsType[*config.Error](err); !ok || err.Error() == "" {
				t.Fatalf("error is a %T: %v", err, err)
			}
			return
		}
		dump, err := json.Marshal(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(dump, []byte("token-from-environment")) && !bytes.Contains(data, []byte("token-from-environment")) {
			t.Fatalf("the dump shows a secret: %s", dump)
		}
	})
}

// TestMistakesAreBounded: a file made of mistakes alone is told in part.
func TestMistakesAreBounded(t *testing.T) {
	dir := write(t, map[string]string{"tenon.yaml": "version: 1\nblacklist:\n" + strings.Repeat("  - a\n", 2000)})
	_, err := load(t, filepath.Join(dir, "tenon.yaml"))
	if e, ok := errors.AsType[*config.Error](err); !ok || len(e.Problems) != 1000 {
		t.Errorf("error has %d lines, want 1000", strings.Count(fmt.Sprint(err), "\n")+1)
	}
}

// TestLimits: what nobody says protects, and a server of its own for each call
// costs more than a call of a shared one.
func TestLimits(t *testing.T) {
	dir := write(t, map[string]string{"tenon.yaml": `version: 1
servers:
  plain: {command: x}
  each: {command: x, isolation: call}
  set: {command: x, isolation: call, max_concurrent: 0, max_queue: 0}
gateway: {max_concurrent: 5, max_queue: 6, max_queue_bytes: 7KiB, max_parallel: 8, max_batch: 0}
`, "none.yaml": "version: 1\n"})
	cfg, err := load(t, filepath.Join(dir, "tenon.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][2]int{}
	for _, s := range cfg.Servers {
		got[s.Name] = [2]int{s.MaxConcurrent, s.MaxQueue}
	}
	if diff := cmp.Diff(map[string][2]int{"plain": {256, 1000}, "each": {16, 1000}, "set": {0, 0}}, got); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(config.Admission{MaxConcurrent: 5, MaxQueue: 6, MaxQueueBytes: 7 << 10, MaxParallel: 8}, cfg.Gateway.Admission); diff != "" {
		t.Errorf("gateway (-want +got):\n%s", diff)
	}
	if shown := jsonOf(t, cfg.Servers[2]); !strings.Contains(shown, `"max_concurrent":0,"max_queue":0`) {
		t.Errorf("the entry shows %s", shown)
	}
	if shown := jsonOf(t, cfg.Servers[1]); strings.Contains(shown, "max_") {
		t.Errorf("the entry shows its defaults: %s", shown)
	}
	if cfg, err = load(t, filepath.Join(dir, "none.yaml")); err != nil {
		t.Fatal(err)
	}
	want := config.Admission{MaxConcurrent: 1000, MaxQueue: 4000, MaxQueueBytes: 256 << 20, MaxParallel: 6, MaxBatch: 10}
	if diff := cmp.Diff(want, cfg.Gateway.Admission); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestExclusive: only who declares a tool not to be concurrency-safe makes it
// exclusive.
func TestExclusive(t *testing.T) {
	yes, no := true, false
	for _, tt := range []struct {
		name string
		rule config.ToolRule
		base tool.Meta
		want bool
	}{
		{"says nothing", config.ToolRule{ReadOnly: &yes}, tool.Meta{}, false},
		{"says nothing of one that is declared", config.ToolRule{ReadOnly: &yes}, tool.Meta{Exclusive: true}, true},
		{"declared", config.ToolRule{ConcurrencySafe: &no}, tool.Meta{ConcurrencySafe: true}, true},
		{"declared safe", config.ToolRule{ConcurrencySafe: &yes}, tool.Meta{Exclusive: true}, false},
	} {
		if got := tt.rule.Apply(tt.base); got.Exclusive != tt.want {
			t.Errorf("%s: exclusive is %v", tt.name, got.Exclusive)
		}
	}
}
