package issuer

import "github.com/lacuna-seq/lacuna/sequence"

// stepBackFault answers a call while the biz type is stopped because the ledger has stepped back; nil while it is
// not. It costs Next two loads.
func (b *buffer) stepBackFault() error {
	rules := b.rules.Load()
	if rules.SteppedBack == 0 {
		return nil
	}
	return &sequence.SteppedBackError{BizType: rules.Name, Behind: rules.SteppedBack}
}

// stop stops the biz type here before its settings are read again: the ledger has been told.
func (b *buffer) stop(found *sequence.SteppedBackError) {
	for {
		was := b.rules.Load()
		stopped := *was
		stopped.SteppedBack = max(1, found.Behind)
		if was.SteppedBack > 0 || b.rules.CompareAndSwap(was, &stopped) {
			return
		}
	}
}

// forgetAll takes everything out of memory for good: the ledger knows nothing of it, or something else.
func (b *buffer) forgetAll() {
	every := func(*block) bool { return true }
	b.forget(b.takeClaimed(every))
	b.forget(b.takeFresh(every))
	b.forget(b.takeReturning())
}

// forget says that numbers which were held are not known of any more.
func (b *buffer) forget(numbers []held) {
	for _, h := range numbers {
		b.issuer.batches.settled(h.number.BatchID, 1)
	}
}
