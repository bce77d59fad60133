package access

import (
	"context"
	"time"
)

// SetClock replaces the keyring's clock.
func (k *Keyring) SetClock(now func() time.Time) { k.now = now }

// Tell writes down what Watch would.
func (k *Keyring) Tell(ctx context.Context) error { return k.tell(ctx) }

// Touch writes down what Watch would.
func (k *Keyring) Touch(ctx context.Context) error { return k.touch(ctx) }
