-- Rewards for ranks in final runs of leaderboards. docs/decisions/0046-rank-rewards.md has the order of writes.

-- Runs that became final while something rewarded their ranks, and how far they are paid.
CREATE TABLE run_rewards (
  run_id bigint PRIMARY KEY REFERENCES board_runs (id) ON DELETE CASCADE,
  -- the triggers and achievements that were active at that time, with their ranks
  rules jsonb NOT NULL,
  -- everyone before this place of this group has the reward
  group_id bigint NOT NULL DEFAULT 0,
  place integer NOT NULL DEFAULT 0,
  is_done boolean NOT NULL DEFAULT false
);
CREATE INDEX run_rewards_open ON run_rewards (run_id) WHERE NOT is_done;

-- Rules that reward ranks, by the leaderboard.
SET LOCAL lock_timeout = '5s';
CREATE INDEX catalog_resources_of_ranks ON catalog_resources (tenant_no, (doc ->> 'leaderboardId'))
  WHERE doc ->> 'leaderboardId' IS NOT NULL AND deleted IS NULL;

-- What users got.
CREATE TABLE rank_rewards (
  tenant_no integer NOT NULL,
  user_id text NOT NULL,
  board_no integer NOT NULL,
  run_day integer NOT NULL,
  rank integer NOT NULL,
  -- points by number of the points system
  points jsonb NOT NULL,
  -- numbers of the achievements completed
  achievements integer[] NOT NULL,
  PRIMARY KEY (tenant_no, user_id, board_no, run_day)
);
