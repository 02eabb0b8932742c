package network

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tenon-mcp/tenon/internal/egress"
	"github.com/tenon-mcp/tenon/servers/network/weaktls"
)

const tlsChars = 4000

// tlsTime bounds the whole of one check.
const tlsTime = 10 * time.Second

// maxChain is how many certificates of a chain are shown.
const maxChain = 6

type tlsInput struct {
	Host string `json:"host" jsonschema:"name or address of the host; the certificate is checked against it"`
	Port int    `json:"port,omitempty" jsonschema:"TCP port, 1 to 65535"`

	ServerName string `json:"server_name,omitempty" jsonschema:"name to ask for in the handshake (SNI) and to check the certificate against, where it is not host"`
}

type tlsOutput struct {
	Valid      bool   `json:"valid" jsonschema:"whether the certificate is trusted and matches the host"`
	Problem    string `json:"problem,omitempty" jsonschema:"why it is not valid"`
	Version    string `json:"version" jsonschema:"TLS version, such as TLS 1.3"`
	NotAfter   string `json:"not_after" jsonschema:"when the certificate expires, ISO 8601"`
	DaysLeft   int    `json:"days_left" jsonschema:"whole days until it expires; negative: since it expired"`
	CommonName string `json:"common_name,omitempty" jsonschema:"name of the certificate's subject"`
	Issuer     string `json:"issuer,omitempty" jsonschema:"who issued it"`

	Names    []string `json:"names,omitempty" jsonschema:"names and addresses that the certificate is for, the first 50"`
	Cipher   string   `json:"cipher" jsonschema:"cipher suite that was agreed"`
	Versions []string `json:"versions" jsonschema:"versions of TLS that the server accepts"`
	Weak     []string `json:"weak_points,omitempty" jsonschema:"what should be better, a sentence each"`
	Chain    []string `json:"chain" jsonschema:"certificates as the server sent them, the first 6"`
}

// An inspector looks at the certificates of hosts.
type inspector struct {
	guard *egress.Guard
	roots *x509.CertPool // nil: the system's
}

func (c *inspector) add(srv *mcp.Server) {
	add(srv, spec{
		Name: "tls_check", Title: "TLS check",
		Description: "Opens TLS connections and returns versions and cipher, the certificate's names, issuer, expiry in days and chain, whether it is valid for the host, and weak points. An invalid certificate is reported, not an error. Internal hosts are refused unless the operator opened them.",
		Defaults:    map[string]any{"port": 443},
	}, c.check)
}

func (c *inspector) check(ctx context.Context, in tlsInput) (string, tlsOutput, error) {
	if err := checkPortNumber(in.Port); err != nil {
		return "", tlsOutput{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, tlsTime)
	defer cancel()
	t, err := c.guard.Resolve(ctx, in.Host, in.Port)
	if err != nil {
		return "", tlsOutput{}, err
	}
	h := t.Host
	if in.ServerName != "" {
		if h, err = egress.ParseHost(in.ServerName); err != nil {
			return "", tlsOutput{}, err
		}
	}
	at := net.JoinHostPort(t.Name, strconv.Itoa(in.Port))
	start := time.Now()
	state, err := c.handshake(ctx, h, t, in.Port, tls.VersionTLS10, tls.VersionTLS13)
	if err != nil {
		return "", tlsOutput{}, tlsFailure(at, err)
	}
	elapsed := time.Since(start)
	out := c.judge(h, state)
	out.Versions = c.versions(ctx, h, t, in.Port, state.Version)
	out.Weak = weaktls.Points(state, out.Versions, maxChain)
	return tlsText(at, state, out, elapsed), out, nil
}

// versions returns which versions of TLS the server accepts, besides the one that
// was agreed, which is the newest.
func (c *inspector) versions(ctx context.Context, h egress.Host, t egress.Target, port int, agreed uint16) []string {
	var accepted []string
	for v := uint16(tls.VersionTLS10); v < agreed; v++ {
		if _, err := c.handshake(ctx, h, t, port, v, v); err == nil {
			accepted = append(accepted, tls.VersionName(v))
		}
	}
	return append(accepted, tls.VersionName(agreed))
}

// handshake connects and returns what was agreed. It takes any certificate, since
// a bad one is to be shown; judge tells whether it is good.
func (c *inspector) handshake(ctx context.Context, h egress.Host, t egress.Target, port int, low, high uint16) (tls.ConnectionState, error) {
	raw, err := c.guard.Connect(ctx, "tcp", t, uint16(port))
	if err != nil {
		return tls.ConnectionState{}, err
	}
	defer raw.Close()
	config := &tls.Config{
		ServerName:         h.Name,
		NextProtos:         []string{"h2", "http/1.1"},
		InsecureSkipVerify: true, //nolint:gosec // looked at, never trusted: no byte is sent over it
		MinVersion:         low,  // an old version is a finding
		MaxVersion:         high,
	}
	for _, suite := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		config.CipherSuites = append(config.CipherSuites, suite.ID)
	}
	conn := tls.Client(raw, config)
	if err := conn.HandshakeContext(ctx); err != nil {
		return tls.ConnectionState{}, err
	}
	state := conn.ConnectionState()
	if len(state.PeerCertificates) == 0 {
		return tls.ConnectionState{}, errors.New("the server showed no certificate")
	}
	return state, nil
}

func tlsFailure(at string, err error) error {
	var record tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case errors.As(err, &record):
		return fmt.Errorf("%s: what answers there does not speak TLS. Check the port, or use check_port or http_check", at)
	case errors.As(err, &alert):
		return fmt.Errorf("%s: the server ended the handshake: %s. It may want another host name, a client certificate, or a version of TLS that is not offered", at, plain(alert.Error(), 120))
	}
	return failure(at, err, tlsTime)
}

