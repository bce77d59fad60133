-- +goose Up

-- By how many numbers the ledger was found behind what is known of the biz type, 1 at least; 0 where it is not.
-- Until `lacuna ledger raise` sets it to 0 again nothing of the biz type is issued or brought back.
ALTER TABLE t_seq_biz_type ADD COLUMN stepped_back BIGINT NOT NULL DEFAULT 0;

-- The number was open when the ledger was found to have stepped back: a life above this one may have been handed out.
ALTER TABLE t_seq_issue_log ADD COLUMN life_unsure BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE t_seq_archive   ADD COLUMN life_unsure BOOLEAN NOT NULL DEFAULT FALSE;

-- Rises all the time while any process runs. A ledger with a lower one than was seen before has stepped back, also
-- where no cursor shows it. One row.
CREATE TABLE t_seq_tide (
  id      TINYINT NOT NULL,
  height  BIGINT  NOT NULL,
  PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;
INSERT INTO t_seq_tide (id, height) VALUES (1, 1);

-- When a biz type was found to have stepped back, and by what. Append-only.
CREATE TABLE t_seq_step_back (
  id            BIGINT       NOT NULL AUTO_INCREMENT,
  biz_type      VARCHAR(32)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  behind        BIGINT       NOT NULL,
  reason        VARCHAR(255) NOT NULL,
  found_time    DATETIME(6)  NOT NULL,
  alerted_time  DATETIME(6)  NULL,
  PRIMARY KEY (id),
  KEY idx_step_back_alerted (alerted_time, biz_type, id),
  KEY idx_step_back_found (biz_type, found_time)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- The values for which a cursor was raised after a step back, declared with who did it and why. Append-only.
CREATE TABLE t_seq_raise (
  id             BIGINT       NOT NULL AUTO_INCREMENT,
  biz_type       VARCHAR(32)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  period         VARCHAR(8)   CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  lo             BIGINT       NOT NULL,
  hi             BIGINT       NOT NULL,
  actor          VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  reason         VARCHAR(255) NOT NULL,
  begun_time     DATETIME(6)  NOT NULL,
  finished_time  DATETIME(6)  NULL,
  PRIMARY KEY (id),
  KEY idx_raise_open (biz_type, finished_time)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- +goose Down
DROP TABLE t_seq_raise;
DROP TABLE t_seq_step_back;
DROP TABLE t_seq_tide;
ALTER TABLE t_seq_archive DROP COLUMN life_unsure;
ALTER TABLE t_seq_issue_log DROP COLUMN life_unsure;
ALTER TABLE t_seq_biz_type DROP COLUMN stepped_back;
