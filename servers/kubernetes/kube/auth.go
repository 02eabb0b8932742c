package kube

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// A plugin is a program that gives credentials.
type plugin struct {
	APIVersion string   `yaml:"apiVersion"`
	Command    string   `yaml:"command"`
	Args       []string `yaml:"args"`
	Env        []struct {
		Name  string `yaml:"name"`
		Value string `yaml:"value"`
	} `yaml:"env"`

	dir string // of the file
}

const pluginPatience = 20 * time.Second

// credentials are what a request is signed with.
type credentials struct {
	token   string
	cert    *tls.Certificate
	expires time.Time // zero: never
}

// setUp makes the client ready for a cluster and a user.
func (c *Client) setUp(cl cluster, u user, o Options) error {
	var err error
	if c.server, err = serverURL(cl.Server); err != nil {
		return err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: cl.ServerName}
	config.InsecureSkipVerify = cl.Insecure
	ca, err := contents(cl.CAData, cl.CAFile)
	if err != nil {
		return fmt.Errorf("certificate-authority: %w", err)
	}
	if ca != nil {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(ca) {
			return errors.New("certificate-authority: no PEM certificate")
		}
	}
	if err := c.setUser(u, config, o); err != nil {
		return err
	}
	proxy := http.ProxyFromEnvironment
	if cl.ProxyURL != "" {
		p, err := url.Parse(cl.ProxyURL)
		if err != nil || p.Host == "" {
			return errors.New("proxy-url is no address")
		}
		proxy = http.ProxyURL(p)
	}
	c.http = &http.Client{
		Transport: &http.Transport{
			Proxy: proxy, TLSClientConfig: config, ForceAttemptHTTP2: true,
			DialContext:         (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
			MaxIdleConnsPerHost: 4, IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("the server redirects, which is not followed: the credentials would go along")
		},
	}
	return nil
}

func (c *Client) setUser(u user, config *tls.Config, o Options) error {
	switch {
	case u.AuthProvider != nil:
		return errors.New("the user has an auth-provider, which Kubernetes no longer knows; give an exec plugin or a token")
	case u.Exec != nil && !o.AllowExec:
		return fmt.Errorf("the user's credentials come from the program %q, which is not started: the operator sets the option allow_exec if the file is to be trusted", filepath.Base(u.Exec.Command))
	case strings.ContainsAny(u.Token+u.Username+u.Password+u.As+strings.Join(u.AsGroups, ""), "\r\n"):
		return errors.New("the user's token or name is of several lines")
	}
	c.user = u
	c.hide(u.Token, u.Password)
	if u.Username != "" {
		c.hide(base64.StdEncoding.EncodeToString([]byte(u.Username + ":" + u.Password)))
	}
	cert, err := contents(u.CertData, u.CertFile)
	if err != nil {
		return fmt.Errorf("client-certificate: %w", err)
	}
	key, err := contents(u.KeyData, u.KeyFile)
	if err != nil {
		return fmt.Errorf("client-key: %w", err)
	}
	if cert != nil || key != nil {
		if _, err := tls.X509KeyPair(cert, key); err != nil {
			return fmt.Errorf("client-certificate and client-key: %w", err)
		}
	}
	if cert == nil && u.Exec == nil {
		return nil
	}
	config.GetClientCertificate = func(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		if u.Exec != nil {
			if got, err := c.fromPlugin(info.Context()); err == nil && got.cert != nil {
				return got.cert, nil
			}
			return &tls.Certificate{}, nil
		}
		// Read anew for each connection: certificates of this kind are renewed in place.
		cert, err1 := contents(u.CertData, u.CertFile)
		key, err2 := contents(u.KeyData, u.KeyFile)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		pair, err := tls.X509KeyPair(cert, key)
		return &pair, err
	}
	return nil
}

// sign adds the credentials to a request, and returns what an answer must not show.
func (c *Client) sign(req *http.Request) ([]string, error) {
	u := c.user
	if u.As != "" {
		req.Header.Set("Impersonate-User", u.As)
		for _, g := range u.AsGroups {
			req.Header.Add("Impersonate-Group", g)
		}
	}
	token := u.Token
	switch {
	case u.TokenFile != "": // tokens of pods are renewed in place
		b, err := readSmall(u.TokenFile)
		if err != nil {
			return nil, &Error{Text: "the token file of the user cannot be read; the operator looks at it"}
		}
		token = strings.TrimSpace(string(b))
		if strings.ContainsAny(token, "\r\n") {
			return nil, &Error{Text: "the token file of the user does not hold one token; the operator looks at it"}
		}
	case u.Exec != nil:
		got, err := c.fromPlugin(req.Context())
		if err != nil {
			return nil, err
		}
		token = got.token
	}
	switch {
	case token != "":
		req.Header.Set("Authorization", "Bearer "+token)
	case u.Username != "":
		req.SetBasicAuth(u.Username, u.Password)
	}
	if token != "" && token != u.Token {
		return []string{token}, nil
	}
	return nil, nil
}

func readSmall(path string) ([]byte, error) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 1<<20))
}

