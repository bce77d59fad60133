package issuer

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/lacuna-seq/lacuna/sequence"
)

// held is a number in this issuer's memory, with the ticket of the life that begins when it is
// handed out.
type held struct {
	number sequence.Number
	ticket string
}

func hold(n sequence.Number) held { return held{number: n, ticket: n.NextTicket().String()} }

func holdAll(numbers []sequence.Number) []held {
	all := make([]held, len(numbers))
	for i, n := range numbers {
		all[i] = hold(n)
	}
	return all
}

// block is the numbers of one allocation or one claim. They are taken front to back by one
// atomic addition, without a lock.
type block struct {
	numbers []held
	next    atomic.Int64
	since   time.Time
}

// take gives at most count numbers, none when the block is used up.
func (b *block) take(count int) []held {
	if b.next.Load() >= int64(len(b.numbers)) {
		return nil // without the addition, so that the counter stays small
	}
	hi := b.next.Add(int64(count))
	lo := hi - int64(count)
	if lo >= int64(len(b.numbers)) {
		return nil
	}
	return b.numbers[lo:min(hi, int64(len(b.numbers)))]
}

// neverIssued reports whether the numbers have had no life yet: nobody can be about to confirm them.
func (b *block) neverIssued() bool { return len(b.numbers) > 0 && b.numbers[0].number.Life == 0 }

func (b *block) left() int { return max(0, len(b.numbers)-int(b.next.Load())) }

// shelf is the blocks of one kind, oldest first. Only the change from one block to the next is locked.
type shelf struct {
	current atomic.Pointer[block]
	queued  atomic.Int64 // blocks behind the current one

	mu     sync.Mutex
	blocks []*block
}

// take gives 1 to count numbers, or none when the shelf is empty.
func (s *shelf) take(count int) []held {
	for {
		b := s.current.Load()
		if b != nil {
			if got := b.take(count); got != nil {
				return got
			}
		}
		if s.queued.Load() == 0 || !s.advance(b) {
			return nil
		}
	}
}

// advance puts the next block in the place of one that is used up.
func (s *shelf) advance(from *block) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current.Load() != from {
		return true
	}
	if len(s.blocks) == 0 {
		return false
	}
	s.current.Store(s.blocks[0])
	s.blocks = s.blocks[1:]
	s.queued.Add(-1)
	return true
}

func (s *shelf) put(b *block) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocks = append(s.blocks, b)
	s.queued.Add(1)
}

// left counts the numbers on the shelf.
func (s *shelf) left() int { return s.leftWhere(func(*block) bool { return true }) }

// leftWhere counts the numbers in the blocks that which names.
func (s *shelf) leftWhere(which func(*block) bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, b := range s.all() {
		if which(b) {
			n += b.left()
		}
	}
	return n
}

// takeWhere takes everything out of the blocks that which names.
func (s *shelf) takeWhere(which func(*block) bool) []held {
	s.mu.Lock()
	defer s.mu.Unlock()
	var taken []held
	for _, b := range s.all() {
		if which(b) {
			taken = append(taken, b.take(len(b.numbers))...)
		}
	}
	return taken
}

func (s *shelf) all() []*block {
	if b := s.current.Load(); b != nil {
		return append([]*block{b}, s.blocks...)
	}
	return s.blocks
}
