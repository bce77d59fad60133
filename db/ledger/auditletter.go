package ledger

// letterPage is how many open letters one statement of an audit looks at.
const letterPage = 10_000

// Every open letter belongs to a number that is DEAD in that life, and each such number has one.
const (
	queryLetterPage     = `SELECT COALESCE(MAX(id), 0) FROM (SELECT id FROM t_seq_issue_dead FORCE INDEX (idx_dead_open) WHERE resolution = '' AND id > ? ORDER BY id LIMIT ?) d`
	querySurplusLetters = `SELECT d.biz_type, d.period, d.value, d.seq_no FROM t_seq_issue_dead d FORCE INDEX (idx_dead_open)
		WHERE d.resolution = '' AND d.id > ? AND d.id <= ? AND (
			NOT EXISTS (SELECT 1 FROM t_seq_issue_log n WHERE n.biz_type = d.biz_type AND n.seq_no = d.seq_no AND n.life = d.life AND n.status = 6)
			OR EXISTS (SELECT 1 FROM t_seq_issue_dead e FORCE INDEX (idx_dead_number)
				WHERE e.biz_type = d.biz_type AND e.seq_no = d.seq_no AND e.resolution = '' AND e.id < d.id))
		ORDER BY d.id`
)

// letters finds the open dead letters that no dead number stands behind.
func (a *auditor) letters() error {
	type letter struct {
		scope scope
		value int64
		seqNo string
	}
	for after := int64(0); ; {
		var last int64
		if err := a.conn.QueryRowContext(a.ctx, queryLetterPage, after, letterPage).Scan(&last); err != nil || last == 0 {
			return err
		}
		surplus, err := query(a, func(row row) (l letter, err error) {
			err = row.Scan(&l.scope.bizType, &l.scope.period, &l.value, &l.seqNo)
			return l, err
		}, querySurplusLetters, after, last)
		if err != nil {
			return err
		}
		for _, l := range surplus {
			if a.filter.means(l.scope, l.value) {
				a.find(FindingSurplusLetter, l.scope, l.value, l.value, "an open dead letter, and the number is not DEAD in its life or has an earlier one: resolve it in t_seq_issue_dead")
			}
		}
		after = last
	}
}
