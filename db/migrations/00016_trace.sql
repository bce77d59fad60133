-- +goose Up

-- The trace that the present life is of: the W3C traceparent of the call that the number was handed out by, so that
-- whoever works for the number goes on with it, however much later. NULL where that call was not traced.
ALTER TABLE t_seq_issue_log ADD COLUMN trace VARCHAR(55) CHARACTER SET ascii COLLATE ascii_bin NULL;
ALTER TABLE t_seq_archive ADD COLUMN trace VARCHAR(55) CHARACTER SET ascii COLLATE ascii_bin NULL;

-- +goose Down
ALTER TABLE t_seq_archive DROP COLUMN trace;
ALTER TABLE t_seq_issue_log DROP COLUMN trace;
