-- How many of a reward's counted claims belonged to users deleted since, so that a verification can compare the count with the claims.

SET LOCAL lock_timeout = '5s';
ALTER TABLE reward_counts ADD COLUMN gone bigint NOT NULL DEFAULT 0;
UPDATE reward_counts AS counted
   SET gone = claimed - (SELECT count(*) FROM reward_claims AS claim
                          WHERE claim.tenant_no = counted.tenant_no AND claim.reward_no = counted.reward_no AND state < 3);
