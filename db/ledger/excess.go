package ledger

import (
	"context"
	"fmt"
	"strings"

	"github.com/lacuna-seq/lacuna/internal/access"
)

const (
	insertExcess = `INSERT INTO t_seq_token_excess (token, budget, abandoned, excess_time) VALUES `
	// What people were told of a month ago is of no use to anybody.
	purgeExcess = `DELETE FROM t_seq_token_excess WHERE alerted_time < UTC_TIMESTAMP(6) - INTERVAL 30 DAY ORDER BY alerted_time LIMIT 500`
)

// AddExcess keeps what tokens abandoned over their budgets, until people are told.
func (l *Ledger) AddExcess(ctx context.Context, excess []access.Excess) error {
	for len(excess) > 0 {
		n := min(len(excess), MaxBatch)
		var args []any
		for _, e := range excess[:n] {
			args = append(args, e.Token, e.Budget, e.Abandoned)
		}
		query := insertExcess + strings.TrimSuffix(strings.Repeat("(?, ?, ?, UTC_TIMESTAMP(6)),", n), ",")
		if _, err := l.exec(ctx, query, args...); err != nil {
			return classify(fmt.Sprintf("write down %d excesses of abandonments", n), err)
		}
		excess = excess[n:]
	}
	_, err := l.exec(ctx, purgeExcess)
	return classify("delete old excesses of abandonments", err)
}
