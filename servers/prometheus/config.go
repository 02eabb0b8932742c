package prometheus

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"
)

var errNotConfigured = errors.New("no Prometheus is configured. The operator sets the option url of this server, or PROMETHEUS_URL in env: of its entry (or in the environment of tenon server prometheus), " +
	"such as http://127.0.0.1:9090 (and a login where it wants one: username and password, token, client_cert). " +
	"Until then use the tools that look at the machine itself, such as get_local_system_overview")

// settings are the options, and the environment that completes them: what the
// configuration gives to the server's process, and no more.
type settings struct {
	Options

	getenv func(string) string
}

// or returns the option where it is given, else the variable.
func (o settings) or(option, variable string) string {
	if option != "" {
		return option
	}
	return strings.TrimSpace(o.getenv(variable))
}

func newServer(o settings) (*server, error) {
	s := &server{noImage: o.NoImage, now: time.Now}
	var err error
	if s.timeout, err = timeout(o); err != nil {
		return nil, err
	}
	address := o.or(o.URL, "PROMETHEUS_URL")
	if address == "" {
		return s, nil
	}
	c := &client{tokenFile: o.TokenFile, header: http.Header{}}
	if c.base, err = baseURL(address); err != nil {
		return nil, fmt.Errorf("option url: %w", err)
	}
	if err := c.login(o); err != nil {
		return nil, err
	}
	if err := c.headers(o); err != nil {
		return nil, err
	}
	config, err := tlsConfig(o)
	if err != nil {
		return nil, err
	}
	c.http = httpClient(config, c.base)
	s.client = c
	return s, nil
}

func timeout(o settings) (time.Duration, error) {
	n := o.TimeoutSec
	if n == 0 {
		n = 8
		if v := o.getenv("PROMETHEUS_REQUEST_TIMEOUT"); v != "" {
			var err error
			if n, err = strconv.ParseFloat(v, 64); err != nil {
				return 0, errors.New("PROMETHEUS_REQUEST_TIMEOUT: not a number of seconds")
			}
		}
	}
	if !(n >= 1 && n <= 120) {
		return 0, errors.New("option timeout_sec (PROMETHEUS_REQUEST_TIMEOUT): must be 1 to 120 seconds")
	}
	return time.Duration(n * float64(time.Second)), nil
}

// baseURL reads the address of the server. Errors do not repeat it: it may hold a
// password.
func baseURL(s string) (*url.URL, error) {
	if !strings.Contains(s, "://") {
		s = "http://" + s
	}
	u, err := url.Parse(s)
	switch {
	case err != nil:
		return nil, errors.New("not an address such as https://prometheus.example:9090/prefix")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("the scheme must be http or https")
	case u.Hostname() == "":
		return nil, errors.New("the address has no host")
	case u.Fragment != "":
		return nil, errors.New("the address must not have a part after #")
	}
	u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/api/v1") // people copy the address of an endpoint
	u.RawPath = ""
	return u, nil
}

// login sets how the client names itself, from options, the environment and the
// address.
func (c *client) login(o settings) error {
	user, password, token := o.or(o.Username, "PROMETHEUS_USERNAME"), o.or(o.Password, "PROMETHEUS_PASSWORD"), o.or(o.Token, "PROMETHEUS_TOKEN")
	if in := c.base.User; in != nil {
		if user == "" {
			user = in.Username()
			password, _ = in.Password()
		}
		if p, ok := in.Password(); ok {
			c.hide(p)
		}
		c.base.User = nil
	}
	switch {
	case token != "" && o.TokenFile != "":
		return errors.New("options token and token_file: give one of them")
	case (token != "" || o.TokenFile != "") && user != "":
		return errors.New("options token and username: give one way to log in, not two")
	case user == "" && password != "":
		return errors.New("option username: missing beside the password")
	case strings.ContainsAny(user+password+token, "\r\n"):
		return errors.New("options username, password and token must be of one line")
	}
	if user != "" {
		r := http.Request{Header: c.header}
		r.SetBasicAuth(user, password)
		c.hide(password, strings.TrimPrefix(c.header.Get("Authorization"), "Basic "))
	}
	if token != "" {
		c.header.Set("Authorization", "Bearer "+token)
		c.hide(token)
	}
	if o.TokenFile != "" {
		if _, err := c.fileToken(); err != nil {
			return fmt.Errorf("option token_file: %w", err)
		}
	}
	return nil
}

// headers sets the tenant and what more headers the operator wants.
func (c *client) headers(o settings) error {
	list := slices.Clone(o.Headers)
	if v := o.getenv("PROMETHEUS_CUSTOM_HEADERS"); v != "" {
		var m map[string]string
		if json.Unmarshal([]byte(v), &m) != nil {
			return errors.New(`PROMETHEUS_CUSTOM_HEADERS: not a JSON object of texts, such as {"X-Team": "sre"}`)
		}
		for name, value := range m {
			list = append(list, name+": "+value)
		}
	}
	for i, h := range list {
		name, value, ok := strings.Cut(h, ":")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return fmt.Errorf("option headers: entry %d is not of the form Name: value", i+1)
		}
		if strings.EqualFold(name, "Host") {
			return errors.New("option headers: Host follows from the option url")
		}
		c.header.Add(name, value)
		if sensitive(name) {
			c.hide(value, value[strings.LastIndexByte(value, ' ')+1:])
		}
	}
	if id := o.or(o.OrgID, "ORG_ID"); id != "" {
		if !httpguts.ValidHeaderFieldValue(id) {
			return errors.New("option org_id: not fit for a header")
		}
		c.header.Set("X-Scope-OrgID", id)
	}
	return nil
}

// sensitive reports whether the value of a header is to be hidden: all but those
// that are known to name nobody.
func sensitive(name string) bool {
	switch http.CanonicalHeaderKey(name) {
	case "X-Scope-Orgid", "User-Agent", "Accept", "Accept-Language":
		return false
	}
	return true
}

func tlsConfig(o settings) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	config.InsecureSkipVerify = o.InsecureSkipVerify
	if v := o.getenv("PROMETHEUS_URL_SSL_VERIFY"); v != "" {
		verify, err := strconv.ParseBool(strings.ToLower(v))
		if err != nil {
			return nil, errors.New("PROMETHEUS_URL_SSL_VERIFY: must be true or false")
		}
		config.InsecureSkipVerify = config.InsecureSkipVerify || !verify
	}
	if o.CAFile != "" {
		pem, err := os.ReadFile(filepath.Clean(o.CAFile))
		if err != nil {
			return nil, fmt.Errorf("option ca_file: %w", err)
		}
		if config.RootCAs, err = x509.SystemCertPool(); err != nil {
			config.RootCAs = x509.NewCertPool()
		}
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("option ca_file: the file holds no PEM certificate")
		}
	}
	cert, key := o.or(o.ClientCert, "PROMETHEUS_CLIENT_CERT"), o.or(o.ClientKey, "PROMETHEUS_CLIENT_KEY")
	if (cert == "") != (key == "") {
		return nil, errors.New("options client_cert and client_key: one is of no use without the other")
	}
	if cert == "" {
		return config, nil
	}
	if _, err := tls.LoadX509KeyPair(cert, key); err != nil {
		return nil, fmt.Errorf("options client_cert and client_key: %w", err)
	}
	// Read anew for each connection: certificates of this kind live for hours.
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(cert, key)
		return &pair, err
	}
	return config, nil
}
