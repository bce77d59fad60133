-- +goose Up

-- How long confirms and abandonments took, a row for each day, kind and bucket of package sequence.
-- Processes add what they counted in memory; it is advice, and no number depends on it.
CREATE TABLE t_seq_delay (
  biz_type    VARCHAR(32)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  -- The database's, in UTC.
  day         DATE         NOT NULL,
  -- CONFIRMED, LATE or ABANDONED.
  kind        VARCHAR(16)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  bucket      SMALLINT     NOT NULL,
  count       BIGINT       NOT NULL,
  -- When the row was made.
  first_time  DATETIME(6)  NOT NULL,
  PRIMARY KEY (biz_type, day, kind, bucket),
  KEY idx_delay_day (day)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- The conflicts of some days, for the same advice.
ALTER TABLE t_seq_conflict ADD KEY idx_conflict_time (biz_type, detected_time);

-- +goose Down
ALTER TABLE t_seq_conflict DROP KEY idx_conflict_time;
DROP TABLE t_seq_delay;
