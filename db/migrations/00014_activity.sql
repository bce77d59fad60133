-- +goose Up

-- What happened in each minute, for screens. Processes add what they counted in memory; no number depends on it.
CREATE TABLE t_seq_activity (
  biz_type     VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  -- When the minute began.
  minute_time  DATETIME    NOT NULL,
  issued       BIGINT      NOT NULL,
  confirmed    BIGINT      NOT NULL,
  abandoned    BIGINT      NOT NULL,
  PRIMARY KEY (biz_type, minute_time),
  KEY idx_activity_minute (minute_time)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- How many numbers stood in each state when they were counted last: sealed blocks by their seals, the others by their rows.
CREATE TABLE t_seq_stock (
  biz_type  VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  status    TINYINT     NOT NULL,
  count     BIGINT      NOT NULL,
  PRIMARY KEY (biz_type, status)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- When that was, when it may be done again, and until when somebody does it. One row.
CREATE TABLE t_seq_stock_count (
  id            TINYINT     NOT NULL,
  counted_time  DATETIME(6) NULL,
  next_time     DATETIME(6) NOT NULL,
  taken_until   DATETIME(6) NOT NULL,
  PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

INSERT INTO t_seq_stock_count (id, next_time, taken_until) VALUES (1, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6));

-- +goose Down
DROP TABLE t_seq_stock_count;
DROP TABLE t_seq_stock;
DROP TABLE t_seq_activity;
