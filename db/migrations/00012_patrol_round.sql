-- +goose Up

-- When the patrol last finished a round in which no step failed. One row.
CREATE TABLE t_seq_patrol (
  id             TINYINT     NOT NULL,
  finished_time  DATETIME(6) NOT NULL,
  PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- Before the first round its age is that of the table.
INSERT INTO t_seq_patrol (id, finished_time) VALUES (1, UTC_TIMESTAMP(6));

-- +goose Down
DROP TABLE t_seq_patrol;
