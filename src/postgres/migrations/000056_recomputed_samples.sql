-- Samples of a plan are read while it is made and applied, whenever somebody looks: not by going through all of its users.
CREATE INDEX recomputed_users_gaining ON recomputed_users (recomputation_no, user_id) WHERE gains;
CREATE INDEX recomputed_users_skipped ON recomputed_users (recomputation_no, user_id) WHERE skipped IS NOT NULL;
