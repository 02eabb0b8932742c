package redact_test

import (
	"strings"
	"testing"

	"github.com/tenon-mcp/tenon/internal/redact"
	"github.com/tenon-mcp/tenon/tool"
)

// What a record keeps of a text hides what stands under a name, however the text was
// cut, and whatever stands around it.
func TestExcerpt(t *testing.T) {
	r := redactor(t, redact.Options{Keys: []string{"customer_number"}})
	for text, want := range map[string]string{
		`{"customer_number":"K-77","n":1}`:                     `{"customer_number":"•••","n":1}`,
		`{"customer_number": 77, "n": 1}`:                      `{"customer_number": "•••", "n": 1}`,
		`found {"customer_number":"K-77","n":1} and more`:      `found {"customer_number":"•••","n":1} and more`,
		`[{"n":1},{"customer_number":"K-7`:                     `[{"n":1},{"customer_number":"•••`,
		`{"a":"{\"customerNumber\":\"K\\\"-77\",\"n\":1}"`:     `{"a":"{\"customerNumber\":\"•••\",\"n\":1}"`,
		`{"a":"{\"customer_number\":\"K-77\",\"n\":1}"}`:       `{"a":"{\"customer_number\":\"•••\",\"n\":1}"}`,
		`x {"customer_number":{"a":"}K-77"},"n":[1]}`:          `x {"customer_number":•••,"n":[1]}`,
		`x {"customer_number":["K-77`:                          `x {"customer_number":•••`,
		`customer_number=K-77, n=1`:                            `customer_number=•••, n=1`,
		"Customer-Number: K-77\nn: 1":                          "Customer-Number: •••\nn: 1",
		`x {"password":"hello","n":1}`:                         `x {"password":"•••","n":1}`,
		`the customer_number is not known: use another tool`:   `the customer_number is not known: use another tool`,
		`{"customer_number":null,"n":true}`:                    `{"customer_number":null,"n":true}`,
		`x {"customer_number": null, "n": true}`:               `x {"customer_number": null, "n": true}`,
		`{"customer_number":""} `:                              `{"customer_number":""} `,
		`customer_number:`:                                     `customer_number:`,
		`"`:                                                    `"`,
		`=`:                                                    `=`,
		`{"text":"the total: 12, a=b", "url":"http://h/?a=1"}`: `{"text":"the total: 12, a=b", "url":"http://h/?a=1"}`,
	} {
		if got := r.Excerpt(text); strings.ReplaceAll(got, tool.Secret{}.String(), "•••") != want {
			t.Errorf("%s\n  became %s\n  want   %s", text, got, want)
		}
	}
}

func FuzzExcerpt(f *testing.F) {
	f.Add(`{"customer_number":"K-77`)
	r := redactor(f, redact.Options{Keys: []string{"customer_number"}})
	f.Fuzz(func(t *testing.T, s string) {
		if twice := r.Excerpt(r.Excerpt(s)); len(twice) > 10*len(s)+100 {
			t.Error(twice)
		}
	})
}
