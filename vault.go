package tenon

import (
	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/internal/secrets"
)

// A Vault is the encrypted file that ${secret:NAME} in a configuration takes values
// from.
type Vault = secrets.Vault

// A VaultError says what is wrong with such a file, and what to do.
type VaultError = secrets.Error

// OpenVault returns the file that a configuration names, or the one that it would
// have. Neither needs to exist, and nothing else of the configuration is looked at:
// it may lack the secret that is about to be kept.
func OpenVault(o Options) (Vault, error) {
	return config.LoadVault(config.Source{Path: o.Config, Env: o.Env})
}

// NewIdentity creates the key of a Vault in a new file, and returns its public half.
func NewIdentity(path string) (recipient string, err error) { return secrets.NewIdentity(path) }
