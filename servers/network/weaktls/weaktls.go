// Package weaktls says what of a server's TLS should be better:
//
//	for _, point := range weaktls.Points(conn.ConnectionState(), []string{"TLS 1.0", "TLS 1.2"}, 6) {
//		fmt.Println(point) // TLS 1.0 is accepted, which is out of date
//	}
//
// It looks at the version, the cipher and the certificates, and asks nobody.
package weaktls

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Bounds on what is taken for good.
const (
	soon     = 14 // days before it expires in which a certificate should have been renewed
	longLife = 398
)

// Points returns what should be better, a sentence each, of a connection, the versions
// that the server accepts and at most so many certificates of its chain.
func Points(state tls.ConnectionState, versions []string, maxChain int) []string {
	var found []string
	say := func(bad bool, format string, a ...any) {
		if bad {
			found = append(found, fmt.Sprintf(format, a...))
		}
	}
	for _, v := range versions {
		say(v == tls.VersionName(tls.VersionTLS10) || v == tls.VersionName(tls.VersionTLS11), "%s is accepted, which is out of date", v)
	}
	say(state.Version < tls.VersionTLS13, "TLS 1.3 is not offered")
	cipher := tls.CipherSuiteName(state.CipherSuite)
	insecure := slices.ContainsFunc(tls.InsecureCipherSuites(), func(c *tls.CipherSuite) bool { return c.ID == state.CipherSuite })
	say(insecure, "the cipher %s is weak", cipher)
	say(state.Version < tls.VersionTLS13 && !strings.Contains(cipher, "ECDHE"), "the cipher %s has no forward secrecy", cipher)
	leaf := state.PeerCertificates[0]
	days := int(time.Until(leaf.NotAfter).Hours() / 24)
	say(days >= 0 && days < soon, "the certificate expires in %d days", days)
	life := int(leaf.NotAfter.Sub(leaf.NotBefore).Hours() / 24)
	say(life > longLife, "the certificate is valid for %d days; public ones may be for %d at most", life, longLife)
	say(len(leaf.DNSNames)+len(leaf.IPAddresses) == 0, "the certificate has no alternative names; its common name counts no more")
	for i, c := range state.PeerCertificates[:min(maxChain, len(state.PeerCertificates))] {
		who := "the certificate"
		if i > 0 {
			who = fmt.Sprintf("certificate %d of the chain", i+1)
		}
		say(weakKey(c), "the key of %s is short: %s", who, Key(c))
		root := c.Subject.String() == c.Issuer.String()
		say(weakSignature(c) && !root, "%s is signed with %s", who, c.SignatureAlgorithm)
		if i > 0 {
			before := state.PeerCertificates[i-1]
			say(before.Issuer.String() != c.Subject.String(), "%s did not issue the one before it: the order is wrong, or it is needless", who)
		}
	}
	return found
}

func weakKey(c *x509.Certificate) bool {
	switch k := c.PublicKey.(type) {
	case *rsa.PublicKey:
		return k.N.BitLen() < 2048
	case *ecdsa.PublicKey:
		return k.Curve.Params().BitSize < 256
	}
	return false
}

func weakSignature(c *x509.Certificate) bool {
	return slices.Contains([]x509.SignatureAlgorithm{x509.MD2WithRSA, x509.MD5WithRSA, x509.SHA1WithRSA, x509.ECDSAWithSHA1, x509.DSAWithSHA1}, c.SignatureAlgorithm)
}

// Key names the kind and length of a certificate's key.
func Key(c *x509.Certificate) string {
	switch k := c.PublicKey.(type) {
	case *rsa.PublicKey:
		return fmt.Sprintf("RSA %d bits", k.N.BitLen())
	case *ecdsa.PublicKey:
		return "ECDSA " + k.Curve.Params().Name
	}
	return c.PublicKeyAlgorithm.String()
}
