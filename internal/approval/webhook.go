package approval

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/tenon-mcp/tenon/internal/version"
	"github.com/tenon-mcp/tenon/tool"
)

// Headers of what a webhook is sent. The signature is the HMAC-SHA256, in hex behind
// "sha256=", of the timestamp, a dot and the body.
const (
	HeaderTimestamp = "X-Tenon-Timestamp" // seconds since 1970
	HeaderSignature = "X-Tenon-Signature"
	HeaderDelivery  = "X-Tenon-Delivery" // the same for each attempt: the approval's id and status
)

// How hard a webhook is tried.
const (
	hookQueue    = 256
	hookAttempts = 5
	hookTimeout  = 10 * time.Second
	hookDelay    = time.Second // doubled after each attempt
)

// WebhookOptions configures a Webhook. URL and Secret must be set.
type WebhookOptions struct {
	URL    string
	Secret tool.Secret
	Logger *slog.Logger
	// Client sends; nil is one of its own. Redirects are not followed in any case.
	Client *http.Client
}

// A Webhook tells an address of each question, and of what became of it. What it
// answers decides nothing. Close it.
type Webhook struct {
	o     WebhookOptions
	http  *http.Client
	queue chan tool.Approval
	ctx   context.Context
	stop  context.CancelFunc
	tasks sync.WaitGroup
}

// NewWebhook returns a webhook, which sends in the background until it is closed.
func NewWebhook(ctx context.Context, o WebhookOptions) *Webhook {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	w := &Webhook{o: o, http: &http.Client{}, queue: make(chan tool.Approval, hookQueue)}
	if o.Client != nil {
		*w.http = *o.Client
	} else {
		// What is told goes to that address, past every proxy of the environment.
		w.http.Transport = &http.Transport{TLSHandshakeTimeout: hookTimeout, MaxIdleConnsPerHost: 1, IdleConnTimeout: time.Minute}
	}
	w.http.Timeout = hookTimeout
	w.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	w.ctx, w.stop = context.WithCancel(context.WithoutCancel(ctx))
	w.tasks.Go(w.run)
	return w
}

// Tell puts an approval in the queue. It does not wait: where the queue is full it is
// left out, and logged.
func (w *Webhook) Tell(a tool.Approval) {
	select {
	case w.queue <- a:
	default:
		w.o.Logger.Warn("webhook is too slow: an approval was not told", "approval", a.ID, "status", a.Status)
	}
}

// Close ends what is being sent.
func (w *Webhook) Close() error {
	w.stop()
	w.tasks.Wait()
	w.http.CloseIdleConnections()
	return nil
}

func (w *Webhook) run() {
	for {
		select {
		case <-w.ctx.Done():
			return
		case a := <-w.queue:
			if err := w.deliver(a); err != nil && w.ctx.Err() == nil {
				w.o.Logger.Warn("webhook was not told of an approval", "approval", a.ID, "status", a.Status, "error", err)
			}
		}
	}
}

// deliver sends one approval, several times where that may help. A question that has
// expired is of no use to anybody.
func (w *Webhook) deliver(a tool.Approval) error {
	body, err := json.Marshal(a)
	if err != nil {
		return err
	}
	delay := hookDelay
	for attempt := 1; ; attempt++ {
		again, err := w.post(a, body)
		if err == nil || !again || attempt == hookAttempts {
			return err
		}
		if a.Status == tool.ApprovalPending && time.Now().Add(delay).After(a.ExpiresAt) {
			return fmt.Errorf("it expires before the next attempt: %w", err)
		}
		select {
		case <-time.After(delay):
		case <-w.ctx.Done():
			return w.ctx.Err()
		}
		delay *= 2
	}
}

// post sends once, and tells whether it may help to do so again.
func (w *Webhook) post(a tool.Approval, body []byte) (again bool, err error) {
	req, err := http.NewRequestWithContext(w.ctx, http.MethodPost, w.o.URL, bytes.NewReader(body))
	if err != nil {
		return false, errors.New("the address cannot be used") // the error would repeat it
	}
	at := strconv.FormatInt(time.Now().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", version.Agent("approvals"))
	req.Header.Set(HeaderTimestamp, at)
	req.Header.Set(HeaderDelivery, a.ID+"-"+string(a.Status))
	req.Header.Set(HeaderSignature, Sign([]byte(w.o.Secret.Reveal()), at, body))
	res, err := w.http.Do(req)
	if err != nil {
		return true, errors.New("no answer in time, or no connection")
	}
	_, _ = io.CopyN(io.Discard, res.Body, 4096) // so that the connection can be used again
	_ = res.Body.Close()
	if res.StatusCode/100 == 2 {
		return false, nil
	}
	again = res.StatusCode >= 500 || res.StatusCode == http.StatusTooManyRequests || res.StatusCode == http.StatusRequestTimeout
	return again, fmt.Errorf("it answered %d", res.StatusCode)
}

// Sign returns the signature of a body that is sent at a time.
func Sign(secret []byte, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	_, _ = io.WriteString(mac, timestamp+".") // a hash takes all
	_, _ = mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}
