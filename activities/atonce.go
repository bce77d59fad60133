package activities

import (
	"errors"
	"sync"
)

// atOnce does something for all, at most so many at a time, and joins what went wrong.
func atOnce[T any](most int, all []T, do func(T) error) error {
	var mu sync.Mutex
	var errs []error
	places := make(chan struct{}, most)
	var under sync.WaitGroup
	for _, one := range all {
		places <- struct{}{}
		under.Go(func() {
			defer func() { <-places }()
			if err := do(one); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	under.Wait()
	return errors.Join(errs...)
}
