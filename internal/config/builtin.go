package config

// BuiltIn returns the configuration of a pool that nobody configured: these
// bundled servers, and the defaults for the rest.
func BuiltIn(bundled []string) *Config {
	cfg, server := defaults()
	for _, name := range bundled {
		s := server
		s.Name, s.Bundled = name, name
		cfg.Servers = append(cfg.Servers, s)
	}
	return &cfg
}
