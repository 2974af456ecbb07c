-- The secrets that webhooks are signed with, one a living webhook. They are kept as they are, for a signature takes
-- the secret itself; apart from the webhooks (catalog_resources), so that no catalog, document or record holds one.
CREATE TABLE webhook_secrets (
  webhook_id uuid PRIMARY KEY REFERENCES catalog_resources (id),
  tenant_no integer NOT NULL REFERENCES tenants (no),
  secret text NOT NULL
);
