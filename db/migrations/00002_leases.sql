-- +goose Up

-- state: LIVE while its lease lasts; ENDED after a clean stop; DEAD when its lease was over, until
-- everything that it held has been recovered; then RECOVERED.
-- An issuer of before has no lease: if it has not ended it counts as one whose lease is over.
ALTER TABLE t_seq_issuer
  ADD COLUMN state VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'LIVE',
  ADD COLUMN lease_ms BIGINT NOT NULL DEFAULT 15000,
  ADD COLUMN lease_until DATETIME(6) NOT NULL DEFAULT '2000-01-01 00:00:00',
  ADD KEY idx_issuer_state (state, lease_until);
UPDATE t_seq_issuer SET state = 'ENDED' WHERE ended_time IS NOT NULL;

-- +goose Down
ALTER TABLE t_seq_issuer DROP KEY idx_issuer_state, DROP COLUMN lease_until, DROP COLUMN lease_ms, DROP COLUMN state;
