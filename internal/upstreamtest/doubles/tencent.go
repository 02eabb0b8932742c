package doubles

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// TencentID is the id of the key that the double takes; the key itself is [Key].
const TencentID = "not-a-real-id-000"

// TencentWSA stands in for wsa.tencentcloudapi.com: POST /, signed by TC3-HMAC-SHA256.
// The signature is checked as the service does it. Its errors have the status 200; a
// fault's Code is that of such an error.
func TencentWSA(web *Web) *Double {
	return newDouble("tencent-wsa", func(w http.ResponseWriter, c Call, f Fault) { serveTencent(web, w, c, f) }, func(w http.ResponseWriter, f Fault) {
		if f.Code != "" || f.Status == http.StatusOK {
			tencentError(w, defaulted(f.Code, "InternalError"), "The request was refused.")
			return
		}
		replyHTML(w, f.Status, http.StatusText(f.Status))
	})
}

func tencentError(w http.ResponseWriter, code, message string) {
	reply(w, http.StatusOK, object{"Response": object{"Error": object{"Code": code, "Message": message}, "RequestId": "00000000-0000-0000-0000-000000000000"}})
}

func serveTencent(web *Web, w http.ResponseWriter, c Call, f Fault) {
	if code, message := tencentCheck(c, time.Now()); code != "" {
		tencentError(w, code, message)
		return
	}
	var in map[string]any
	d := json.NewDecoder(strings.NewReader(string(c.Body)))
	d.UseNumber()
	if d.Decode(&in) != nil {
		tencentError(w, "InvalidParameter", "The request body is not JSON.")
		return
	}
	for name := range in {
		switch name {
		case "Query", "Mode", "Cnt", "Site", "Industry", "Freshness", "Deeplinks":
		default:
			tencentError(w, "UnknownParameter", "The parameter `"+name+"` is not recognized.")
			return
		}
	}
	q, ok := in["Query"].(string)
	count := 10
	if n, isNumber := in["Cnt"].(json.Number); isNumber {
		v, err := strconv.Atoi(n.String())
		ok = ok && err == nil && v >= 10 && v <= 50 && v%10 == 0
		count = v
	}
	if !ok || q == "" {
		tencentError(w, "InvalidParameter", "Query or Cnt is not valid.")
		return
	}
	pages := []string{}
	for i, p := range slice(web.Search(q), 0, count) {
		b, _ := json.Marshal(object{
			"title": p.Title, "date": p.Date + " 08:00:00", "url": p.URL, "passage": p.Snippet(), "content": "", "site": "example", "score": 1 / float64(i+1), "pics": []object{}, "favicon": "",
		})
		pages = append(pages, string(b))
	}
	if f.Empty {
		pages = []string{}
	}
	reply(w, http.StatusOK, object{"Response": object{"Query": q, "Pages": pages, "Version": "standard", "Msg": f.Warning, "RequestId": "00000000-0000-0000-0000-000000000000"}})
}

// tencentCheck returns why a request is refused, or nothing.
func tencentCheck(c Call, now time.Time) (code, message string) {
	stamp, err := strconv.ParseInt(c.Header.Get("X-Tc-Timestamp"), 10, 64)
	fields := map[string]string{}
	scheme, rest, _ := strings.Cut(c.Header.Get("Authorization"), " ")
	for part := range strings.SplitSeq(rest, ", ") {
		name, value, _ := strings.Cut(part, "=")
		fields[name] = value
	}
	id, scope, _ := strings.Cut(fields["Credential"], "/")
	date := time.Unix(stamp, 0).UTC().Format("2006-01-02")
	switch {
	case c.Method != http.MethodPost || c.Path != "/":
		return "InvalidRequest", "POST to / is wanted."
	case c.Header.Get("X-Tc-Action") != "SearchPro":
		return "InvalidAction", "The action is not known."
	case c.Header.Get("X-Tc-Version") != "2025-05-08":
		return "NoSuchVersion", "The version is not known."
	case err != nil:
		return "MissingParameter", "X-TC-Timestamp is missing."
	case now.Sub(time.Unix(stamp, 0)).Abs() > 5*time.Minute:
		return "AuthFailure.SignatureExpire", "The timestamp has expired."
	case scheme != "TC3-HMAC-SHA256" || scope != date+"/wsa/tc3_request":
		return "AuthFailure.InvalidAuthorization", "The Authorization header is not valid."
	case id != TencentID:
		return "AuthFailure.SecretIdNotFound", "The SecretId is not found."
	}
	var lines strings.Builder
	for name := range strings.SplitSeq(fields["SignedHeaders"], ";") {
		lines.WriteString(name + ":" + strings.ToLower(strings.TrimSpace(c.Header.Get(name))) + "\n")
	}
	headers := lines.String()
	if !strings.Contains(headers, "content-type:") || !strings.Contains(headers, "host:") {
		return "AuthFailure.InvalidAuthorization", "content-type and host must be signed."
	}
	body := sha256.Sum256(c.Body)
	request := sha256.Sum256([]byte(strings.Join([]string{"POST", "/", "", headers, fields["SignedHeaders"], hex.EncodeToString(body[:])}, "\n")))
	sum := func(key []byte, text string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(text))
		return h.Sum(nil)
	}
	key := sum(sum(sum([]byte("TC3"+Key), date), "wsa"), "tc3_request")
	want := hex.EncodeToString(sum(key, strings.Join([]string{scheme, strconv.FormatInt(stamp, 10), scope, hex.EncodeToString(request[:])}, "\n")))
	if !hmac.Equal([]byte(want), []byte(fields["Signature"])) {
		return "AuthFailure.SignatureFailure", "The provided credentials could not be validated."
	}
	return "", ""
}
