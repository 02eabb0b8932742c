package cli_test

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestTimeoutOfMuteGateway: --timeout bounds the whole call, the look at the tool's schema
// included.
func TestTimeoutOfMuteGateway(t *testing.T) {
	url := listen(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	c := command{args: []string{"call", "a", "b", "-a", "x=1", "--gateway", url, "--timeout", "20ms", "-o", "json"}}
	var out bytes.Buffer
	c.stdout = &out
	if code := c.run(t.Context(), t); code != 6 || !strings.Contains(out.String(), "before the call was made") {
		t.Errorf("exit code %d: %s", code, out.String())
	}
}
