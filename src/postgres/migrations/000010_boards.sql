-- What the clock leaves of leaderboards: final standings of runs, daily snapshots; and the scores that boards are
-- filled with from history. Days are epoch days.

-- How far the clock has come with each board that was ever switched on.
CREATE TABLE board_progress (
  tenant_no integer NOT NULL REFERENCES tenants (no),
  board_no integer NOT NULL,
  -- first day of the oldest run that is not final; null: all are
  next_run_day integer,
  -- the first day of which no snapshot is taken
  next_snapshot_day integer NOT NULL,
  PRIMARY KEY (tenant_no, board_no)
);

-- Runs that are over: being copied from Redis, then final.
CREATE TABLE board_runs (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  tenant_no integer NOT NULL,
  board_no integer NOT NULL,
  run_day integer NOT NULL,
  last_day integer NOT NULL,
  -- the moment from which nothing moves it: 12:00 UTC on the day after its last day
  final_at timestamptz NOT NULL,
  is_final boolean NOT NULL DEFAULT false,
  -- its sorted sets have left Redis
  is_cleared boolean NOT NULL DEFAULT false,
  UNIQUE (tenant_no, board_no, run_day)
);
CREATE INDEX board_runs_to_clear ON board_runs (final_at) WHERE is_final AND NOT is_cleared;

CREATE TABLE board_run_groups (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  run_id bigint NOT NULL REFERENCES board_runs (id) ON DELETE CASCADE,
  name text NOT NULL,
  -- members copied so far, best first, and how many of them are on the board (its maximum may cut the others off)
  members integer NOT NULL DEFAULT 0,
  participants integer NOT NULL DEFAULT 0,
  is_done boolean NOT NULL DEFAULT false,
  UNIQUE (run_id, name)
);

CREATE TABLE board_finals (
  group_id bigint NOT NULL,
  -- from 0, best first; equal scores in the order that the live board had
  place integer NOT NULL,
  tenant_no integer NOT NULL,
  user_id text NOT NULL,
  rank integer NOT NULL,
  score double precision NOT NULL,
  PRIMARY KEY (group_id, place)
);
CREATE UNIQUE INDEX board_finals_of_user ON board_finals (tenant_no, user_id, group_id);

-- Daily snapshots of those on a board: one row a day, and their ranks and scores packed in parts by a hash of the
-- user (src/engine/leaderboards/snapshot-parts.ts). A part that is as on the day before is not stored again.
CREATE TABLE board_snapshots (
  tenant_no integer NOT NULL,
  board_no integer NOT NULL,
  run_day integer NOT NULL,
  day integer NOT NULL,
  at timestamptz NOT NULL,
  -- a power of 2
  parts integer NOT NULL,
  PRIMARY KEY (tenant_no, board_no, run_day, day)
);
CREATE TABLE board_snapshot_parts (
  tenant_no integer NOT NULL,
  board_no integer NOT NULL,
  run_day integer NOT NULL,
  parts integer NOT NULL,
  part integer NOT NULL,
  day integer NOT NULL,
  packed bytea NOT NULL,
  PRIMARY KEY (tenant_no, board_no, run_day, parts, part, day)
);

-- Boards to be filled from history: work that an edit of the catalog leaves behind, in the edit's own transaction.
CREATE TABLE board_fills (
  tenant_no integer NOT NULL REFERENCES tenants (no),
  board_no integer NOT NULL,
  board_id uuid NOT NULL,
  status text NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'running', 'done')),
  -- runs from this one on are Redis's, those before it are past; null: all are
  open_run_day integer,
  -- users looked at so far; all with an ID up to `last_user` are
  last_user text NOT NULL DEFAULT '',
  users_done bigint NOT NULL DEFAULT 0,
  users_total bigint,
  scored bigint NOT NULL DEFAULT 0,
  requested timestamptz NOT NULL DEFAULT clock_timestamp(),
  finished timestamptz,
  PRIMARY KEY (tenant_no, board_no)
);
CREATE INDEX board_fills_open ON board_fills (requested) WHERE status <> 'done';

-- Scores of past runs, until all users are looked at and have their ranks.
CREATE TABLE board_past_scores (
  tenant_no integer NOT NULL,
  board_no integer NOT NULL,
  run_day integer NOT NULL,
  user_id text NOT NULL,
  group_name text NOT NULL,
  score double precision NOT NULL,
  PRIMARY KEY (tenant_no, user_id, board_no, run_day)
);
CREATE INDEX board_past_scores_of_board ON board_past_scores (tenant_no, board_no);
