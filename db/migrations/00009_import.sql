-- +goose Up

-- What was taken over from another system. Its rows of t_seq_issue_log carry its batch_id, which is made of the
-- biz type and the source, so that the same import finds what it left.
CREATE TABLE t_seq_import (
  batch_id       VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  biz_type       VARCHAR(32)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  -- The file or the table, as the operator named it.
  source         VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  -- What becomes of the values that the source does not name: REFUSE, POOL or DECLARE.
  holes          VARCHAR(16)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  -- RUNNING until every value up to the cursors that it raised is accounted for; then DONE.
  state          VARCHAR(16)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  -- The process that writes; another one that goes on with the import takes its place.
  runner         VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  -- How many numbers the source names, and how many of them stand in the ledger.
  numbers        BIGINT       NOT NULL,
  position       BIGINT       NOT NULL,
  -- How many values have been pooled or declared because the source does not name them.
  holes_closed   BIGINT       NOT NULL DEFAULT 0,
  started_time   DATETIME(6)  NOT NULL,
  changed_time   DATETIME(6)  NOT NULL,
  finished_time  DATETIME(6)  NULL,
  PRIMARY KEY (batch_id),
  KEY idx_import_biz_type (biz_type, state)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- The values for which an import raised a cursor, from the one after it to the highest that the source named then.
-- While the import is RUNNING some of them have no row.
CREATE TABLE t_seq_import_range (
  batch_id  VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  period    VARCHAR(8)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  lo        BIGINT      NOT NULL,
  hi        BIGINT      NOT NULL,
  PRIMARY KEY (batch_id, period, lo)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- +goose Down
DROP TABLE t_seq_import_range;
DROP TABLE t_seq_import;
