-- +goose Up

-- When the patrol last finished a round in which no step failed. One row.
CREATE TABLE t_seq_patrol (
  id             TINYINT     NOT NULL,
  finished_time  DATETIME(6) NOT NULL,
  PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARSET = utf8mb4;

-- +goose Down
DROP TABLE t_seq_patrol;
