-- The organisation's settings as the contract shapes them. `branding` holds only what was set.
ALTER TABLE organisation
  ADD COLUMN branding jsonb NOT NULL DEFAULT '{}',
  -- days
  ADD COLUMN user_activation_window integer NOT NULL DEFAULT 7 CHECK (user_activation_window BETWEEN 3 AND 30),
  -- of the recaps
  ADD COLUMN aggregation_period text NOT NULL DEFAULT 'weekly' CHECK (aggregation_period IN ('weekly', 'monthly')),
  -- whether values of boards are rounded down to whole numbers: never, always, or for clients that need it
  ADD COLUMN board_values text NOT NULL DEFAULT 'byClient' CHECK (board_values IN ('exact', 'whole', 'byClient'));
