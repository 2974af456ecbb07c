-- The same work as Laurel's event, as one would first think of building it: everything in Postgres, one function
-- call a request, which is one transaction. Written to be fast: every look-up has its index, every statement takes
-- a set, the plans are cached by PL/pgSQL, and nothing is counted that the answer does not need.

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
-- of events that meet a rule's conditions
CREATE TABLE counts (
  user_id text, rule integer, total numeric NOT NULL, peak numeric NOT NULL, PRIMARY KEY (user_id, rule)
) WITH (fillfactor = 70);
CREATE TABLE completions (user_id text, achievement integer, at timestamptz NOT NULL, PRIMARY KEY (user_id, achievement));
CREATE TABLE scores (
  board integer, run date, grp text, user_id text, score numeric NOT NULL, PRIMARY KEY (board, run, grp, user_id)
);
CREATE INDEX scores_by_rank ON scores (board, run, grp, score);
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

-- With `p_ranks`, the user's rank on every board before and after, as Laurel's answer has it.
CREATE FUNCTION record_event(
  p_id uuid, p_user text, p_tz text, p_user_attributes jsonb, p_metric integer, p_value numeric,
  p_event_attributes jsonb, p_key text, p_at timestamptz, p_ranks boolean
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
  old_rank bigint; new_rank bigint; boards_moved jsonb := '[]';
BEGIN
  INSERT INTO users AS u (id, tz, attributes) VALUES (p_user, coalesce(p_tz, 'UTC'), p_user_attributes)
  ON CONFLICT (id) DO UPDATE SET tz = coalesce(p_tz, u.tz), attributes = u.attributes || p_user_attributes
  RETURNING * INTO the_user;
  -- The row is locked from here on: events of one user follow one another.
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
    RETURNING score INTO new_score;
    IF p_ranks THEN
      old_score := new_score - change;
      old_rank := NULL;
      SELECT 1 + count(*) INTO new_rank FROM scores
      WHERE scores.board = the_board.no AND run = the_run AND grp = the_group AND score > new_score;
      IF old_score > 0 THEN
        SELECT new_rank + count(*) INTO old_rank FROM scores
        WHERE scores.board = the_board.no AND run = the_run AND grp = the_group AND score > old_score AND score <= new_score
          AND user_id <> p_user;
      END IF;
    END IF;
    boards_moved := boards_moved
      || jsonb_build_object('board', the_board.no, 'score', new_score, 'previousRank', old_rank, 'rank', new_rank);
  END LOOP;

  INSERT INTO events VALUES (p_id, p_user, p_metric, p_value, the_total, p_at, p_event_attributes, p_key);
  RETURN jsonb_build_object('eventId', p_id, 'metric', p_metric, 'total', the_total, 'achievements', completed,
    'streak', jsonb_build_object('length', the_user.streak, 'extended', extended),
    'points', jsonb_build_object('total', the_user.points, 'awards', awards_made), 'leaderboards', boards_moved);
END $$;
