// Package wsa asks the Web Search API of Tencent Cloud, which searches with Sogou.
//
//	c, err := wsa.New(wsa.Options{Client: client, SecretID: id, SecretKey: key})
//	answer, err := c.Search(ctx, wsa.Query{Query: "天气", Cnt: 10})
//	var refused *wsa.Error // has the code of Tencent Cloud
//
// Requests are signed as TC3-HMAC-SHA256 has it: see [Sign], which a server that
// checks them uses too.
package wsa

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/tenon-mcp/tenon/internal/egress"
)

// What the API is called.
const (
	DefaultBase = "https://wsa.tencentcloudapi.com"
	Action      = "SearchPro"
	Version     = "2025-05-08"
	ContentType = "application/json"
)

const (
	service   = "wsa"
	algorithm = "TC3-HMAC-SHA256"
	maxAnswer = 4 << 20
)

// Options say who asks. Base is the address of the API where it is another one.
type Options struct {
	Client              *egress.Client
	Base                string
	SecretID, SecretKey string
	Retry               egress.Retry
	Now                 func() time.Time // default time.Now
}

// A Client asks the API. It is safe for concurrent use.
type Client struct {
	o    Options
	host string
}

// New returns a Client. Its error says what is wrong with the base URL.
func New(o Options) (*Client, error) {
	if o.Base == "" {
		o.Base = DefaultBase
	}
	u, err := url.Parse(o.Base)
	if err != nil || u.Host == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" {
		return nil, errors.New("it is no address such as " + DefaultBase + ", without a path")
	}
	if o.Client, err = o.Client.Service(o.Base); err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Base = u.Scheme + "://" + u.Host + "/"
	return &Client{o, u.Host}, nil
}

// A Query is what is asked.
type Query struct {
	Query string `json:"Query"`
	Mode  int    `json:"Mode"`          // 0: pages as they are
	Cnt   int    `json:"Cnt,omitempty"` // 10 to 50
}

// A Page is one hit.
type Page struct {
	Title   string  `json:"title"`
	URL     string  `json:"url"`
	Passage string  `json:"passage"`
	Date    string  `json:"date"`
	Site    string  `json:"site"`
	Score   float64 `json:"score"`
}

// An Answer is what was found.
type Answer struct {
	Query   string
	Version string
	Msg     string
	Pages   []Page
	Broken  int // pages that could not be read
}

// An Error is a refusal of Tencent Cloud, which has status 200 like an answer.
type Error struct {
	Code    string `json:"Code"`
	Message string `json:"Message"`
}

// Error returns code and words.
func (e *Error) Error() string {
	return fmt.Sprintf("Tencent Cloud API error: %s: %s", e.Code, e.Message)
}

// Repeat reports whether it may go better next time.
func (e *Error) Repeat() bool { return e.Code == "InternalError" || e.Code == "RequestLimitExceeded" }

// Search asks once; failures of the connection are repeated as Options.Retry says.
func (c *Client) Search(ctx context.Context, q Query) (Answer, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return Answer{}, err
	}
	now := c.o.Now().Unix()
	resp, err := c.o.Client.Do(ctx, egress.Request{
		Method: http.MethodPost, URL: c.o.Base, Body: body, MaxBody: maxAnswer, Retry: c.o.Retry,
		Header: http.Header{
			"Content-Type": {ContentType}, "Authorization": {Sign(c.o.SecretID, c.o.SecretKey, c.host, ContentType, body, now)},
			"X-TC-Action": {Action}, "X-TC-Version": {Version}, "X-TC-Timestamp": {strconv.FormatInt(now, 10)},
		},
	})
	if err != nil {
		return Answer{}, err
	}
	if !resp.OK() {
		return Answer{}, fmt.Errorf("the service answered %d %s", resp.Status, http.StatusText(resp.Status))
	}
	var answer struct {
		Response *struct {
			Error   *Error   `json:"Error"`
			Query   string   `json:"Query"`
			Version string   `json:"Version"`
			Msg     string   `json:"Msg"`
			Pages   []string `json:"Pages"`
		} `json:"Response"`
	}
	if err := json.Unmarshal(resp.Body, &answer); err != nil || answer.Response == nil {
		return Answer{}, errors.New("the service answered with something of an unknown form")
	}
	r := answer.Response
	if r.Error != nil {
		return Answer{}, &Error{egress.Plain(r.Error.Code, 80), egress.Plain(r.Error.Message, 300)}
	}
	a := Answer{Query: r.Query, Version: r.Version, Msg: r.Msg}
	for _, text := range r.Pages { // each is JSON in a string
		var p Page
		if json.Unmarshal([]byte(text), &p) != nil {
			a.Broken++
			continue
		}
		a.Pages = append(a.Pages, p)
	}
	return a, nil
}

// Sign returns the header Authorization of a POST to / of a host.
func Sign(id, key, host, contentType string, body []byte, unix int64) string {
	const signed = "content-type;host"
	canonical := "POST\n/\n\ncontent-type:" + contentType + "\nhost:" + host + "\n\n" + signed + "\n" + digest(body)
	date := time.Unix(unix, 0).UTC().Format(time.DateOnly)
	scope := date + "/" + service + "/tc3_request"
	text := algorithm + "\n" + strconv.FormatInt(unix, 10) + "\n" + scope + "\n" + digest([]byte(canonical))
	k := []byte("TC3" + key)
	for _, part := range []string{date, service, "tc3_request"} {
		k = mac(k, part)
	}
	return fmt.Sprintf("%s Credential=%s/%s, SignedHeaders=%s, Signature=%s", algorithm, id, scope, signed, hex.EncodeToString(mac(k, text)))
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
