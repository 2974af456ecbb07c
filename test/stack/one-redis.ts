/** Test files that are left out when all is tried on several Redis (`TEST_REDIS`), and why. */
export const ONE_REDIS: Record<string, string> = {
  'test/engine/rebuild/**':
    'They rebuild and compare over one connection, with its gate; several Redis: test/engine/shards.',
  'test/engine/idempotency/key-ageing.test.ts': 'It rebuilds over one connection, and looks into its gate.',
  'test/engine/imports/imported-again.test.ts': 'It rebuilds over one connection, and looks into its gate.',
};
