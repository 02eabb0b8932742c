package clients

// WithHook calls f between the look at the file and its change.
func (c Change) WithHook(f func()) Change {
	c.hook = f
	return c
}

// At makes settings of a client at a path.
func At(c *Client, w World, path string) Settings {
	s, _ := c.Target(w, User)
	s.Path = path
	return s
}
