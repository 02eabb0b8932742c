package results

// LimitQueryMemory bounds by how many bytes the heap may grow during a query.
func (s *Store) LimitQueryMemory(n uint64) { s.queryMemory = n }
