-- A zone goes by its name as the time zone database spells it. It had a row for every spelling that was sent
-- ("europe/berlin"), and each is looked at on every midnight: 2,012 spellings made one of 0.8 s last 53 s.
UPDATE users SET zone = name FROM pg_timezone_names WHERE lower(zone) = lower(name) AND zone <> name;

-- What was swept in all spellings of a zone is swept.
WITH misspelt AS (
  DELETE FROM streak_zones USING pg_timezone_names WHERE lower(zone) = lower(name) AND zone <> name
  RETURNING tenant_no, name, swept_day
)
INSERT INTO streak_zones (tenant_no, zone, swept_day)
SELECT tenant_no, name, min(swept_day) FROM misspelt GROUP BY tenant_no, name
ON CONFLICT (tenant_no, zone) DO UPDATE
  SET swept_day = least(streak_zones.swept_day, EXCLUDED.swept_day), last_user = '';
