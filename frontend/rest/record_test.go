package rest_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tenon "github.com/tenon-mcp/tenon"
	"github.com/tenon-mcp/tenon/frontend/rest"
	"github.com/tenon-mcp/tenon/tool"
)

// recorded is a pool with a record in a database.
func recorded(t *testing.T, state, config string) *tenon.Gateway {
	t.Helper()
	path := filepath.Join(t.TempDir(), "tenon.yaml")
	if err := os.WriteFile(path, []byte("version: 1\n"+config), 0o600); err != nil {
		t.Fatal(err)
	}
	o := tenon.Options{Config: path, StateDir: state, Env: []string{"TENON_APPROVER_TOKEN=" + approverToken}}
	type in struct {
		Text string `json:"text"`
	}
	for _, name := range []string{"say", "other"} {
		tenon.AddTool(&o, tenon.Function{Name: name, Meta: &tool.Meta{ReadOnly: true}}, func(_ context.Context, in in) (string, error) {
			return "said " + in.Text, nil
		})
	}
	gw, err := tenon.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = gw.Close() })
	return gw
}

func TestRecordIsFiltered(t *testing.T) {
	for name, state := range map[string]string{"in memory": "", "in a database": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			gw := recorded(t, state, "")
			srv := serve(t, gw)
			start := time.Now().UTC()
			for _, c := range []tool.Call{
				{Server: "go", Tool: "say", Session: "s1"},
				{Server: "go", Tool: "other", Task: "t1"},
				{Server: "go", Tool: "absent", Session: "s1"},
				{Server: "go", Tool: "say", Caller: tool.Caller{Name: "ann"}},
			} {
				c.Arguments = json.RawMessage(`{"text":"x"}`)
				gw.Call(t.Context(), c)
			}
			ago := start.Add(-time.Hour).Format(time.RFC3339Nano)
			for query, want := range map[string]string{
				"":                      "say absent other say",
				"?server=go&tool=say":   "say say",
				"?kind=ok":              "say other say",
				"?kind=not_found":       "absent",
				"?session=s1":           "absent say",
				"?task=t1":              "other",
				"?caller=ann":           "say",
				"?limit=2":              "say absent",
				"?since=1h":             "say absent other say",
				"?until=1h":             "",
				"?since=" + ago:         "say absent other say",
				"?until=" + ago:         "",
				"?kind=denied&since=2d": "",
			} {
				status, body := as(t, srv, "", "GET", "/calls"+query, "")
				var list struct {
					Calls []map[string]any
				}
				if err := json.Unmarshal([]byte(body), &list); err != nil || status != 200 || list.Calls == nil {
					t.Fatal(query, status, body, err)
				}
				var got []string
				for _, c := range list.Calls {
					got = append(got, c["tool_name"].(string))
					if c["arguments"] != nil || c["result_head"] != nil {
						t.Errorf("a list has details: %v", c)
					}
				}
				if strings.Join(got, " ") != want {
					t.Errorf("%s: %v, want %s", query, got, want)
				}
			}
			for _, query := range []string{"?kind=no", "?since=soon", "?until=-1h", "?cursor=x", "?cursor=0", "?limit=0", "?what=1"} {
				if status, body := as(t, srv, "", "GET", "/calls"+query, ""); status != 400 {
					t.Errorf("%s: %d %s", query, status, body)
				}
			}
			c, err := rest.NewClient(srv.URL, tool.Secret{})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			var all []string
			f := tenon.CallFilter{Limit: 1, Since: start.Add(-time.Minute)}
			for range 10 {
				page, trouble, err := rest.RecordClient{Client: c}.Recorded(t.Context(), f)
				if err != nil || trouble != nil {
					t.Fatal(err, trouble)
				}
				for _, c := range page.Calls {
					all = append(all, c.Tool)
				}
				if f.Cursor = page.Next; f.Cursor == 0 {
					break
				}
			}
			if strings.Join(all, " ") != "say absent other say" {
				t.Errorf("by pages: %v", all)
			}
			if status, body := as(t, srv, "", "GET", "/usage?since=1h&caller=ann", ""); status != 200 || body != `{"usage":[]}` {
				t.Errorf("%d %s", status, body)
			}
			if status, body := as(t, srv, "", "GET", "/record", ""); status != 200 || !strings.Contains(body, `"unrecorded":0`) {
				t.Errorf("%d %s", status, body)
			}
		})
	}
}

// What a call was made with is for its own caller and for an approver.
func TestDetailsAreNotForEverybody(t *testing.T) {
	gw := recorded(t, t.TempDir(), "")
	srv := serve(t, gw)
	mine := gw.Call(t.Context(), tool.Call{Server: "go", Tool: "say", Arguments: json.RawMessage(`{"text":"mine-1"}`)})
	anns := gw.Call(t.Context(), tool.Call{Server: "go", Tool: "say", Arguments: json.RawMessage(`{"text":"anns-1"}`), Caller: tool.Caller{Name: "ann", Grant: &tool.Grant{Key: "k_1", Caller: true}}})
	for _, tt := range []struct {
		token, id string
		want      bool
	}{
		{"", mine.ID, true},
		{"", anns.ID, false},
		{approverToken, mine.ID, true},
		{approverToken, anns.ID, true},
	} {
		status, body := as(t, srv, tt.token, "GET", "/calls/"+tt.id, "")
		if status != 200 {
			t.Fatal(status, body)
		}
		for _, part := range []string{`"arguments":{"text":`, `"result_head":`, `"decision":`} {
			if strings.Contains(body, part) != tt.want {
				t.Errorf("with %q, %s: %v, want %v\n%s", tt.token, part, !tt.want, tt.want, body)
			}
		}
		if strings.Contains(body, "anns-1") && !tt.want || strings.Contains(body, "k_1") && !tt.want {
			t.Errorf("shown: %s", body)
		}
	}
	if status, body := as(t, srv, approverToken, "GET", "/calls", ""); status != 200 {
		t.Errorf("an approver may not see the calls: %d %s", status, body)
	}
}

func TestTroubleIsShown(t *testing.T) {
	state := t.TempDir()
	if err := os.WriteFile(filepath.Join(state, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	gw := recorded(t, state, "store: {url: 'sqlite:"+filepath.Join(state, "file", "record.db")+"', when_gone: stop}\n")
	srv := serve(t, gw)
	if res := gw.Call(t.Context(), tool.Call{Server: "go", Tool: "say"}); res.Kind != "" {
		t.Log(res.Text()) // the database was found gone at once
	}
	var res *tool.Result
	for end := time.Now().Add(time.Minute); ; {
		if res = gw.Call(t.Context(), tool.Call{Server: "go", Tool: "say", Arguments: json.RawMessage(`{"text":"x"}`)}); res.Kind != "" || time.Now().After(end) {
			break
		}
	}
	if res.Kind != tool.Unavailable || !strings.Contains(res.Text(), "record of calls cannot be written") || res.Attempts != 0 {
		t.Errorf("%+v", res)
	}
	if status, body := as(t, srv, "", "GET", "/servers", ""); status != 200 || !strings.Contains(body, `"record":{"where":`) || !strings.Contains(body, `"gone":`) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := as(t, srv, "", "GET", "/calls", ""); status != 503 || !strings.Contains(body, "cannot be read") {
		t.Errorf("%d %s", status, body)
	}
}