// judge verifies the certificate for the host.
func (c *inspector) judge(h egress.Host, state tls.ConnectionState) tlsOutput {
	leaf := state.PeerCertificates[0]
	out := tlsOutput{
		Valid:   true,
		Version: tls.VersionName(state.Version), NotAfter: leaf.NotAfter.UTC().Format(time.RFC3339),
		DaysLeft:   int(time.Until(leaf.NotAfter).Hours() / 24),
		CommonName: plain(leaf.Subject.CommonName, 120), Issuer: plain(leaf.Issuer.String(), 200),
		Cipher: tls.CipherSuiteName(state.CipherSuite), Names: allNames(leaf),
	}
	out.Names = out.Names[:min(50, len(out.Names))]
	for _, c := range state.PeerCertificates[:min(maxChain, len(state.PeerCertificates))] {
		out.Chain = append(out.Chain, fmt.Sprintf("%s, issued by %s, until %s", plain(c.Subject.String(), 120), plain(c.Issuer.String(), 120), c.NotAfter.UTC().Format(time.DateOnly)))
	}
	name := h.Name
	if h.Addr.IsValid() {
		name = "[" + name + "]" // how x509 wants an address
	}
	if _, err := leaf.Verify(c.verifyOptions(name, state.PeerCertificates)); err != nil {
		out.Valid, out.Problem = false, problem(h, leaf, err)
	}
	return out
}

// problem says in a sentence why a certificate does not verify.
func problem(h egress.Host, leaf *x509.Certificate, err error) string {
	var unknown x509.UnknownAuthorityError
	var wrongHost x509.HostnameError
	switch {
	case time.Now().After(leaf.NotAfter):
		return "it has expired"
	case time.Now().Before(leaf.NotBefore):
		return "it is not valid yet"
	case errors.As(err, &wrongHost):
		return "it is not for " + h.Name
	case errors.As(err, &unknown) && leaf.CheckSignatureFrom(leaf) == nil || errors.As(err, &unknown) && leaf.Issuer.String() == leaf.Subject.String():
		return "it is self-signed"
	case errors.As(err, &unknown):
		return "its issuer is not trusted here, or an intermediate certificate is missing"
	}
	return plain(err.Error(), 200)
}

func tlsText(at string, state tls.ConnectionState, out tlsOutput, elapsed time.Duration) string {
	leaf := state.PeerCertificates[0]
	var b strings.Builder
	fmt.Fprintf(&b, "## TLS of %s\n\n", at)
	if out.Valid {
		b.WriteString("- certificate: valid\n")
	} else {
		fmt.Fprintf(&b, "- certificate: NOT VALID: %s\n", out.Problem)
	}
	fmt.Fprintf(&b, "- expires: %s, %s\n", out.NotAfter, daysLeft(out.DaysLeft))
	fmt.Fprintf(&b, "- valid from: %s\n", leaf.NotBefore.UTC().Format(time.RFC3339))
	fmt.Fprintf(&b, "- subject: %s\n- issuer: %s\n- names: %s\n", plain(leaf.Subject.String(), 200), out.Issuer, names(leaf))
	fmt.Fprintf(&b, "- key: %s, signed with %s\n", weaktls.Key(leaf), leaf.SignatureAlgorithm)
	fmt.Fprintf(&b, "- connection: %s, %s", out.Version, tls.CipherSuiteName(state.CipherSuite))
	if state.NegotiatedProtocol != "" {
		fmt.Fprintf(&b, ", %s", plain(state.NegotiatedProtocol, 20))
	}
	fmt.Fprintf(&b, ", in %s\n", ms(elapsed))
	fmt.Fprintf(&b, "- accepts: %s\n", strings.Join(out.Versions, ", "))
	for _, w := range out.Weak {
		fmt.Fprintf(&b, "- weak point: %s\n", w)
	}
	b.WriteString("\n### Chain as sent\n\n")
	for i, l := range out.Chain {
		fmt.Fprintf(&b, "%d. %s\n", i+1, l)
	}
	if n := len(state.PeerCertificates); n > maxChain {
		fmt.Fprintf(&b, "and %d more\n", n-maxChain)
	}
	return b.String()
}

func daysLeft(n int) string {
	if n < 0 {
		return fmt.Sprintf("%d days ago", -n)
	}
	return fmt.Sprintf("in %d days", n)
}

func allNames(c *x509.Certificate) []string {
	all := make([]string, 0, len(c.DNSNames)+len(c.IPAddresses))
	for _, n := range c.DNSNames {
		all = append(all, plain(n, 80))
	}
	for _, ip := range c.IPAddresses {
		all = append(all, ip.String())
	}
	return all
}

func names(c *x509.Certificate) string {
	all := allNames(c)
	const most = 15
	switch n := len(all); {
	case n == 0:
		return "none"
	case n > most:
		return strings.Join(all[:most], ", ") + fmt.Sprintf(" and %d more", n-most)
	}
	return strings.Join(all, ", ")
}

// verifyOptions returns how the certificate of a host is verified.
func (c *inspector) verifyOptions(name string, chain []*x509.Certificate) x509.VerifyOptions {
	intermediates := x509.NewCertPool()
	for _, cert := range chain[1:] {
		intermediates.AddCert(cert)
	}
	return x509.VerifyOptions{DNSName: name, Roots: c.roots, Intermediates: intermediates}
}
