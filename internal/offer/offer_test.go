package offer_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/internal/jsonrpc"
	"github.com/tenon-mcp/tenon/internal/offer"
	"github.com/tenon-mcp/tenon/tool"
)

func flat(id tool.ID) string { return id.Server + "__" + id.Name }

// pages answers with these results, one after the other.
type pages map[string][]string

func (p pages) fetch(calls map[string]int) offer.Fetch {
	var mu sync.Mutex
	return func(_ context.Context, server, method string, params []byte) (tool.Bytes, error) {
		mu.Lock()
		defer mu.Unlock()
		key := server + " " + method
		n := calls[key]
		calls[key]++
		all, ok := p[key]
		if !ok {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "no"}
		}
		if n > 0 && len(all) > 1 && len(params) == 0 {
			return nil, errors.New("a page without its cursor")
		}
		return tool.OneOf([]byte(all[min(n, len(all)-1)])), nil
	}
}

func TestLists(t *testing.T) {
	l := offer.New(pages{
		"a resources/list":           {`{"resources":[{"uri":"x://1","n":9007199254740993}],"nextCursor":"c"}`, `{"resources":[{"uri":"x://2"},{"uri":"x://1"},{"name":"no address"}]}`},
		"b resources/list":           {`{"resources":[{"uri":"x://1","b":1},{"uri":"tenon://b/x://1"}]}`},
		"a prompts/list":             {`{"prompts":[{"title":"T","name":"p"}]}`},
		"b prompts/list":             {`{"prompts":[{"name":"p"}]}`},
		"a resources/templates/list": {`{"resourceTemplates":[{"uriTemplate":"x://{v}"},{"uriTemplate":"{all}"}]}`},
		"b resources/templates/list": {`{"resourceTemplates":[{"uriTemplate":"x://long/{v}"}]}`},
		"broken resources/list":      {`{}`},
	}.fetch(map[string]int{}), flat)
	servers := []string{"a", "broken", "none", "b"}
	all := l.All(t.Context(), offer.Resources, servers)
	want := `{"resources":[{"uri":"x://1","n":9007199254740993},{"uri":"x://2"},{"uri":"tenon://b/x://1","b":1},{"uri":"tenon://b/tenon://b/x://1"}]}`
	if got := string(all.Result()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if at, ok := all.Find("tenon://b/x://1"); !ok || at != (offer.At{Server: "b", Key: "x://1"}) {
		t.Error(at, ok)
	}
	prompts := l.All(t.Context(), offer.Prompts, servers)
	if got := string(prompts.Result()); got != `{"prompts":[{"title":"T","name":"a__p"},{"name":"b__p"}]}` {
		t.Error(got)
	}
	made := l.All(t.Context(), offer.Templates, servers)
	for uri, server := range map[string]string{"x://y": "a", "x://long/y": "b", "z://y": ""} {
		if at, _ := made.Match(uri); at.Server != server {
			t.Errorf("%s is %q's, want %q", uri, at.Server, server)
		}
	}
}

// TestListsByTheirExactNames: what readers could take for another list, or for another
// prompt, is neither.
func TestListsByTheirExactNames(t *testing.T) {
	l := offer.New(pages{
		"twice prompts/list":             {`{"prompts":[{"name":"shown"}],"prompts":[{"name":"called"}]}`},
		"cased prompts/list":             {`{"Prompts":[{"name":"p"}],"prompts":[{"name":"q"}]}`},
		"other resources/list":           {`{"resources":[{"uri":"x://1"}],"NextCursor":"c"}`},
		"null prompts/list":              {`{"prompts":null}`},
		"items prompts/list":             {`{"prompts":[{"name":"a","name":"b"},{"name":"a","Name":"b"},{"name":"c"}]}`},
		"items resources/list":           {`{"resources":[{"uri":"x://1","URI":"x://2"},{"uri":"x://3"}]}`},
		"twice resources/list":           {`{"resources":[],"resources":[{"uri":"x://4"}]}`},
		"cased resources/list":           {`{"RESOURCES":[{"uri":"x://5"}]}`},
		"items resources/templates/list": {`{"resourceTemplates":[{"uriTemplate":"x://{a}","uritemplate":"y://{b}"}]}`},
	}.fetch(map[string]int{}), flat)
	for kind, want := range map[offer.Kind]string{
		offer.Prompts:   `{"prompts":[{"name":"items__c"}]}`,
		offer.Resources: `{"resources":[{"uri":"x://3"}]}`,
		offer.Templates: `{"resourceTemplates":[]}`,
	} {
		if got := string(l.All(t.Context(), kind, []string{"twice", "cased", "other", "null", "items"}).Result()); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
	if _, err := l.Of(t.Context(), offer.Prompts, "twice"); err == nil || !strings.Contains(err.Error(), "prompts/list of server twice") {
		t.Error(err)
	}
}

func TestNamesResourcesOverPieces(t *testing.T) {
	for text, want := range map[string]bool{
		`{"a":"resource_link"}`: true, `{"a":"resourc_link","resourceful":1}`: true, `{"resourc":"eresource"}`: false,
		`{"a":"\u0072esource_link"}`: true, `{"a":"r\u0065source"}`: true, `{"a":"re\u0073ource"}`: true, `{"a":"\u00e9"}`: false,
		`{"a":"in a text, \"resource\" is a word","b":"\\"}`: false,
	} {
		for size := 1; size <= len(text); size++ {
			var b tool.Bytes
			for i := 0; i < len(text); i += size {
				b = append(b, []byte(text[i:min(i+size, len(text))]))
			}
			if offer.NamesResources(b) != want {
				t.Errorf("%s in pieces of %d", text, size)
			}
		}
	}
}

func TestWrap(t *testing.T) {
	for _, at := range []offer.At{{"a", "x://1"}, {"a-b", "file:///etc/a/b"}, {"a", "tenon://b/x://1"}} {
		if got, ok := offer.Unwrap(offer.Wrap(at.Server, at.Key)); !ok || got != at {
			t.Error(got, ok)
		}
	}
	for _, odd := range []string{"x://1", "tenon://", "tenon://a", "tenon://a/", "tenon:///x"} {
		if at, ok := offer.Unwrap(odd); ok {
			t.Error(odd, at)
		}
	}
}

// TestIsWrapped: whatever a reader of addresses may take for one that says its server.
func TestIsWrapped(t *testing.T) {
	for uri, want := range map[string]bool{
		"tenon://a/x": true, "TENON://a/x": true, "Tenon://": true, " tenon://a/x": true, "te\nnon://a/x": true, "tenon:\t//a/x": true, "\x00tenon://a/x": true,
		"tenon:/a": false, "xtenon://a/x": false, "x://tenon://a": false, "": false, "tenon:": false,
	} {
		if offer.IsWrapped(uri) != want {
			t.Errorf("%q: %v", uri, !want)
		}
	}
}

// TestReaddress: an address that says a server, or is another server's, says whose it is,
// however the result is written.
func TestReaddress(t *testing.T) {
	l := offer.New(pages{
		"good resources/list":           {`{"resources":[{"uri":"x://1"}]}`},
		"good resources/templates/list": {`{"resourceTemplates":[{"uriTemplate":"y://{v}"}]}`},
		"evil resources/list":           {`{"resources":[{"uri":"z://1"}]}`},
	}.fetch(map[string]int{}), flat)
	servers := []string{"good", "evil"}
	lists := func() (resources, templates *offer.All) {
		return l.All(t.Context(), offer.Resources, servers), l.All(t.Context(), offer.Templates, servers)
	}
	link := func(members string) string { return `{"content":[{` + members + `}],"n":9007199254740993}` }
	for _, c := range []struct{ name, result, want string }{
		{"its own", link(`"type":"resource_link","uri":"z://1"`), ""},
		{"nobody's", link(`"type":"resource_link","uri":"w://1"`), ""},
		{"another's", link(`"type":"resource_link","uri":"x://1"`), link(`"type":"resource_link","uri":"tenon://evil/x://1"`)},
		{"of another's template", link(`"type":"resource_link","uri":"y://1"`), link(`"type":"resource_link","uri":"tenon://evil/y://1"`)},
		{"says another", link(`"type":"resource_link","uri":"tenon://good/x://1"`), link(`"type":"resource_link","uri":"tenon://evil/tenon://good/x://1"`)},
		{"says itself", link(`"type":"resource_link","uri":"tenon://evil/z://1"`), link(`"type":"resource_link","uri":"tenon://evil/tenon://evil/z://1"`)},
		{"in capitals", link(`"type":"resource_link","uri":"TENON://good/x://1"`), link(`"type":"resource_link","uri":"tenon://evil/TENON://good/x://1"`)},
		{"escaped type", link(`"type":"\u0072esource_link","uri":"x://1"`), link(`"type":"\u0072esource_link","uri":"tenon://evil/x://1"`)},
		{"escaped key", link(`"type":"resource_link","\u0075ri":"x://1"`), link(`"type":"resource_link","\u0075ri":"tenon://evil/x://1"`)},
		{"escaped address", link(`"type":"resource_link","uri":"\u0074enon://good/x://1"`), link(`"type":"resource_link","uri":"tenon://evil/tenon://good/x://1"`)},
		{"embedded", link(`"type":"resource","resource":{"uri":"x://1","text":"t"}`), link(`"type":"resource","resource":{"uri":"tenon://evil/x://1","text":"t"}`)},
		{"in a text", link(`"type":"text","text":"\"resource_link\"","uri":"x://1"`), ""},
	} {
		got, err := offer.Readdress(tool.OneOf([]byte(c.result)), "content", "evil", lists)
		if want := cmp.Or(c.want, c.result); err != nil || string(got.Join()) != want {
			t.Errorf("%s: got  %s, %v\nwant %s", c.name, got.Join(), err, want)
		}
	}
	for name, members := range map[string]string{
		"address twice":      `"type":"resource_link","uri":"z://1","uri":"x://1"`,
		"address in capital": `"type":"resource_link","uri":"z://1","URI":"x://1"`,
		"type twice":         `"type":"text","type":"resource_link","uri":"x://1"`,
		"resource twice":     `"type":"resource","resource":{"uri":"z://1"},"resource":{"uri":"x://1"}`,
		"embedded twice":     `"type":"resource","resource":{"uri":"z://1","uri":"x://1"}`,
	} {
		if got, err := offer.Readdress(tool.OneOf([]byte(link(members))), "content", "evil", lists); err == nil {
			t.Errorf("%s: passes as %s", name, got.Join())
		}
	}
}

// BenchmarkNamesResources: every answer is looked over.
func BenchmarkNamesResources(b *testing.B) {
	for name, text := range map[string]string{
		"small": `{"content":[{"type":"text","text":"hello"}]}`,
		"large": `{"content":[{"type":"text","text":"` + strings.Repeat(`a \"resource\" and an \u00e9 and much else that is text `, 20_000) + `"}]}`,
	} {
		b.Run(name, func(b *testing.B) {
			result := tool.OneOf([]byte(text))
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if offer.NamesResources(result) {
					b.Fatal("it names none")
				}
			}
		})
	}
}

func TestListsAreKeptForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := map[string]int{}
		l := offer.New(pages{"a prompts/list": {`{"prompts":[]}`}}.fetch(calls), flat)
		ask := func(want int) {
			t.Helper()
			if _, err := l.Of(t.Context(), offer.Prompts, "a"); err != nil || calls["a prompts/list"] != want {
				t.Errorf("asked %d times, %v, want %d", calls["a prompts/list"], err, want)
			}
		}
		ask(1)
		ask(1)
		l.Forget("a", "notifications/resources/list_changed")
		ask(1)
		l.Forget("a", "notifications/prompts/list_changed")
		ask(2)
		time.Sleep(11 * time.Second)
		ask(3)
	})
}

func TestWhoGivesUpLeavesTheListToOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		l := offer.New(func(ctx context.Context, _, _ string, _ []byte) (tool.Bytes, error) {
			n++
			select {
			case <-time.After(time.Second):
				return tool.OneOf([]byte(fmt.Sprintf(`{"prompts":[{"name":"p%d"}]}`, n))), nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}, flat)
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan error)
		var wg sync.WaitGroup
		wg.Go(func() {
			_, err := l.Of(ctx, offer.Prompts, "a")
			gone <- err
		})
		defer wg.Wait()
		synctest.Wait()
		time.AfterFunc(time.Millisecond, cancel)
		items, err := l.Of(t.Context(), offer.Prompts, "a")
		if err != nil || len(items) != 1 || items[0].Key != "p2" {
			t.Error(items, err)
		}
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
