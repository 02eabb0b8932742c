package tenon_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/internal/upstreamtest"
	"github.com/tenon-mcp/tenon/tool"
)

// TestErrorsHoldNoSecret: what a server says of a failure often has its key in it.
func TestErrorsHoldNoSecret(t *testing.T) {
	const secret = `s3cr3t-"value"-XYZ`
	o := tenon.Options{Config: write(t, "version: 1\nservers:\n  other: {command: nothing, env: {KEY: '"+secret+"'}}\n")}
	tenon.AddTool(&o, tenon.Function{Name: "fails"}, func(context.Context, struct{}) (any, error) {
		return nil, errors.New("the key " + secret + " is wrong")
	})
	g := open(t, o)
	res := g.Call(t.Context(), tool.Call{Server: "go", Tool: "fails"})
	if res.Kind != tool.Failed || strings.Contains(res.Text(), "s3cr3t") || !strings.Contains(res.Text(), "is wrong") {
		t.Errorf("%q: %s", res.Kind, res.Text())
	}
	if strings.Contains(string(res.Raw.Join()), "s3cr3t") {
		t.Errorf("the raw result holds the secret: %s", res.Raw.Join())
	}
}

// TestErrorsHoldTheirWords: a word that is the value of a variable is a word still, in
// errors, results and logs. What is a secret by where it comes from, by its
// name or by its look is hidden in all of them, under whatever name it is given.
func TestErrorsHoldTheirWords(t *testing.T) {
	const words = "settings of /var/lib/data at db.example.com, gpt-4o-mini"
	secrets := []string{"plainword", "swordfish", "Zq8vX2mW9rT4kL7p", "tunafish"}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "word"), []byte("plainword\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var log lockedBuffer
	o := tenon.Options{
		Env:    append(os.Environ(), "SEA_TOKEN=tunafish"),
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Config: write(t, "version: 1\npolicy: {redact: true}\nservers:\n  other: {command: nothing, env: {MODE: settings, DATA: /var/lib/data, HOST: db.example.com, MODEL: gpt-4o-mini, "+
			"FIRST: '${file:"+filepath.Join(dir, "word")+"}', DB_PASSWORD: swordfish, THIRD: Zq8vX2mW9rT4kL7p, FOURTH: '${env:SEA_TOKEN}'}}\n"),
	}
	all := words + " and " + strings.Join(secrets, " ")
	tenon.AddTool(&o, tenon.Function{Name: "fails"}, func(context.Context, struct{}) (any, error) { return nil, errors.New(all) })
	tenon.AddTool(&o, tenon.Function{Name: "works"}, func(context.Context, struct{}) (any, error) { return all, nil })
	g := open(t, o)
	tenon.LogOf(g).Error("told", "text", all)
	texts := map[string]string{"log": log.String()}
	for _, name := range []string{"fails", "works"} {
		res := g.Call(t.Context(), tool.Call{Server: "go", Tool: name})
		texts[name] = res.Text()
	}
	for where, text := range texts {
		if !strings.Contains(text, words) {
			t.Errorf("%s hides words: %s", where, text)
		}
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("%s shows %s: %s", where, secret, text)
			}
		}
	}
}

// TestMisspeltServerDoesNotLeadAroundTheBlacklist: the tool that was meant is
// refused, and no other one runs in its place.
func TestMisspeltServerDoesNotLeadAroundTheBlacklist(t *testing.T) {
	g := open(t, tenon.Options{Config: write(t, "version: 1\nservers:\n"+
		entry(t, "main", upstreamtest.Script{}, "")+entry(t, "other", upstreamtest.Script{}, "")+"blacklist: [[main, pid]]\n")})
	if res := g.Call(t.Context(), tool.Call{Server: "mian", Tool: "pid"}); res.Kind != tool.Denied {
		t.Errorf("%q: %s", res.Kind, res.Text())
	}
	if res := g.Call(t.Context(), tool.Call{Server: "nobody-else", Tool: "pid"}); res.Kind != "" || res.Server != "other" {
		t.Errorf("%q: %s", res.Kind, res.Text())
	}
}

