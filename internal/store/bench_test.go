package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tenon-mcp/tenon/internal/store"
)

// BenchmarkRows writes rows as fast as the database takes them; ns/op is the time
// for one row, in all.
func BenchmarkRows(b *testing.B) {
	s, err := store.New(b.Context(), store.Options{URL: "sqlite:" + b.TempDir() + "/record.db"})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	f := finished(1)
	b.ReportAllocs()
	for b.Loop() {
		p, err := s.Reserve(b.Context(), time.Minute)
		if err != nil {
			b.Fatal(err)
		}
		s.Add(p, f)
	}
	if err := s.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkHandOver is what a call pays: a place, and the hand-over to the writer.
func BenchmarkHandOver(b *testing.B) {
	s, err := store.New(b.Context(), store.Options{URL: "sqlite:" + b.TempDir() + "/none/record.db", Queue: 1 << 30, QueueBytes: 1 << 50})
	if err != nil {
		b.Fatal(err)
	}
	f := finished(1)
	b.ReportAllocs()
	for b.Loop() {
		p, err := s.Reserve(b.Context(), time.Minute)
		if err != nil {
			b.Fatal(err)
		}
		s.Add(p, f)
	}
	b.StopTimer()
}

// BenchmarkBegin is what a call pays that may change something: a row on the disk
// before it is sent. Of many at once several share a transaction.
func BenchmarkBegin(b *testing.B) {
	for _, many := range []int{1, 32} {
		b.Run(fmt.Sprint(many), func(b *testing.B) {
			s, err := store.New(b.Context(), store.Options{URL: "sqlite:" + b.TempDir() + "/record.db", Eager: true})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			if err := s.Flush(b.Context()); err != nil {
				b.Fatal(err)
			}
			f := finished(1)
			b.SetParallelism(many)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					p, err := s.Reserve(b.Context(), time.Minute)
					if err == nil {
						err = s.Begin(b.Context(), p, f)
					}
					if err != nil {
						b.Error(err)
					}
					s.Add(p, f)
				}
			})
		})
	}
}
