import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { announce } from '../../src/catalog/announce.ts';
import { Catalogs } from '../../src/catalog/catalogs.ts';
import { Changes } from '../../src/catalog/changes.ts';
import { createPool } from '../../src/postgres/pool.ts';
import { testDatabase, type TestDatabase } from '../postgres/database.ts';

const SOON = { interval: 10 };

let database: TestDatabase;
let redis: Redis;
let catalogs: Catalogs;
let close: (() => void)[];

beforeAll(async () => {
  database = await testDatabase();
  redis = new Redis(database.stack.redisUrl);
});

beforeEach(async () => {
  close = [];
  await database.pool.query('TRUNCATE catalog_resources CASCADE; UPDATE tenants SET catalog_version = 0, next_no = 1');
  catalogs = new Catalogs({ pool: database.pool });
  close.push(() => catalogs.close());
});

afterEach(() => close.forEach((end) => end()));

afterAll(async () => {
  redis.disconnect();
  await database.close();
});

/** What an edit of the catalog does in Postgres: one more metric, one version on. */
async function addMetric(key: string): Promise<number> {
  const { rows } = await database.pool.query<{ version: number }>(
    `WITH tenant AS (
       UPDATE tenants SET catalog_version = catalog_version + 1, next_no = next_no + 1 WHERE no = 0
       RETURNING catalog_version AS version, next_no - 1 AS resource_no),
     counted AS (UPDATE organisation SET catalogs_revision = catalogs_revision + 1),
     added AS (
       INSERT INTO catalog_resources (id, tenant_no, no, kind, identity, doc, created, updated)
       SELECT gen_random_uuid(), 0, resource_no, 'metric', $1::text,
              jsonb_build_object('key', $1::text, 'name', 'M', 'unitType', 'number', 'units', ''), '2026-01-01', '2026-01-02' FROM tenant)
     SELECT version FROM tenant`,
    [key],
  );
  return rows[0]!.version;
}

const keys = (): string[] => [...(catalogs.get(0)?.metrics.keys() ?? [])];

async function listening(options: { pollMs?: number } = {}): Promise<Changes> {
  const changes = new Changes({ pool: database.pool, redis, ...options });
  changes.listen(catalogs);
  await changes.start();
  close.push(() => changes.close());
  return changes;
}

describe('loading', () => {
  test('a catalog is there at once after the first time, whole and in order', async () => {
    await addMetric('first');
    await addMetric('second');
    expect(catalogs.get(0)).toBeUndefined();
    const compiled = await catalogs.load(0);
    expect(catalogs.get(0)).toBe(compiled);
    expect(catalogs.of(0)).toBe(compiled);
    expect(compiled.catalog.version).toBe(2);
    expect(compiled.catalog.metrics).toEqual([
      expect.objectContaining({ key: 'first', no: 1, created: Date.UTC(2026, 0, 1), updated: Date.UTC(2026, 0, 2) }),
      expect.objectContaining({ key: 'second', no: 2 }),
    ]);
  });

  test('many at once share one query', async () => {
    const before = database.pool.totalCount + database.pool.waitingCount;
    const loads = Array.from({ length: 50 }, () => catalogs.load(0));
    expect(database.pool.waitingCount).toBeLessThanOrEqual(before + 1);
    expect(new Set(await Promise.all(loads)).size).toBe(1);
  });

  test('an unknown tenant is not found', async () => {
    await expect(catalogs.of(999)).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('changes', () => {
  test('an announced version takes the place of the older one, long before the next look', async () => {
    await listening({ pollMs: 60_000 });
    await catalogs.load(0);
    const version = await addMetric('new');
    await announce(redis, `0:${version}`);
    await expect.poll(keys, SOON).toContain('new');
  });

  test('a version that is announced while an older one is being read is read as well', async () => {
    await catalogs.load(0);
    catalogs.catalogChanged(0, await addMetric('one'));
    const version = await addMetric('two');
    catalogs.catalogChanged(0, version);
    await expect.poll(() => catalogs.get(0)?.catalog.version, SOON).toBe(version);
  });

  test('without announcements the poll finds it', async () => {
    await listening({ pollMs: 20 });
    await catalogs.load(0);
    await addMetric('unannounced');
    await expect.poll(keys, SOON).toContain('unannounced');
  });

  test('after Redis cut the subscription it is made again, and everything counts as changed', async () => {
    const changes = await listening({ pollMs: 60_000 });
    await catalogs.load(0);
    let told = 0;
    changes.listen({ organisationChanged: () => (told += 1) });
    await addMetric('missed');
    await redis.client('KILL', 'TYPE', 'PUBSUB');
    await expect.poll(keys, SOON).toContain('missed');
    expect(told).toBe(1);
  });

  test('news of the organisation reach those who listen, by announcement and by poll', async () => {
    const changes = await listening({ pollMs: 20 });
    let told = 0;
    changes.listen({ organisationChanged: () => (told += 1) });
    await announce(redis, '*');
    await expect.poll(() => told, SOON).toBe(1);
    await database.pool.query('UPDATE organisation SET revision = revision + 1');
    await expect.poll(() => told, SOON).toBe(2);
  });
});

test('the loaded catalog stays while Postgres does not answer, and is renewed when it does', async () => {
  const pool = createPool(database.stack.databaseUrl, { max: 1 });
  // The pool's only connection in other hands stands for a Postgres that hangs.
  const gated = new Catalogs({ pool });
  close.push(() => gated.close());
  const loaded = await gated.load(0);
  const holder = await pool.connect();
  const version = await addMetric('later');
  gated.catalogChanged(0, version);
  expect(gated.get(0)).toBe(loaded);
  holder.release(new Error('the connection broke'));
  await expect.poll(() => gated.get(0)?.catalog.version, SOON).toBe(version);
  await pool.end();
});

test('a load that fails is tried again', async () => {
  const failing = createPool(database.stack.databaseUrl, { max: 1 });
  const retrying = new Catalogs({ pool: failing });
  close.push(() => retrying.close());
  const loaded = await retrying.load(0);
  await database.pool.query('ALTER TABLE catalog_resources RENAME TO away');
  try {
    retrying.catalogChanged(0, loaded.catalog.version + 1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(retrying.get(0)).toBe(loaded);
  } finally {
    await database.pool.query('ALTER TABLE away RENAME TO catalog_resources');
  }
  const version = await addMetric('back');
  await expect.poll(() => retrying.get(0)?.catalog.version, SOON).toBe(version);
  await failing.end();
});
