-- +goose Up

-- Which Compensation has taken an overdue number on: the ID of its workflow. Once that has closed, or is lost,
-- the number is anybody's again, whatever taken_until says.
ALTER TABLE t_seq_issue_log ADD COLUMN taken_by VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE t_seq_issue_log DROP COLUMN taken_by;
