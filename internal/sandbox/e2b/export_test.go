package e2b

// PlaceOf returns where the daemon and the code interpreter of a machine are.
func (b *Backend) PlaceOf(id, domain string) (envd, code string, err error) {
	at, err := b.placeOf(id, domain)
	return at.envd, at.code, err
}
