-- Which resources are the demo's: a first start made them, and nobody has changed them since.
ALTER TABLE catalog_resources ADD COLUMN demo boolean NOT NULL DEFAULT false;
UPDATE catalog_resources SET demo = true
 WHERE deleted IS NULL
   AND id IN (SELECT id FROM audit_log WHERE who = 'first start' AND action = 'create')
   AND id NOT IN (SELECT id FROM audit_log WHERE who <> 'first start' AND id IS NOT NULL);
