package wsa_test

import (
	"testing"

	"github.com/tenon-mcp/tenon/servers/searching/wsa"
)

// TestSign compares with a signature that another program made.
func TestSign(t *testing.T) {
	got := wsa.Sign("not-a-real-id-000", "not-a-real-key-000", "wsa.tencentcloudapi.com", "application/json", []byte(`{"Query":"天气","Mode":0,"Cnt":10}`), 1_700_000_000)
	want := "TC3-HMAC-SHA256 Credential=not-a-real-id-000/2023-11-14/wsa/tc3_request, SignedHeaders=content-type;host, " +
		"Signature=c588b15b50c99ebc739da2d323256761ca0b6444daef0b1bd41ce67ad567f7ba"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