// TestReloadTakesRedaction: what is hidden follows the configuration, also in the
// definitions of servers that go on.
func TestReloadTakesRedaction(t *testing.T) {
	const secret = "not-a-real-key-000"
	tool1 := `{"name":"shown","description":"Shows ` + secret + `, EMP-123456 and password=hunter22.","inputSchema":{"type":"object"}}`
	server := entry(t, "s", upstreamtest.Script{Extra: []string{tool1}}, "")
	server = strings.Replace(server, "{command", "{idle_timeout: 10m, command", 1)
	server = strings.Replace(server, `"GORACE"`, `"API_KEY":"`+secret+`","GORACE"`, 1)
	config := func(redact string) string {
		return "version: 1\npolicy: {mode: bypass" + redact + "}\nservers:\n" + server
	}
	g, rewrite := reloadable(t, config(""))
	check := func(step, description, result string) {
		t.Helper()
		listing, err := g.Tools(t.Context(), tenon.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, tl := range listing.Servers[0].Tools {
			if tl.Name == "shown" && (!strings.Contains(tl.Description, description) || !strings.Contains(string(tl.Raw), description)) {
				t.Errorf("%s: %s", step, tl.Raw)
			}
		}
		if got := ask(t, g, "s", "echo", `{"text":"`+secret+` EMP-123456 password=hunter22"}`); !strings.Contains(got, result) {
			t.Errorf("%s: %s, want %s", step, got, result)
		}
	}
	check("without", "Shows "+secret, secret+" EMP-123456 password=hunter22")
	for _, step := range []struct{ name, redact, description, result string }{
		{"on", ", redact: true", "Shows •••, EMP-123456 and password=hunter22", "••• EMP-123456 password=•••"},
		{"patterns", `, redact: {patterns: [{name: staff, pattern: "EMP-[0-9]{6}"}]}`, "Shows •••, EMP-123456", "••• ••• password=•••"},
		{"disabled", `, redact: {enabled: false, patterns: [{name: staff, pattern: "EMP-[0-9]{6}"}]}`, "Shows " + secret, secret + " EMP-123456"},
		{"off", "", "Shows " + secret, secret + " EMP-123456 password=hunter22"},
	} {
		rewrite(config(step.redact))
		if done, err := g.Reload(t.Context()); err != nil || !done.Changed || len(done.Replaced) > 0 {
			t.Fatalf("%s: %+v %v", step.name, done, err)
		}
		check(step.name, step.description, step.result)
	}
}

// TestLogHoldsNoSecret: whatever is logged, in whatever type.
func TestLogHoldsNoSecret(t *testing.T) {
	const secret = "not-a-real-key-000"
	var out bytes.Buffer
	log := tenon.MaskedLog(slog.NewJSONHandler(&out, nil), secret)
	log.With("a", secret).WithGroup("g").Error("m "+secret, "error", errors.New(secret), "list", []string{secret}, "raw", json.RawMessage(`"`+secret+`"`),
		"bytes", []byte(secret), "struct", struct{ S string }{secret}, slog.Group("h", "k", secret), "form", "password=hunter22", "plain", []int{1})
	if s := out.String(); strings.Contains(s, "not-a-real") || strings.Contains(s, "hunter22") || !strings.Contains(s, `"plain":[1]`) || strings.Count(s, "•••") != 9 {
		t.Error(s)
	}
}

// told is a tool.Peer that keeps what it is told.
type told struct{ said []string }

func (p *told) Ask(_ context.Context, method string, params []byte) (tool.Bytes, error) {
	p.said = append(p.said, method+" "+string(params))
	return tool.OneOf([]byte(`{"action":"accept"}`)), nil
}

func (p *told) Notify(method string, params []byte) error {
	p.said = append(p.said, method+" "+string(params))
	return nil
}

// TestPeersAreToldNoSecret: what a server logs to a client, and what it asks of it.
func TestPeersAreToldNoSecret(t *testing.T) {
	const secret = "not-a-real-key-000"
	for redact, want := range map[string]string{"true": "•••", "false": secret} {
		g := open(t, tenon.Options{Config: write(t, "version: 1\npolicy: {redact: "+redact+"}\nservers:\n  a: {command: nothing, env: {API_KEY: "+secret+"}}\n")})
		p := &told{}
		peer := tenon.Hiding(g, p)
		if err := peer.Notify("notifications/message", []byte(`{"level":"info","data":"`+secret+`"}`)); err != nil {
			t.Fatal(err)
		}
		if got, err := peer.Ask(t.Context(), "elicitation/create", []byte(`{"message":"is it `+secret+`?"}`)); err != nil || string(got.Join()) != `{"action":"accept"}` {
			t.Errorf("%s %v", got.Join(), err)
		}
		if got := strings.Join(p.said, "\n"); got != `notifications/message {"level":"info","data":"`+want+`"}`+"\n"+`elicitation/create {"message":"is it `+want+`?"}` {
			t.Errorf("%s: %s", redact, got)
		}
	}
	if tenon.Hiding(open(t, tenon.Options{}), nil) != nil {
		t.Error("nobody became somebody")
	}
}

// TestPartsOfSecretsAreHidden: a server is given a password within something longer, and
// shows it alone.
func TestPartsOfSecretsAreHidden(t *testing.T) {
	o := tenon.Options{Config: write(t, "version: 1\npolicy: {redact: true}\nservers:\n  other: {command: nothing, env: {STORE: 'Server=db;User Id=sa;Password=winterberg;', HOOK: 'https://h/x?token=hookwinter', MORE: '{\"password\":\"snowyhills\"}', MYPASSWORD: greenvalley}}\n")}
	tenon.AddTool(&o, tenon.Function{Name: "works"}, func(context.Context, struct{}) (any, error) {
		return "winterberg, hookwinter, snowyhills and greenvalley", nil
	})
	if got := open(t, o).Call(t.Context(), tool.Call{Server: "go", Tool: "works"}).Text(); strings.Count(got, "•••") != 4 {
		t.Error(got)
	}
}
