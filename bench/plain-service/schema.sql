-- The same work as Laurel's event, built by an experienced Postgres user: everything in Postgres, one prepared function
-- call per request, which is one transaction. Optimised for speed: every lookup has an index, every statement handles a
-- set, PL/pgSQL caches the plans, and ranks use stored counts of members by score.

CREATE TABLE metrics (no integer PRIMARY KEY, key text NOT NULL UNIQUE);
CREATE TABLE achievements (
  no integer PRIMARY KEY, trigger text NOT NULL, metric integer, threshold numeric, streak integer,
  prerequisites integer[], user_conditions jsonb NOT NULL, event_conditions jsonb NOT NULL
);
CREATE TABLE triggers (
  no integer PRIMARY KEY, type text NOT NULL, metric integer, threshold numeric, streak integer,
  achievement integer, points integer NOT NULL, user_conditions jsonb NOT NULL, event_conditions jsonb NOT NULL
);
CREATE TABLE boosts (first_day date NOT NULL, last_day date, multiplier numeric NOT NULL);
CREATE TABLE boards (
  no integer PRIMARY KEY, rank_by text NOT NULL, metric integer, first_day date NOT NULL, interval_days integer,
  breakdown text
);

CREATE TABLE users (
  id text PRIMARY KEY, tz text NOT NULL DEFAULT 'UTC', attributes jsonb NOT NULL DEFAULT '{}',
  streak integer NOT NULL DEFAULT 0, streak_day date, points integer NOT NULL DEFAULT 0
) WITH (fillfactor = 70);
CREATE TABLE totals (
  user_id text, metric integer, total numeric NOT NULL, peak numeric NOT NULL, PRIMARY KEY (user_id, metric)
) WITH (fillfactor = 70);
-- of events that match a rule's conditions
CREATE TABLE counts (
  user_id text, rule integer, total numeric NOT NULL, peak numeric NOT NULL, PRIMARY KEY (user_id, rule)
) WITH (fillfactor = 70);
CREATE TABLE completions (user_id text, achievement integer, at timestamptz NOT NULL, PRIMARY KEY (user_id, achievement));
CREATE TABLE scores (
  board integer, run date, grp text, user_id text, score numeric NOT NULL, PRIMARY KEY (board, run, grp, user_id)
);
CREATE INDEX scores_by_rank ON scores (board, run, grp, score, user_id);
-- The number of a leaderboard's members by the whole part of their score. A rank is the sum over the larger whole parts,
-- plus a count of those with the same whole part.
CREATE TABLE standings (
  board integer, run date, grp text, whole bigint, members bigint NOT NULL, PRIMARY KEY (board, run, grp, whole)
) WITH (fillfactor = 50);
CREATE TABLE events (
  id uuid PRIMARY KEY, user_id text NOT NULL, metric integer NOT NULL, value numeric NOT NULL, total numeric NOT NULL,
  at timestamptz NOT NULL, attributes jsonb, idempotency_key text
);
CREATE UNIQUE INDEX events_by_key ON events (user_id, metric, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX events_of_user ON events (user_id, metric, at);
CREATE TABLE awards (
  event_id uuid, trigger integer, user_id text NOT NULL, awarded integer NOT NULL, total integer NOT NULL,
  at timestamptz NOT NULL, PRIMARY KEY (event_id, trigger)
);
CREATE INDEX awards_of_user ON awards (user_id, at);

-- The previous and new rank of a user whose new score is stored; null without a rank. Standings still have the old score.
CREATE FUNCTION ranks_of(
  p_board integer, p_run date, p_group text, p_user text, p_old numeric, p_new numeric, OUT old_rank bigint, OUT new_rank bigint
) LANGUAGE plpgsql AS $$
BEGIN
  SELECT 1 + coalesce(sum(members) FILTER (WHERE whole > floor(p_new)), 0)
           - CASE WHEN floor(p_old) > floor(p_new) THEN 1 ELSE 0 END,
         1 + coalesce(sum(members) FILTER (WHERE whole > floor(p_old)), 0)
    INTO new_rank, old_rank
    FROM standings WHERE board = p_board AND run = p_run AND grp = p_group
     AND whole > floor(least(p_old, p_new));
  new_rank := new_rank + (
    SELECT count(*) FROM scores WHERE board = p_board AND run = p_run AND grp = p_group
       AND score > p_new AND score < floor(p_new) + 1 AND user_id <> p_user);
  old_rank := CASE WHEN p_old IS NOT NULL THEN old_rank + (
    SELECT count(*) FROM scores WHERE board = p_board AND run = p_run AND grp = p_group
       AND score > p_old AND score < floor(p_old) + 1 AND user_id <> p_user) END;
END $$;

-- Moves members in the order of the rows, so that transactions do not deadlock.
CREATE FUNCTION move_standings(p_moves standings[]) RETURNS void LANGUAGE sql AS $$
  INSERT INTO standings AS s
  SELECT board, run, grp, whole, sum(members) FROM unnest(p_moves) GROUP BY board, run, grp, whole HAVING sum(members) <> 0
  ORDER BY board, run, grp, whole
  ON CONFLICT (board, run, grp, whole) DO UPDATE SET members = s.members + EXCLUDED.members
$$;

-- With `p_ranks`, returns the user's rank on every leaderboard before and after, like Laurel's answer. A batch has no ranks;
-- it collects the moves in `moved` and applies each once.
CREATE FUNCTION record_event(
  p_id uuid, p_user text, p_tz text, p_user_attributes jsonb, p_metric integer, p_value numeric,
  p_event_attributes jsonb, p_key text, p_at timestamptz, p_ranks boolean, p_batched boolean DEFAULT false
) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  the_user users; is_new boolean; today date; old_event uuid;
  the_total numeric; old_peak numeric; new_peak numeric;
  -- rule → highest count before and after this event
  counted jsonb := '{}';
  extended boolean := false;
  completed integer[] := '{}'; composites integer[];
  award record; awarded integer; awards_made jsonb := '[]'; points_before integer; boost numeric;
  the_board record; the_run date; the_group text; old_score numeric; new_score numeric; change numeric;
  old_rank bigint; new_rank bigint; boards_moved jsonb := '[]'; moves standings[] := '{}';
BEGIN
  INSERT INTO users AS u (id, tz, attributes) VALUES (p_user, coalesce(p_tz, 'UTC'), p_user_attributes)
  ON CONFLICT (id) DO UPDATE SET tz = coalesce(p_tz, u.tz), attributes = u.attributes || p_user_attributes
  RETURNING * INTO the_user;
  -- The row is locked from here on: events of one user are applied in sequence.
  is_new := the_user.streak_day IS NULL AND the_user.points = 0;
  today := (p_at AT TIME ZONE the_user.tz)::date;

  IF p_key IS NOT NULL THEN
    SELECT id INTO old_event FROM events WHERE user_id = p_user AND metric = p_metric AND idempotency_key = p_key;
    IF old_event IS NOT NULL THEN
      SELECT total INTO the_total FROM totals WHERE user_id = p_user AND metric = p_metric;
      RETURN jsonb_build_object('eventId', old_event, 'total', the_total, 'idempotentReplayed', true);
    END IF;
  END IF;

  SELECT peak INTO old_peak FROM totals WHERE user_id = p_user AND metric = p_metric;
  INSERT INTO totals AS t (user_id, metric, total, peak) VALUES (p_user, p_metric, p_value, greatest(p_value, 0))
  ON CONFLICT (user_id, metric) DO UPDATE SET total = t.total + p_value, peak = greatest(t.peak, t.total + p_value)
  RETURNING total, peak INTO the_total, new_peak;
  old_peak := coalesce(old_peak, 0);

  IF p_event_attributes IS NOT NULL THEN
    WITH rules AS (
      SELECT no FROM achievements WHERE metric = p_metric AND event_conditions <> '{}' AND p_event_attributes @> event_conditions
      UNION ALL
      SELECT no FROM triggers WHERE metric = p_metric AND event_conditions <> '{}' AND p_event_attributes @> event_conditions
    ), old AS (
      SELECT rules.no, coalesce(c.peak, 0) AS peak FROM rules LEFT JOIN counts c ON c.user_id = p_user AND c.rule = rules.no
    ), moved AS (
      INSERT INTO counts AS c (user_id, rule, total, peak) SELECT p_user, no, p_value, greatest(p_value, 0) FROM rules
      ON CONFLICT (user_id, rule) DO UPDATE SET total = c.total + p_value, peak = greatest(c.peak, c.total + p_value)
      RETURNING rule, peak
    )
    SELECT coalesce(jsonb_object_agg(old.no, jsonb_build_array(old.peak, moved.peak)), '{}') INTO counted
    FROM old JOIN moved ON moved.rule = old.no;
  END IF;

  IF p_value > 0 AND the_user.streak_day IS DISTINCT FROM today THEN
    extended := true;
    the_user.streak := CASE WHEN the_user.streak_day = today - 1 THEN the_user.streak + 1 ELSE 1 END;
    the_user.streak_day := today;
  END IF;

  INSERT INTO completions (user_id, achievement, at)
  SELECT p_user, a.no, p_at FROM achievements a
  WHERE the_user.attributes @> a.user_conditions
    AND (a.trigger = 'streak' AND the_user.streak >= a.streak
      OR a.trigger = 'metric' AND a.metric = p_metric AND (
        a.event_conditions = '{}' AND the_total >= a.threshold
        OR a.event_conditions <> '{}' AND (counted -> a.no::text ->> 1)::numeric >= a.threshold))
    AND NOT EXISTS (SELECT FROM completions c WHERE c.user_id = p_user AND c.achievement = a.no)
  ON CONFLICT DO NOTHING;
  IF FOUND THEN
    LOOP
      WITH more AS (
        INSERT INTO completions (user_id, achievement, at)
        SELECT p_user, a.no, p_at FROM achievements a
        WHERE a.trigger = 'achievement' AND the_user.attributes @> a.user_conditions
          AND a.prerequisites <@ ARRAY(SELECT achievement FROM completions WHERE user_id = p_user)
          AND NOT EXISTS (SELECT FROM completions c WHERE c.user_id = p_user AND c.achievement = a.no)
        RETURNING achievement
      ) SELECT array_agg(achievement) INTO composites FROM more;
      EXIT WHEN composites IS NULL;
    END LOOP;
    SELECT array_agg(achievement) INTO completed FROM completions WHERE user_id = p_user AND at = p_at;
  END IF;

  points_before := the_user.points;
  SELECT coalesce(exp(sum(ln(multiplier))), 1) INTO boost FROM boosts
  WHERE today >= first_day AND (last_day IS NULL OR today <= last_day);
  FOR award IN
    SELECT t.no, CASE t.type
        WHEN 'metric' THEN t.points * CASE WHEN t.event_conditions = '{}'
          THEN floor(new_peak / t.threshold) - floor(old_peak / t.threshold)
          ELSE coalesce(floor((counted -> t.no::text ->> 1)::numeric / t.threshold)
            - floor((counted -> t.no::text ->> 0)::numeric / t.threshold), 0) END
        WHEN 'streak' THEN CASE WHEN extended AND the_user.streak % t.streak = 0 THEN t.points ELSE 0 END
        WHEN 'achievement' THEN CASE WHEN t.achievement = ANY (completed) THEN t.points ELSE 0 END
        WHEN 'user_creation' THEN CASE WHEN is_new THEN t.points ELSE 0 END
      END AS points
    FROM triggers t
    WHERE (t.metric IS NULL OR t.metric = p_metric) AND the_user.attributes @> t.user_conditions
    ORDER BY t.no
  LOOP
    CONTINUE WHEN award.points = 0;
    awarded := greatest(floor(award.points * boost), -the_user.points);
    the_user.points := the_user.points + awarded;
    INSERT INTO awards VALUES (p_id, award.no, p_user, awarded, the_user.points, p_at);
    awards_made := awards_made || jsonb_build_object('trigger', award.no, 'awarded', awarded);
  END LOOP;
  IF extended OR the_user.points <> points_before THEN
    UPDATE users SET streak = the_user.streak, streak_day = the_user.streak_day, points = the_user.points WHERE id = p_user;
  END IF;

  FOR the_board IN SELECT * FROM boards WHERE rank_by = 'points' OR metric = p_metric LOOP
    change := CASE WHEN the_board.rank_by = 'points' THEN the_user.points - points_before ELSE p_value END;
    CONTINUE WHEN change = 0;
    the_group := CASE WHEN the_board.breakdown IS NULL THEN '' ELSE the_user.attributes ->> the_board.breakdown END;
    CONTINUE WHEN the_group IS NULL;
    the_run := CASE WHEN the_board.interval_days IS NULL THEN the_board.first_day
      ELSE today - (today - the_board.first_day) % the_board.interval_days END;
    INSERT INTO scores AS s VALUES (the_board.no, the_run, the_group, p_user, change)
    ON CONFLICT (board, run, grp, user_id) DO UPDATE SET score = s.score + change
    RETURNING score, CASE WHEN xmax = 0 THEN NULL ELSE score - change END INTO new_score, old_score;
    IF p_ranks THEN
      SELECT r.old_rank, r.new_rank INTO old_rank, new_rank
        FROM ranks_of(the_board.no, the_run, the_group, p_user, old_score, new_score) r;
    END IF;
    IF (p_ranks OR p_batched) AND floor(old_score) IS DISTINCT FROM floor(new_score) THEN
      moves := moves || ROW(the_board.no, the_run, the_group, floor(new_score), 1)::standings;
      IF old_score IS NOT NULL THEN moves := moves || ROW(the_board.no, the_run, the_group, floor(old_score), -1)::standings; END IF;
    END IF;
    boards_moved := boards_moved
      || jsonb_build_object('board', the_board.no, 'score', new_score, 'previousRank', old_rank, 'rank', new_rank);
  END LOOP;

  INSERT INTO events VALUES (p_id, p_user, p_metric, p_value, the_total, p_at, p_event_attributes, p_key);
  -- Last, since others wait for these rows until the transaction ends.
  IF cardinality(moves) > 0 THEN
    IF p_batched THEN
      INSERT INTO moved SELECT * FROM unnest(moves);
    ELSE
      PERFORM move_standings(moves);
    END IF;
  END IF;
  RETURN jsonb_build_object('eventId', p_id, 'metric', p_metric, 'total', the_total, 'achievements', completed,
    'streak', jsonb_build_object('length', the_user.streak, 'extended', extended),
    'points', jsonb_build_object('total', the_user.points, 'awards', awards_made), 'leaderboards', boards_moved);
END $$;

-- The copied events of a batch, and its moves. Temporary: each connection has its own.
CREATE FUNCTION make_temporary_tables() RETURNS void LANGUAGE sql SET client_min_messages = warning AS $$
  CREATE TEMPORARY TABLE IF NOT EXISTS staged (
    n integer, id uuid, user_id text, tz text, user_attributes jsonb, metric integer, value numeric, attributes jsonb, key text
  ) ON COMMIT DELETE ROWS;
  CREATE TEMPORARY TABLE IF NOT EXISTS moved (LIKE standings) ON COMMIT DELETE ROWS
$$;

-- The staged events, user by user, each user's in order: this also makes batches lock users in one order.
CREATE FUNCTION record_staged(p_at timestamptz) RETURNS SETOF jsonb LANGUAGE plpgsql AS $$
BEGIN
  RETURN QUERY SELECT record_event(id, user_id, tz, user_attributes, metric, value, attributes, key, p_at, false, true)
    FROM (SELECT * FROM staged ORDER BY user_id COLLATE "C", n) AS ordered;
  PERFORM move_standings(ARRAY(SELECT ROW(board, run, grp, whole, members)::standings FROM moved));
END $$;
