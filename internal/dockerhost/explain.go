package dockerhost

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/moby/moby/client"
)

// ErrUnreachable is what errors are where no engine could be connected to.
var ErrUnreachable = errors.New("no engine")

// An unreachable error has a text for people and for models.
type unreachable struct {
	text  string
	cause error
}

func (e *unreachable) Error() string        { return e.text }
func (e *unreachable) Unwrap() error        { return e.cause }
func (e *unreachable) Is(target error) bool { return target == ErrUnreachable }

type attempt struct {
	host Host
	err  error
}

const whatToSet = "Start Docker or Podman's socket (systemctl --user start podman.socket), or name the engine: " +
	"the option host or DOCKER_HOST (in env: of this server's entry, or in the environment of tenon server docker) takes unix:///path or tcp://host:2376, the option context a context of the docker command"

// notFound says what was tried. A socket that is there and closed to us is what
// the reader must know first.
func notFound(attempts []attempt) error {
	var absent []string
	for _, a := range attempts {
		if !errors.Is(a.err, fs.ErrNotExist) {
			if e := a.host.closed(a.err); e != nil {
				return e
			}
		}
		absent = append(absent, fmt.Sprintf("%s (%s)", a.host.Address, short(a.err)))
	}
	return &unreachable{text: "no container engine was found. Tried: " + strings.Join(absent, ", ") + ". " + whatToSet}
}

// closed returns what to do about a socket that we may not use, or nil.
func (h Host) closed(err error) error {
	if !errors.Is(err, fs.ErrPermission) {
		return nil
	}
	path := strings.TrimPrefix(h.Address, "unix://")
	return &unreachable{cause: fs.ErrPermission, text: fmt.Sprintf("permission denied at %s (%s): %s. Or name an engine of this user's own, "+
		"such as rootless Docker or Podman, with the option host or DOCKER_HOST", h.Address, h.From, whoMay(path))}
}

// Explain returns err, which a request of a client of h gave, as what to do about
// it where the engine could not be reached or spoken to. Any other error is
// returned as it is, and so is the end of ctx.
func (h Host) Explain(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	at := h.Address + " (" + h.From + ")"
	if why, ok := certificate(err); ok {
		return &unreachable{cause: err, text: "TLS with the engine at " + at + " failed: " + why}
	}
	switch text := err.Error(); {
	case strings.Contains(text, "HTTP request to an HTTPS server"):
		return &unreachable{cause: err, text: "the engine at " + at + " wants TLS: set DOCKER_TLS_VERIFY=1 and DOCKER_CERT_PATH, " +
			"or the options tls and cert_path, to the folder with ca.pem, cert.pem and key.pem"}
	case strings.Contains(text, "server gave HTTP response to HTTPS client"):
		return &unreachable{cause: err, text: "the engine at " + at + " speaks no TLS, and TLS was asked for: check the port, or set the option tls to off"}
	}
	if !client.IsErrConnectionFailed(err) {
		return err
	}
	return h.redial(ctx, at, err)
}

// redial tells why a connection failed, by trying once more: clients keep the
// text of that error alone.
func (h Host) redial(ctx context.Context, at string, err error) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, again := h.dial(ctx)
	if again == nil {
		_ = conn.Close()
		return &unreachable{cause: err, text: "the engine at " + at + " broke the connection off: " + short(err) + ". Is it starting, or no container engine?"}
	}
	if e := h.closed(again); e != nil {
		return e
	}
	return &unreachable{cause: again, text: fmt.Sprintf("no container engine answers at %s: %s. %s", at, short(again), whatToSet)}
}

// certificate says what is wrong with a certificate, where that is what failed.
func certificate(err error) (string, bool) {
	if e, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		if unknown, ok := errors.AsType[x509.UnknownAuthorityError](e); ok {
			return unknown.Error() + "; ca.pem in the folder of DOCKER_CERT_PATH or cert_path must hold the authority that signed the engine's certificate", true
		}
		return e.Err.Error(), true
	}
	if _, ok := errors.AsType[tls.AlertError](err); ok || strings.Contains(err.Error(), "remote error: tls:") {
		return short(err) + "; the engine wants cert.pem and key.pem of an authority that it trusts, in the folder of DOCKER_CERT_PATH or cert_path", true
	}
	return "", false
}

// short returns the reason at the end of an error of the network.
func short(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "not there"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing listens there"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer within " + dialTimeout.String()
	}
	text := strings.ToValidUTF8(err.Error(), "?")
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "") + "…"
	}
	return text
}
