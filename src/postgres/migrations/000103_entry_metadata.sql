-- What the event of a final entry sent for it, as JSON; only on leaderboards with keepsMetadata.
ALTER TABLE board_finals ADD COLUMN metadata text;
