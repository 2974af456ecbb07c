-- The rank number of the secondary score (src/domain/secondary-score.ts), which decides between equal scores; 0 if the user has none.
-- Null on leaderboards without one.
SET LOCAL lock_timeout = '5s';
ALTER TABLE board_finals ADD COLUMN secondary bigint;
ALTER TABLE board_past_scores ADD COLUMN secondary bigint;
