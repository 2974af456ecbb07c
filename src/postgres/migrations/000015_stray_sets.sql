-- What leaves Redis of boards.

-- Runs whose sorted sets may be in Redis: few, whatever there was.
CREATE INDEX board_runs_in_redis ON board_runs (tenant_no) WHERE NOT is_cleared;

-- The day (epoch day) on which Redis was last looked through for sets of boards and runs that are no more.
CREATE TABLE stray_sets (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  swept_day integer NOT NULL
);
