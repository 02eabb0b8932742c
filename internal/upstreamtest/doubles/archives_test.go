package doubles_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/upstreamtest/doubles"
)

// ask makes one request of a double.
func ask(t *testing.T, d http.Handler, method, target, body string, header map[string]string) (*http.Response, string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://double.example"+target, strings.NewReader(body))
	r.Header.Set("User-Agent", "test/1")
	for k, v := range header {
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	b, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Result(), string(b)
}

// TestMediaWiki holds the double to what MediaWiki does: the shapes of format version
// 2, faults with status 200, warnings, and lists that are continued.
func TestMediaWiki(t *testing.T) {
	d := doubles.MediaWiki()
	const api = "/en/w/api.php?format=json&formatversion=2&"
	for _, c := range []struct {
		query  string
		status int
		want   []string
	}{
		{"action=query&titles=port%20Aldern&prop=info&inprop=url", 200, []string{`"batchcomplete":true`, `"from":"port Aldern"`, `"to":"Port Aldern"`, `"pages":[{`, `"fullurl":"https://en.wikipedia.org/wiki/Port_Aldern"`}},
		{"action=query&titles=Nothing", 200, []string{`"missing":true`}},
		{"action=query&titles=a%3Cb", 200, []string{`"invalid":true`, `"invalidreason"`}},
		{"action=query&titles=Aldern%20Town&redirects=1", 200, []string{`"redirects":[{"from":"Aldern Town","to":"Port Aldern"}]`}},
		{"action=query&titles=Aldern&prop=pageprops&ppprop=disambiguation", 200, []string{`"pageprops":{"disambiguation":""}`}},
		{"action=query&titles=Port%20Aldern&prop=revisions&rvlimit=2&rvdir=newer&rvprop=ids%7Ctimestamp", 200, []string{`"continue":{"continue":"||info","rvcontinue":"20190303083000|11003"}`, `"revid":11001`, `"parentid":11000`, `"timestamp":"2019-03-01T08:30:00Z"`}},
		{"action=query&titles=Port%20Aldern&prop=revisions&rvlimit=1&rvprop=ids%7Ctimestamp", 200, []string{`"revid":11040`}},
		{"action=query&titles=A%7CB&prop=revisions&rvlimit=2", 200, []string{`"code":"invalidparammix"`}},
		{"action=query&titles=Port%20Aldern&prop=revisions&rvlimit=2&rvstart=soon", 200, []string{`"code":"badtimestamp"`}},
		{"action=query&list=search", 200, []string{`"code":"missingparam"`}},
		{"action=query&list=search&srsearch=lighthouse&srlimit=1", 200, []string{`"search":[{`, `"totalhits":1`}},
		{"action=fly", 200, []string{`"code":"badvalue"`, `"docref"`}},
		{"action=query&titles=A&colour=red", 200, []string{`"warnings"`, "Unrecognized parameters: colour."}},
		{"action=parse&page=Nothing", 200, []string{`"code":"missingtitle"`}},
		{"action=parse&page=Aldern&prop=text", 200, []string{`id=\"toc\"`, `title=\"Port Aldern\"`}},
	} {
		res, body := ask(t, d, http.MethodGet, api+c.query, "", nil)
		for _, want := range c.want {
			if res.StatusCode != c.status || !strings.Contains(body, want) {
				t.Errorf("%s: %d %s\nwant %s", c.query, res.StatusCode, body, want)
			}
		}
		if failed := strings.HasPrefix(body, `{"error"`); failed != (res.Header.Get("MediaWiki-API-Error") != "") {
			t.Errorf("%s: header %q", c.query, res.Header.Get("MediaWiki-API-Error"))
		}
	}
	if res, _ := ask(t, d, http.MethodGet, api+"action=query&titles=A", "", map[string]string{"User-Agent": "Go-http-client/2.0"}); res.StatusCode != 403 {
		t.Errorf("without a name of one's own: %d", res.StatusCode)
	}
	if res, _ := ask(t, d, http.MethodGet, "/xx/w/api.php?format=json", "", nil); res.StatusCode != 404 {
		t.Errorf("no such edition: %d", res.StatusCode)
	}
}

// TestWayback holds the double to the shapes of the two services.
func TestWayback(t *testing.T) {
	d := doubles.Wayback(doubles.NewWeb())
	for target, want := range map[string]string{
		"/wayback/available?url=http://harbour.example/lighthouse&timestamp=2016":                            `"closest":{"available":true,"status":"200","timestamp":"20150612080910","url":"http://web.archive.org/web/20150612080910/http://harbour.example/lighthouse"}`,
		"/wayback/available?url=never.example":                                                               `{"archived_snapshots":{},"url":"never.example"}`,
		"/wayback/available?url=" + doubles.IndexOnly:                                                        `"archived_snapshots":{}`,
		"/wayback/available?url=" + doubles.Withheld:                                                         `"available":false`,
		"/cdx/search/cdx?url=http://harbour.example/lighthouse":                                              "example,harbour)/lighthouse 20150612080910 http://harbour.example/lighthouse text/html 200 NOREALDIGESTOFAPAGEAAAAAAAAAAAA2 1000\n",
		"/cdx/search/cdx?url=http://harbour.example/lighthouse&output=json&fl=timestamp,statuscode&limit=-1": `[["timestamp","statuscode"],["20210103235959","200"]]`,
		"/cdx/search/cdx?url=http://harbour.example/lighthouse&output=json&filter=!statuscode:200":           "[]",
		"/cdx/search/cdx?url=never.example&output=json":                                                      "[]",
		"/web/20150612080910/http://harbour.example/lighthouse":                                              "lit for the first time",
	} {
		if res, body := ask(t, d, http.MethodGet, target, "", nil); res.StatusCode != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", target, res.StatusCode, body)
		}
	}
	for _, bad := range []string{"/wayback/available", "/cdx/search/cdx", "/cdx/search/cdx?url=x&colour=red", "/cdx/search/cdx?url=x&fl=colour", "/cdx/search/cdx?url=x&limit=many", "/cdx/search/cdx?url=x&sort=closest"} {
		if res, _ := ask(t, d, http.MethodGet, bad, "", nil); res.StatusCode != 400 {
			t.Errorf("%s: %d", bad, res.StatusCode)
		}
	}
}

