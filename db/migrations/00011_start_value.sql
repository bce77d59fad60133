-- +goose Up

-- The first value of the period, as the rules had it when it began: an audit after the start was changed begins
-- there. NULL is the start of now.
ALTER TABLE t_seq_cursor ADD COLUMN start_value BIGINT NULL;

-- +goose Down
ALTER TABLE t_seq_cursor DROP COLUMN start_value;
