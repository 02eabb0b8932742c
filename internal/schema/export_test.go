package schema

// Example returns arguments that are valid, or "".
func (s *Schema) Example() string {
	text, _ := s.example(nil)
	return text
}

// GivesUp reports whether checking the arguments takes more steps than allowed.
func (s *Schema) GivesUp(args []byte) bool {
	v, err := parse(args)
	if err != nil {
		return true
	}
	e := &evaluation{steps: maxSteps}
	e.root(s.root, v)
	return e.over
}
