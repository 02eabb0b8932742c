package probe

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/tool"
)

const secret = "not-a-real-key-000"

// TestHTTP tells by the status what is wrong, and never in the words of the service.
func TestHTTP(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   tool.ProbeState
	}{
		{200, "{}", tool.ProbeOK},
		{422, "", tool.ProbeOK},
		{401, secret, tool.ProbeWrongKey},
		{403, secret, tool.ProbeWrongKey},
		{400, "API key not valid " + secret, tool.ProbeWrongKey},
		{400, secret, tool.ProbeFailing},
		{402, secret, tool.ProbeFailing},
		{404, secret, tool.ProbeFailing},
		{429, secret, tool.ProbeFailing},
		{503, secret, tool.ProbeFailing},
		{200, " <html>" + secret, tool.ProbeFailing},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.body))
		}))
		p := All(t.Context(), Ask{Service: "it", Key: "IT_KEY", Do: HTTP(client(t, srv.URL), egress.Request{URL: srv.URL}, map[int]*FaultError{422: nil})})[0]
		srv.Close()
		if p.State != c.want || strings.Contains(p.Text, secret) || p.Bad() != (c.want != tool.ProbeOK) {
			t.Errorf("%d %q: %+v", c.status, c.body, p)
		}
		if p.State == tool.ProbeWrongKey && !strings.HasSuffix(p.Text, "look at IT_KEY") {
			t.Errorf("%d: %q does not say where the key is", c.status, p.Text)
		}
	}
}

// TestAll keeps the order, asks side by side and gives each no more than its time.
func TestAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		both := make(chan struct{})
		meet := func(ctx context.Context) (string, error) {
			select {
			case both <- struct{}{}:
			case <-both:
			case <-ctx.Done():
			}
			return "met", ctx.Err()
		}
		slow := func(ctx context.Context) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}
		got := within(t.Context(), 200*time.Millisecond, []Ask{
			{Service: "a", Do: meet},
			{Service: "b", Do: meet},
			{Service: "c", Do: slow},
			{Service: "d", Missing: "set D"},
			{Service: "e", Do: func(context.Context) (string, error) { return "", errors.New("nobody\x1b there") }},
		})
		want := []tool.Probe{
			{Service: "a", State: tool.ProbeOK, Text: "met"},
			{Service: "b", State: tool.ProbeOK, Text: "met"},
			{Service: "c", State: tool.ProbeUnreachable, Text: "it did not answer within 200ms"},
			{Service: "d", State: tool.ProbeNotConfigured, Text: "set D"},
			{Service: "e", State: tool.ProbeUnreachable, Text: got[4].Text},
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%+v, want %+v", got[i], want[i])
			}
		}
		if strings.Contains(got[4].Text, "\x1b") {
			t.Errorf("%q", got[4].Text)
		}
	})
}

// TestUnreachable is where nothing listens.
func TestUnreachable(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	p := All(t.Context(), Ask{Service: "it", Do: HTTP(client(t, srv.URL), egress.Request{URL: srv.URL}, nil)})[0]
	if p.State != tool.ProbeUnreachable || p.Text == "" {
		t.Errorf("%+v", p)
	}
}

func client(t *testing.T, base string) *egress.Client {
	t.Helper()
	out, err := egress.New(egress.Options{Server: "test", Proxy: "none"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := out.Service(base)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
