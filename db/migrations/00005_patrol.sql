-- +goose Up

-- When no process could renew its lease. Deadlines that ended in between are moved once, and until they
-- are, nothing that waits for a deadline acts.
CREATE TABLE t_seq_outage (
  id            BIGINT      NOT NULL AUTO_INCREMENT,
  from_time     DATETIME(6) NOT NULL,
  to_time       DATETIME(6) NOT NULL,
  shifted_time  DATETIME(6) NULL,
  PRIMARY KEY (id),
  UNIQUE KEY uk_outage_from (from_time),
  KEY idx_outage_shifted (shifted_time)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- What else keeps all deadlines from being acted on, for a while. CLOCKS: the ledger's clock and Temporal's differ.
CREATE TABLE t_seq_hold (
  name        VARCHAR(16)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  reason      VARCHAR(255) NOT NULL,
  hold_until  DATETIME(6)  NOT NULL,
  PRIMARY KEY (name)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

ALTER TABLE t_seq_biz_type
  -- EVERY, UNSETTLED or NONE.
  ADD COLUMN track          VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'EVERY' AFTER direct_signals,
  ADD COLUMN track_after_ms BIGINT      NOT NULL DEFAULT 5000 AFTER track;

-- +goose Down
ALTER TABLE t_seq_biz_type DROP COLUMN track_after_ms, DROP COLUMN track;
DROP TABLE t_seq_hold;
DROP TABLE t_seq_outage;