// kept are the credentials that a plugin gave last.
type kept struct {
	mu  sync.Mutex
	now *credentials
}

// fromPlugin returns the credentials that the plugin gives, and those of before
// while they hold.
func (c *Client) fromPlugin(ctx context.Context) (*credentials, error) {
	c.kept.mu.Lock()
	now := c.kept.now
	c.kept.mu.Unlock()
	if now != nil && (now.expires.IsZero() || time.Until(now.expires) > 30*time.Second) {
		return now, nil
	}
	got, err := c.user.Exec.run(ctx)
	if err != nil {
		return nil, err
	}
	c.kept.mu.Lock()
	c.kept.now = got
	c.kept.mu.Unlock()
	return got, nil
}

// run starts the plugin and reads what it prints. It runs without a terminal, and
// what it says beside is not shown: it may be about credentials.
func (p *plugin) run(ctx context.Context) (*credentials, error) {
	name := filepath.Base(p.Command)
	command := p.Command
	if strings.ContainsRune(command, filepath.Separator) && !filepath.IsAbs(command) {
		command = filepath.Join(p.dir, command)
	}
	version := p.APIVersion
	if version == "" {
		version = "client.authentication.k8s.io/v1"
	}
	info, err := json.Marshal(map[string]any{"apiVersion": version, "kind": "ExecCredential", "spec": map[string]any{"interactive": false}})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, pluginPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, command, p.Args...)
	cmd.Env = append(cmd.Environ(), "KUBERNETES_EXEC_INFO="+string(info))
	for _, e := range p.Env {
		cmd.Env = append(cmd.Env, e.Name+"="+e.Value)
	}
	cmd.WaitDelay = time.Second
	var out limited
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		return nil, &Error{Text: fmt.Sprintf("the program %q, which gives the credentials, failed; the operator runs it by hand to see why", name)}
	}
	var got struct {
		Status struct {
			Token   string    `json:"token"`
			Cert    string    `json:"clientCertificateData"`
			Key     string    `json:"clientKeyData"`
			Expires time.Time `json:"expirationTimestamp"`
		} `json:"status"`
	}
	bad := &Error{Text: fmt.Sprintf("the program %q did not print credentials", name)}
	if json.Unmarshal(out.Bytes(), &got) != nil || strings.ContainsAny(got.Status.Token, "\r\n") {
		return nil, bad
	}
	c := &credentials{token: got.Status.Token, expires: got.Status.Expires}
	if got.Status.Cert != "" {
		pair, err := tls.X509KeyPair([]byte(got.Status.Cert), []byte(got.Status.Key))
		if err != nil {
			return nil, bad
		}
		c.cert = &pair
	}
	if c.token == "" && c.cert == nil {
		return nil, bad
	}
	return c, nil
}

// limited keeps at most a MiB of what is written to it.
type limited struct{ bytes.Buffer }

// Write takes b, or fails where it would become too much.
func (l *limited) Write(b []byte) (int, error) {
	if l.Len()+len(b) > 1<<20 {
		return 0, errors.New("too much")
	}
	return l.Buffer.Write(b)
}
