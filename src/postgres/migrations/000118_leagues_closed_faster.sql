-- A closing of 1,000,000 users writes 370,000 changes of tiers; each paid for two indexes that it can do without.
SET LOCAL lock_timeout = '5s';

-- Its condition made each change of a tier a new row version in every index. The users above the lowest tier are read by the primary key.
DROP INDEX league_tiers_above;
ALTER TABLE league_tiers SET (fillfactor = 80);

-- Changes are looked up by user; those that must be reported have an index of their own.
ALTER TABLE league_moves DROP CONSTRAINT league_moves_pkey;
ALTER TABLE league_moves ADD CONSTRAINT league_moves_pkey PRIMARY KEY USING INDEX league_moves_of_user;
