package login

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

const (
	assertionLife = time.Minute
	assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	minRSA        = 2048
)

// CheckKey says what is wrong with the private key of a client. The error does not hold it.
func CheckKey(text string) error {
	_, _, err := privateKey(text, nil)
	return err
}

// privateKey reads a key in PEM, and finds the signature that it makes: of those that the
// issuer takes, where it says which.
func privateKey(text string, supported []string) (crypto.Signer, jose.SignatureAlgorithm, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, "", errors.New("the private key is not in PEM")
	}
	var key any
	var err error
	switch block.Type {
	case "EC PRIVATE KEY":
		key, err = x509.ParseECPrivateKey(block.Bytes)
	case "RSA PRIVATE KEY":
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	default:
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	}
	if err != nil {
		return nil, "", errors.New("the private key cannot be read: it is to be PKCS #8 without a passphrase")
	}
	switch key := key.(type) {
	case ed25519.PrivateKey:
		return key, jose.EdDSA, nil
	case *ecdsa.PrivateKey:
		for curve, alg := range map[elliptic.Curve]jose.SignatureAlgorithm{elliptic.P256(): jose.ES256, elliptic.P384(): jose.ES384, elliptic.P521(): jose.ES512} {
			if key.Curve == curve {
				return key, alg, nil
			}
		}
	case *rsa.PrivateKey:
		if key.N.BitLen() < minRSA {
			return nil, "", errors.New("the private key is too short: RSA wants 2048 bits")
		}
		if len(supported) > 0 && !slices.Contains(supported, string(jose.RS256)) && slices.Contains(supported, string(jose.PS256)) {
			return key, jose.PS256, nil
		}
		return key, jose.RS256, nil
	}
	return nil, "", errors.New("the private key is of a kind that signs no assertions: it is to be EC, RSA or Ed25519")
}

// assertion returns what proves that a client has its key, to one issuer and for a minute.
func assertion(s *Server, at *site, now time.Time) (string, error) {
	key, alg, err := privateKey(s.ClientKey.Reveal(), at.meta.TokenEndpointAuthSigningAlgValuesSupported)
	if err != nil {
		return "", err
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, (&jose.SignerOptions{}).WithType("JWT"))
	if err != nil {
		return "", errors.New("the private key signs nothing")
	}
	claims, err := json.Marshal(map[string]any{
		"iss": s.ClientID, "sub": s.ClientID, "aud": at.meta.Issuer, "jti": rand.Text(),
		"iat": now.Unix(), "exp": now.Add(assertionLife).Unix(),
	})
	if err != nil {
		return "", err
	}
	signed, err := signer.Sign(claims)
	if err != nil {
		return "", errors.New("the private key signs nothing")
	}
	return signed.CompactSerialize()
}

// proven asks for a token of the operator's own client, which shows who it is by its key.
func proven(ctx context.Context, c *http.Client, s *Server, at *site, scopes []string, now time.Time) (*oauth2.Token, error) {
	signed, err := assertion(s, at, now)
	if err != nil {
		return nil, err
	}
	cfg := clientcredentials.Config{
		ClientID: s.ClientID, TokenURL: at.meta.TokenEndpoint, Scopes: scopes, AuthStyle: oauth2.AuthStyleInParams,
		EndpointParams: url.Values{"resource": {at.resource}, "client_assertion_type": {assertionType}, "client_assertion": {signed}},
	}
	return cfg.Token(with(ctx, c))
}
