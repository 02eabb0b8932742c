package definitions_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/definitions"
)

func define(tb testing.TB, raw string) definitions.Tool {
	tb.Helper()
	d, err := definitions.New(json.RawMessage(raw), nil)
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// TestHash: the hash is that of what is said, however it is written, and not of the
// name.
func TestHash(t *testing.T) {
	base := `{"name":"a","description":"é\n","inputSchema":{"type":"object","properties":{"x":{"minimum":1,"maximum":9007199254740993}}}}`
	for name, test := range map[string]struct {
		other string
		same  bool
	}{
		"order and spaces":       {`{ "inputSchema" : {"properties":{"x":{"maximum":9007199254740993,"minimum":1}},"type":"object"}, "name":"a","description":"é\n"}`, true},
		"escapes":                {strings.ReplaceAll(base, "é", `\u00e9`), true},
		"another name":           {strings.Replace(base, `"a"`, `"b"`, 1), true},
		"another spelling of 1":  {strings.Replace(base, `1,`, `10.0e-1,`, 1), true},
		"a digit beyond doubles": {strings.Replace(base, `9007199254740993`, `9007199254740992`, 1), false},
		"a number as a text":     {strings.Replace(base, `1,`, `"1",`, 1), false},
		"a space":                {strings.Replace(base, `é`, `é `, 1), false},
		"an invisible character": {strings.Replace(base, `é`, "é\u200b", 1), false},
		"a title":                {strings.Replace(base, `"name"`, `"title":"a","name"`, 1), false},
		"annotations":            {strings.Replace(base, `"name"`, `"annotations":{},"name"`, 1), false},
		"an unknown member":      {strings.Replace(base, `"name"`, `"_meta":{},"name"`, 1), false},
		"a member twice":         {strings.Replace(base, `"name"`, `"description":"other","name"`, 1), false},
		"a name twice":           {strings.Replace(base, `"inputSchema"`, `"name":"b","inputSchema"`, 1), false},
		"a list in other order":  {strings.Replace(base, `"object"`, `["object","null"]`, 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			if same := define(t, base).Hash == define(t, test.other).Hash; same != test.same {
				t.Errorf("the same: %v", same)
			}
		})
	}
	if define(t, `{"name":"a","x":["a","b"]}`).Hash == define(t, `{"name":"a","x":["b","a"]}`).Hash {
		t.Error("lists are in order")
	}
}

func TestNumbers(t *testing.T) {
	for _, group := range [][]string{
		{"0", "-0", "0.0", "0e5", "-0.00e-2"},
		{"1", "1.0", "10e-1", "0.1e1", "1e0", "1E+0"},
		{"-12.5", "-1.25e1", "-125e-1"},
		{"0.001", "1e-3", "0.00100"},
		{"1e400", "10e399", "0.1e401"},
		{"123456789012345678901234567890"},
		{"0.0000001", "1e-7"},
	} {
		for _, other := range group {
			if define(t, `{"name":"a","x":`+other+`}`).Hash != define(t, `{"name":"a","x":`+group[0]+`}`).Hash {
				t.Errorf("%s and %s are not the same", other, group[0])
			}
		}
	}
}

// TestLarge: what is too large to be taken apart has a hash all the same.
func TestLarge(t *testing.T) {
	long := `{"name":"a","description":"` + strings.Repeat("x", 3<<20) + `"}`
	deep := `{"name":"a","x":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`
	for _, raw := range []string{long, deep} {
		d := define(t, raw)
		if d.Name != "a" || d.Hash == define(t, strings.Replace(raw, `"a",`, `"a" ,`, 1)).Hash {
			t.Error("the bytes do not count")
		}
		lock := &definitions.Lock{}
		lock.Accept(&definitions.Server{Name: "s", Tools: []definitions.Tool{d}})
		back, err := definitions.Parse(lock.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		if change, _, _ := back.Server("s").Judge(&d, func(string) bool { return true }); change != "" {
			t.Error(change)
		}
		if len(lock.Bytes()) > 1000 {
			t.Error("it is kept whole")
		}
	}
	if _, err := definitions.New(json.RawMessage(`{"name":1}`), nil); err == nil {
		t.Error("a tool without a name is one")
	}
}

// TestRealLock: the catalogs of real servers go into a file and come back.
func TestRealLock(t *testing.T) {
	lock := &definitions.Lock{}
	servers := realServers(t)
	for _, s := range servers {
		lock.Accept(&definitions.Server{Name: s.Server, Instructions: s.Initialize.Instructions, Tools: definitions.Definitions(s.Tools, nil)})
	}
	path := filepath.Join(t.TempDir(), "tenon.lock")
	if err := lock.Write(path); err != nil {
		t.Fatal(err)
	}
	back, err := definitions.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, s := range servers {
		now := definitions.Server{Name: s.Server, Instructions: s.Initialize.Instructions, Tools: definitions.Definitions(s.Tools, nil)}
		if c := definitions.Compare(back.Server(s.Server), &now); !c.Equal() {
			t.Errorf("%s: %+v", s.Server, c)
		}
		n += len(now.Tools)
	}
	t.Logf("%d tools in %d bytes", n, len(lock.Bytes()))
}

func exampleLock(tb testing.TB) []byte {
	tb.Helper()
	lock := &definitions.Lock{}
	lock.Accept(&definitions.Server{
		Name: "b", Instructions: "one\ntwo", Source: definitions.Source{Kind: "command", Run: "x", Package: "npm:x", Version: "1"},
		Tools: []definitions.Tool{define(tb, `{"name":"z","description":"d\u200b"}`), define(tb, `{"name":"a","description":["no","text"]}`), define(tb, `{"name":"t","description":"x","b":1,"description":"y"}`)},
	})
	lock.Accept(&definitions.Server{Name: "a"})
	return lock.Bytes()
}

// TestBrokenLock: whatever Write would not have written accepts nothing.
func TestBrokenLock(t *testing.T) {
	good := string(exampleLock(t))
	if _, err := definitions.Parse([]byte(good)); err != nil {
		t.Fatal(err)
	}
	if _, err := definitions.Parse([]byte(strings.ReplaceAll(good, "\n", "\r\n"))); err != nil {
		t.Error("line ends of Windows: ", err)
	}
	for name, change := range map[string][2]string{
		"a word of a definition": {`"d\u200b"`, `"e"`},
		"a hash":                 {`"hash": "`, `"hash": "0`},
		"a later version":        {`"version": 1`, `"version": 2`},
		"no version":             {`"version": 1`, `"versions": 1`},
		"another order":          {`"kind": "command",`, ``},
		"an unknown member":      {`"kind": "command"`, `"kind": "command", "also": 1`},
		"a server twice":         {`"a": {`, `"b": {`},
		"no tools":               {`"tools": {}`, `"tools": []`},
		"cut off":                {`"version"`, ``},
		"a space":                {`{`, `{ `},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(good, change[0], change[1], 1)
			if text == good {
				t.Fatal("nothing is changed")
			}
			if name == "another order" {
				text = strings.Replace(text, `"run": "x",`, `"run": "x", "kind": "command",`, 1)
			}
			_, err := definitions.Parse([]byte(text))
			if err == nil {
				t.Errorf("it is taken:\n%s", text)
			} else if strings.Contains(name, "version") != strings.Contains(err.Error(), "version") {
				t.Error(err)
			}
		})
	}
	if _, err := definitions.Read(filepath.Join(t.TempDir(), "tenon.lock")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestWriteIsWhole: a file that cannot be written leaves the one before, and no rest.
func TestWriteIsWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "tenon.lock")
	if err := (&definitions.Lock{}).Write(path); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(target, "x"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := (&definitions.Lock{}).Write(target); err == nil {
		t.Error("a folder is written over")
	}
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != 2 {
		t.Errorf("%v %v", list, err)
	}
}

func TestCompare(t *testing.T) {
	server := func(raws ...string) *definitions.Server {
		s := &definitions.Server{Name: "s"}
		for _, r := range raws {
			s.Tools = append(s.Tools, define(t, r))
		}
		return s
	}
	const a, b = `{"name":"a","title":"A","description":"one two three"}`, `{"name":"b","description":"other"}`
	for name, test := range map[string]struct {
		was, is *definitions.Server
		want    []definitions.ToolChange
	}{
		"the same":  {server(a, b), server(b, a), nil},
		"added":     {server(a), server(a, b), []definitions.ToolChange{{Name: "b", Change: definitions.Added}}},
		"removed":   {server(a, b), server(a), []definitions.ToolChange{{Name: "b", Change: definitions.Removed}}},
		"renamed":   {server(b), server(`{"name":"c","description":"other"}`), []definitions.ToolChange{{Name: "c", Change: definitions.Renamed, Was: "b"}}},
		"swapped":   {server(`{"name":"a","x":1}`, `{"name":"b","x":2}`), server(`{"name":"a","x":2}`, `{"name":"b","x":1}`), []definitions.ToolChange{{Name: "a", Change: definitions.Changed, Fields: []definitions.Field{{Place: "/x", Was: "1", Is: "2"}}}, {Name: "b", Change: definitions.Changed, Fields: []definitions.Field{{Place: "/x", Was: "2", Is: "1"}}}}},
		"two alike": {server(`{"name":"a"}`, `{"name":"b"}`), server(`{"name":"c"}`, `{"name":"d"}`), []definitions.ToolChange{{Name: "c", Change: definitions.Renamed, Was: "a"}, {Name: "d", Change: definitions.Renamed, Was: "b"}}},
		"renamed with its title": {server(a), server(`{"name":"c","title":"C","description":"one two three"}`), []definitions.ToolChange{{
			Name: "c", Change: definitions.Renamed, Was: "a", Fields: []definitions.Field{{Place: "/title", Was: "A", Is: "C", Diff: "[-A-]{+C+}"}},
		}}},
		"words": {server(a), server(`{"name":"a","title":"A","description":"one 2 three"}`), []definitions.ToolChange{{
			Name: "a", Change: definitions.Changed, Fields: []definitions.Field{{Place: "/description", Was: "one two three", Is: "one 2 three", Diff: "one [-two-]{+2+} three"}},
		}}},
		"a member more": {server(b), server(`{"name":"b","description":"other","x":{"y":[1]}}`), []definitions.ToolChange{{
			Name: "b", Change: definitions.Changed, Fields: []definitions.Field{{Place: "/x", Is: `{"y":[1]}`}},
		}}},
		"a member twice": {server(b), server(`{"name":"b","description":"other","description":"hidden"}`), []definitions.ToolChange{{
			Name: "b", Change: definitions.Changed, Fields: []definitions.Field{{Place: "/description#2", Is: `"hidden"`}},
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := definitions.Compare(test.was, test.is).Tools; !reflect.DeepEqual(got, test.want) {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
		})
	}
}

// TestJudge: a tool is held against what was accepted, by its name and by what it
// says.
func TestJudge(t *testing.T) {
	lock := &definitions.Lock{}
	old := define(t, `{"name":"old","description":"a","inputSchema":{}}`)
	old.Found = []string{"override"}
	lock.Accept(&definitions.Server{Name: "s", Tools: []definitions.Tool{define(t, `{"name":"z"}`), old}})
	accepted := lock.Server("s")
	for name, test := range map[string]struct {
		server  *definitions.Server
		tool    string
		offered bool // that the old one is there too
		change  definitions.Change
		was     string
		members string
	}{
		"the same":          {accepted, `{"name":"old","description":"a","inputSchema":{}}`, true, "", "", ""},
		"changed":           {accepted, `{"name":"old","description":"b","x":1}`, true, definitions.Changed, "", "description inputSchema x"},
		"renamed":           {accepted, `{"name":"new","description":"a","inputSchema":{}}`, false, definitions.Renamed, "old", ""},
		"a second of it":    {accepted, `{"name":"new","description":"a","inputSchema":{}}`, true, definitions.Added, "", ""},
		"new":               {accepted, `{"name":"new"}`, true, definitions.Added, "", ""},
		"of another server": {lock.Server("t"), `{"name":"old","description":"a","inputSchema":{}}`, true, definitions.Added, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := define(t, test.tool)
			for _, d := range []definitions.Tool{d, d.Sum()} {
				change, was, members := test.server.Judge(&d, func(name string) bool { return test.offered || name == "z" })
				if change != test.change || was != test.was || strings.Join(members, " ") != test.members {
					t.Errorf("%s %q %q", change, was, members)
				}
			}
			if got := test.server.Accepts(&d, "override"); got != (name == "the same") {
				t.Errorf("its finding is accepted: %v", got)
			}
		})
	}
}

// TestManyFields: of a tool that is another one altogether some places are told.
func TestManyFields(t *testing.T) {
	members := func(value string) string {
		var b strings.Builder
		for i := range 1000 {
			fmt.Fprintf(&b, `,"m%d":%s`, i, value)
		}
		return `{"name":"a"` + b.String() + `}`
	}
	was := definitions.Server{Tools: []definitions.Tool{define(t, members("1"))}}
	is := definitions.Server{Tools: []definitions.Tool{define(t, members("2"))}}
	fields := definitions.Compare(&was, &is).Tools[0].Fields
	if last := fields[len(fields)-1]; len(fields) != 51 || last.Is != "950 more places" {
		t.Errorf("%d fields, %+v", len(fields), last)
	}
}

// TestLongDiff: of a long text only what is beside the change is shown, and a text
// that is another one altogether takes no time.
func TestLongDiff(t *testing.T) {
	long := strings.Repeat("word and ", 2000)
	was := definitions.Server{Tools: []definitions.Tool{define(t, `{"name":"a","description":"`+long+`old `+long+`"}`)}}
	is := definitions.Server{Tools: []definitions.Tool{define(t, `{"name":"a","description":"`+long+`new `+long+`"}`)}}
	f := definitions.Compare(&was, &is).Tools[0].Fields[0]
	if len(f.Diff) > 200 || !strings.Contains(f.Diff, "[-old-]{+new+}") || !strings.HasPrefix(f.Diff, "…") || !strings.HasSuffix(f.Diff, "…") {
		t.Errorf("%q", f.Diff)
	}
	other := definitions.Server{Tools: []definitions.Tool{define(t, `{"name":"a","description":"`+strings.Repeat("x y z ", 50_000)+`"}`)}}
	if f := definitions.Compare(&was, &other).Tools[0].Fields[0]; len([]rune(f.Diff)) > 5000 {
		t.Errorf("%d characters", len(f.Diff))
	}
}

func TestSources(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"server.py", "server"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const sum = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
	for line, want := range map[string]definitions.Source{
		"npx -y @scope/name@1.2.3 /data":                    {Package: "npm:@scope/name", Version: "1.2.3"},
		"npx -y @scope/name":                                {Package: "npm:@scope/name"},
		"npx name@latest":                                   {Package: "npm:name"},
		"npx name@^1.0.0":                                   {Package: "npm:name"},
		"npx --package=name@1 cli":                          {Package: "npm:name", Version: "1"},
		"npx -p name@1 cli":                                 {Package: "npm:name", Version: "1"},
		"/usr/bin/npx name@1":                               {Package: "npm:name", Version: "1"},
		"cmd /c npx -y name@1":                              {Package: "npm:name", Version: "1"},
		"npm exec -- name@1":                                {Package: "npm:name", Version: "1"},
		"npm start":                                         {},
		"pnpm dlx name@1":                                   {Package: "npm:name", Version: "1"},
		"uvx name==1.0":                                     {Package: "pypi:name", Version: "1.0"},
		"uvx name@1.0":                                      {Package: "pypi:name", Version: "1.0"},
		"uvx --from name==1.0 cli":                          {Package: "pypi:name", Version: "1.0"},
		"uvx --python 3.12 name":                            {Package: "pypi:name"},
		"uv tool run name==1.0":                             {Package: "pypi:name", Version: "1.0"},
		"pipx run name==1.0":                                {Package: "pypi:name", Version: "1.0"},
		"docker run -i --rm -e KEY ghcr.io/a/b:1.0":         {Package: "image:ghcr.io/a/b", Version: "1.0"},
		"docker run host:5000/b":                            {Package: "image:host:5000/b"},
		"docker run a/b:latest":                             {Package: "image:a/b"},
		"docker run a/b@sha256:00":                          {Package: "image:a/b", Version: "sha256:00"},
		"docker ps":                                         {},
		"python server.py":                                  {File: "./server.py", Sum: sum},
		"python -u ./server.py x":                           {File: "./server.py", Sum: sum},
		"python -m server":                                  {},
		filepath.Join(dir, "server") + " a":                 {Run: "./server a", File: "./server", Sum: sum},
		"node /elsewhere/server.js":                         {},
		"run --api-key not-a-real-key-000 --token=xyz more": {Run: "run --api-key ••• --token=••• more"},
	} {
		t.Run(line, func(t *testing.T) {
			words := strings.Fields(line)
			want.Kind = "command"
			if want.Run == "" {
				want.Run = line
			}
			if got := definitions.Command(dir, words[0], words[1:]); got != want {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
	if got := definitions.URL("https://me:not-a-real-key-000@example.com/mcp?key=not-a-real-key-000&b=1#f").Run; got != "https://example.com/mcp?b=•••&key=•••" {
		t.Error(got)
	}
	if got := definitions.URL("https://exa mple.com/%zz?key=not-a-real-key-000").Run; strings.Contains(got, "real") {
		t.Error(got)
	}
}
