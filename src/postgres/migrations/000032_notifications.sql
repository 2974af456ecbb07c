-- Notifications that go out at once and then at most once in 15 minutes, and those that fall due by the clock.

-- A message opens a window of 15 minutes for its user and points system, its user and board, or its board (run and group).
-- What changes meanwhile waits here for the window's end.
CREATE TABLE notification_windows (
  tenant_no integer NOT NULL,
  -- '': about no single user
  user_id text NOT NULL,
  -- of the points system or board; of leaderboard.changed a digest of board, run and group
  subject uuid NOT NULL,
  type text NOT NULL,
  -- the window's end, epoch ms
  until_ms bigint NOT NULL,
  -- the latest change that is not reported; null: all is
  source text,
  at_ms bigint,
  about text,
  payload text,
  -- of points: what was added since the last message, the awards (JSON, a line each), the level if it changed (JSON)
  added bigint,
  awards text,
  level text,
  -- of ranks: what was reported last
  rank integer,
  value double precision,
  PRIMARY KEY (tenant_no, user_id, subject)
) WITH (fillfactor = 70);
CREATE INDEX notification_windows_by_end ON notification_windows (until_ms);

-- Runs and groups of boards whose places are reported.
CREATE TABLE notification_boards (
  id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
  tenant_no integer NOT NULL,
  board_no integer NOT NULL,
  run_day integer NOT NULL,
  group_name text NOT NULL,
  -- when its places are compared with those that are known, epoch ms; null: no score has moved since they were
  compare_ms bigint
);
CREATE UNIQUE INDEX notification_boards_of_run
  ON notification_boards (tenant_no, board_no, run_day, text_digest(group_name));
CREATE INDEX notification_boards_to_compare ON notification_boards (compare_ms) WHERE compare_ms IS NOT NULL;

-- The places as they were compared last.
CREATE TABLE notification_places (
  board_id bigint NOT NULL REFERENCES notification_boards (id) ON DELETE CASCADE,
  tenant_no integer NOT NULL,
  user_id text NOT NULL,
  rank integer NOT NULL,
  value double precision NOT NULL,
  PRIMARY KEY (tenant_no, user_id, board_id)
);
CREATE INDEX notification_places_of_board ON notification_places (board_id);

-- How far a tenant's notifications of a kind that the clock makes are made; a kind that nobody wants has no row.
CREATE TABLE notification_progress (
  tenant_no integer NOT NULL,
  kind text NOT NULL,
  -- of kinds that go by local times; '' is UTC
  zone text NOT NULL DEFAULT '',
  -- all up to then are made, epoch ms
  done_ms bigint NOT NULL,
  -- of those that fall due next: users with an ID up to this one have theirs
  last_user text NOT NULL DEFAULT '',
  PRIMARY KEY (tenant_no, kind, zone)
);

-- Completions of which an e-mail falls due.
CREATE TABLE notification_completions (
  tenant_no integer NOT NULL,
  user_id text NOT NULL,
  achievement_no integer NOT NULL,
  due_ms bigint NOT NULL,
  PRIMARY KEY (tenant_no, user_id, achievement_no)
);
CREATE INDEX notification_completions_by_time ON notification_completions (due_ms);

-- For what a user's last e-mail of a kind was due: nobody gets two for the same, whatever becomes of the time zone.
CREATE TABLE notification_emails (
  tenant_no integer NOT NULL,
  user_id text NOT NULL,
  kind text NOT NULL,
  due_for text NOT NULL,
  PRIMARY KEY (tenant_no, user_id, kind)
);

-- Users whose zone changed: a time of day that is over in the new zone may not have come in the old one. A trigger, since
-- nobody else sees both: it costs only where the zone is among what is written, and a row only where it changes.
CREATE TABLE notification_moves (
  tenant_no integer NOT NULL,
  user_id text NOT NULL,
  PRIMARY KEY (tenant_no, user_id)
);
CREATE FUNCTION note_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO notification_moves (tenant_no, user_id) VALUES (NEW.tenant_no, NEW.id) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER users_moved AFTER UPDATE OF zone ON users FOR EACH ROW
  WHEN (OLD.zone <> NEW.zone) EXECUTE FUNCTION note_move();

-- Whose webhooks there are.
CREATE INDEX catalog_webhooks ON catalog_resources (tenant_no) WHERE kind = 'webhook' AND deleted IS NULL;
