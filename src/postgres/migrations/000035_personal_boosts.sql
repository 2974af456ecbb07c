-- Boosts of one user of which the start or the end was announced: their times move with the user's zone.
CREATE TABLE notification_boosts (
  tenant_no integer NOT NULL,
  user_id text NOT NULL,
  boost_no integer NOT NULL,
  type text NOT NULL,
  PRIMARY KEY (tenant_no, user_id, boost_no, type)
);
