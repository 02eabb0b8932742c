package tenon

import (
	"github.com/tenon-mcp/tenon/internal/config"
	"github.com/tenon-mcp/tenon/internal/policy"
)

// policyOf returns the policy of a configuration.
func policyOf(*config.Config) (*policy.Policy, error) {
	return policy.New(policy.Options{BlockHighRisk: true, AllowNotification: true})
}