// signed returns the headers of a request that is signed rightly, by the steps that
// Tencent Cloud publishes.
func signed(body string, at time.Time) map[string]string {
	hash := func(s string) string { sum := sha256.Sum256([]byte(s)); return hex.EncodeToString(sum[:]) }
	sum := func(key []byte, s string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(s))
		return h.Sum(nil)
	}
	date, stamp := at.UTC().Format(time.DateOnly), strconv.FormatInt(at.Unix(), 10)
	request := "POST\n/\n\ncontent-type:application/json\nhost:double.example\n\ncontent-type;host\n" + hash(body)
	text := "TC3-HMAC-SHA256\n" + stamp + "\n" + date + "/wsa/tc3_request\n" + hash(request)
	key := sum(sum(sum([]byte("TC3"+doubles.Key), date), "wsa"), "tc3_request")
	return map[string]string{
		"Content-Type": "application/json", "X-TC-Action": "SearchPro", "X-TC-Version": "2025-05-08", "X-TC-Timestamp": stamp,
		"Authorization": "TC3-HMAC-SHA256 Credential=" + doubles.TencentID + "/" + date + "/wsa/tc3_request, SignedHeaders=content-type;host, Signature=" + hex.EncodeToString(sum(key, text)),
	}
}

func TestTencentWSA(t *testing.T) {
	d := doubles.TencentWSA(doubles.NewWeb())
	const body = `{"Query":"ferries \"Skarn\"","Mode":0,"Cnt":10}`
	for _, c := range []struct {
		name, sent string
		at         time.Time
		change     func(h map[string]string)
		want       string
	}{
		{"right", body, time.Now(), func(map[string]string) {}, `"Pages":["{`},
		{"another body", body + " ", time.Now(), func(map[string]string) {}, "AuthFailure.SignatureFailure"},
		{"late", body, time.Now().Add(-10 * time.Minute), func(map[string]string) {}, "AuthFailure.SignatureExpire"},
		{"another id", body, time.Now(), func(h map[string]string) {
			h["Authorization"] = strings.Replace(h["Authorization"], doubles.TencentID, "somebody", 1)
		}, "AuthFailure.SecretIdNotFound"},
		{"another service", body, time.Now(), func(h map[string]string) {
			h["Authorization"] = strings.Replace(h["Authorization"], "/wsa/", "/cvm/", 1)
		}, "AuthFailure.InvalidAuthorization"},
		{"another version", body, time.Now(), func(h map[string]string) { h["X-TC-Version"] = "2017-03-12" }, "NoSuchVersion"},
	} {
		h := signed(body, c.at)
		c.change(h)
		res, got := ask(t, d, http.MethodPost, "/", c.sent, h)
		if res.StatusCode != 200 || !strings.Contains(got, c.want) {
			t.Errorf("%s: %d %s", c.name, res.StatusCode, got)
		}
	}
	for _, bad := range []string{`{`, `{"Query":""}`, `{"Query":"x","Cnt":5}`, `{"Query":"x","Cnt":51}`, `{"Query":"x","Colour":1}`} {
		res, got := ask(t, d, http.MethodPost, "/", bad, signed(bad, time.Now()))
		var answer struct {
			Response struct {
				Error     struct{ Code string }
				RequestID string `json:"RequestId"`
			}
		}
		if err := json.NewDecoder(bytes.NewReader([]byte(got))).Decode(&answer); err != nil || res.StatusCode != 200 || answer.Response.Error.Code == "" || answer.Response.RequestID == "" {
			t.Errorf("%s: %d %s", bad, res.StatusCode, got)
		}
	}
}
