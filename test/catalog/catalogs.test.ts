import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { LISTS } from '../../src/domain/kinds.ts';
import { loadCatalog } from '../../src/postgres/catalog.ts';
import type { CatalogDraft } from '../../src/catalog/draft.ts';
import { createResources } from '../../src/catalog/resources.ts';
import { Catalogs, Changes, type ChangesOptions } from '../../src/catalog/catalogs.ts';
import { countCredentialChange, countRevision, LISTENER, readRevisions } from '../../src/postgres/revisions.ts';
import { transaction } from '../../src/postgres/transaction.ts';
import { createPool } from '../../src/postgres/pool.ts';
import { publishSignal, Signals } from '../../src/redis/signals.ts';
import { testDatabase } from '../postgres/database.ts';
import { opened } from '../stack/opened.ts';

const SOON = { interval: 10 };

let catalogs: Catalogs;
let close: (() => void)[];

const database = opened(() => testDatabase());
const redis = opened(() => new Redis(database.stack.redisUrl), 'disconnect');

beforeEach(async () => {
  close = [];
  await database.pool.query('TRUNCATE catalog_resources CASCADE; UPDATE tenants SET catalog_version = 0, next_no = 1');
  catalogs = new Catalogs(database.pool);
  close.push(() => catalogs.close());
});

afterEach(() => close.forEach((end) => end()));

/** An edit of the catalog in Postgres: adds a metric and increments the version. */
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

/**
 * Connections that listen for notifications: their last statement is the check that runs when notifications begin to arrive.
 */
async function openListeners(): Promise<number> {
  const { rowCount } = await database.pool.query(
    "SELECT FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database() AND query LIKE 'SELECT%'",
    [LISTENER],
  );
  return rowCount ?? 0;
}

/** A proxy to Postgres that drops every notification. */
async function deafProxy(target: string): Promise<{ url: string; readonly held: number; close(): void }> {
  let held = 0;
  const { hostname, port } = new URL(target);
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    client.on('data', (chunk) => upstream.write(chunk));
    upstream.on('data', (chunk: Buffer) => {
      // Without a running statement, a server sends nothing else. 'A': a notification.
      if (chunk[0] === 0x41) held += 1;
      else client.write(chunk);
    });
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const)
      one.on('error', () => undefined).on('close', () => other.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = new URL(target);
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    get held() {
      return held;
    },
    close: () => server.close(),
  };
}

const keys = (): string[] => [...(catalogs.get(0)?.metrics.keys() ?? [])];

/** These tests rely on announcements, not on polling. */
const NEVER = { alone: 3_600_000, notified: 3_600_000 };
const OFTEN = { alone: 20, notified: 20 };

async function listening(options: Pick<ChangesOptions, 'backstopMs'> = {}): Promise<Changes> {
  const signals = new Signals(redis);
  const changes = new Changes({ pool: database.pool, signals, ...options });
  changes.listen(catalogs);
  await changes.start();
  close.push(() => {
    changes.close();
    void signals.close();
  });
  return changes;
}

describe('loading', () => {
  test('after the first load a catalog is available at once, complete and in order', async () => {
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

  test('concurrent loads share one query', async () => {
    const before = database.pool.totalCount + database.pool.waitingCount;
    const loads = Array.from({ length: 50 }, () => catalogs.load(0));
    expect(database.pool.waitingCount).toBeLessThanOrEqual(before + 1);
    expect(new Set(await Promise.all(loads)).size).toBe(1);
  });

  test('after a change, only what has changed is new: everything else stays the same objects', async () => {
    const announce = async (): Promise<void> => undefined;
    const elsewhere = createResources({ pool: database.pool, announce, clock: systemClock });
    const here = createResources({ pool: database.pool, announce, clock: systemClock, catalogs });
    const own = { description: null, onOverview: null, unitType: 'number', units: '', guards: null } as const;
    const { result: metrics } = await elsewhere.edit(0, { who: 'test' }, (draft) =>
      ['a', 'b', 'c', 'd'].map((key) => draft.create('metric', { key, name: key, ...own })),
    );
    await elsewhere.edit(0, { who: 'test' }, (draft) =>
      draft.create('attribute', { key: 'plan', name: 'Plan', type: 'user', writableBy: null }),
    );
    const before = (await catalogs.load(0)).catalog;
    const change = (draft: CatalogDraft): void => {
      const [a, b] = draft.catalog.metrics;
      draft.update('metric', a!.id, { ...own, key: 'a', name: `${a!.name} again` });
      draft.remove('metric', b!.id);
      draft.create('metric', { ...own, key: b!.key, name: 'new' });
    };
    let known = before;
    for (const resources of [elsewhere, here]) {
      await resources.edit(0, { who: 'test' }, change);
      const { catalog } = await catalogs.load(0);
      expect(catalog).toEqual(await loadCatalog(database.pool, 0));
      expect(catalog.attributes).toBe(known.attributes);
      const left = known.metrics.slice(2);
      for (const [at, metric] of left.entries()) expect(catalog.metrics[at + 1]).toBe(metric);
      expect(catalog.metrics).toHaveLength(metrics.length);
      known = catalog;
    }
    const { catalog } = await catalogs.load(0);
    for (const list of Object.values(LISTS)) expect(catalog[list]).toBe(known[list]);
  });

  test('reports an unknown tenant as not found', async () => {
    await expect(catalogs.of(999)).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('changes', () => {
  test('an announced version replaces the older one long before the next poll', async () => {
    await listening({ backstopMs: NEVER });
    await catalogs.load(0);
    const version = await addMetric('new');
    await publishSignal(redis, 'changes', `0:${version}`);
    await expect.poll(keys, SOON).toContain('new');
  });

  test('also reads a version that is announced while an older one is being read', async () => {
    await catalogs.load(0);
    catalogs.catalogChanged(0, await addMetric('one'));
    const version = await addMetric('two');
    catalogs.catalogChanged(0, version);
    await expect.poll(() => catalogs.get(0)?.catalog.version, SOON).toBe(version);
  });

  test('polling finds a change without announcements', async () => {
    await listening({ backstopMs: OFTEN });
    await catalogs.load(0);
    await addMetric('unannounced');
    await expect.poll(keys, SOON).toContain('unannounced');
  });

  test('resubscribes after Redis closes the subscription, and finds what it missed', async () => {
    await listening({ backstopMs: NEVER });
    await catalogs.load(0);
    await addMetric('missed');
    await redis.client('KILL', 'TYPE', 'PUBSUB');
    await expect.poll(keys, SOON).toContain('missed');
  });

  test('Postgres notifies of unannounced changes long before the next poll', async () => {
    let reported = 0;
    (await listening({ backstopMs: NEVER })).listen({ organisationChanged: () => (reported += 1) });
    // The check that follows when notifications begin to arrive may find the first change.
    for (const count of [1, 2, 3]) {
      await countRevision(database.pool);
      await expect.poll(() => reported, SOON).toBe(count);
    }
  });

  test('polls as often as without notifications when the notifying connection breaks', async () => {
    let reported = 0;
    // The one of the test before may take a moment to end.
    await expect.poll(openListeners, SOON).toBe(0);
    const changes = await listening({ backstopMs: { ...NEVER, alone: 20 } });
    changes.listen({ organisationChanged: () => (reported += 1) });
    await expect.poll(openListeners, SOON).toBe(1);
    await database.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = $1 AND datname = current_database()`,
      [LISTENER],
    );
    await expect.poll(openListeners, SOON).toBe(0);
    await database.pool.query('UPDATE organisation SET revision = revision + 1');
    await expect.poll(() => reported, SOON).toBe(1);
  });

  test('polls as often as without notifications behind a proxy that drops them', async () => {
    const proxy = await deafProxy(database.stack.databaseUrl);
    const pool = createPool(proxy.url, { max: 2 });
    let reported = 0;
    const signals = new Signals(redis);
    const changes = new Changes({ pool, signals, backstopMs: { ...NEVER, alone: 20 } });
    try {
      changes.listen({ organisationChanged: () => (reported += 1) });
      await changes.start();
      await expect.poll(() => proxy.held, SOON).toBe(1);
      const before = reported;
      await database.pool.query('UPDATE organisation SET revision = revision + 1');
      await expect.poll(() => reported, SOON).toBe(before + 1);
    } finally {
      changes.close();
      await signals.close();
      await pool.end();
      proxy.close();
    }
  });

  test('notices every write to Postgres, but not reads', async () => {
    const seen = async (): Promise<string> => (await readRevisions(database.pool))!.snapshot;
    // Other clients of the same server may come between.
    await expect.poll(async () => (await seen()) === (await seen()), SOON).toBe(true);
    let written = 0;
    const changes = await listening({ backstopMs: OFTEN });
    changes.listen({ written: () => (written += 1) });
    const before = await seen();
    await database.pool.query('UPDATE tenants SET next_no = next_no');
    expect(await seen()).not.toBe(before);
    await expect.poll(() => written, SOON).toBeGreaterThan(0);
  });

  test('organisation changes reach listeners by announcement and by polling', async () => {
    const changes = await listening({ backstopMs: OFTEN });
    let heard = 0;
    changes.listen({ organisationChanged: () => (heard += 1) });
    await publishSignal(redis, 'changes', '*');
    await expect.poll(() => heard, SOON).toBe(1);
    await database.pool.query('UPDATE organisation SET revision = revision + 1');
    await expect.poll(() => heard, SOON).toBe(2);
  });

  test('changed credentials are named by announcement and by polling; all may have changed if some are unknown', async () => {
    const changes = await listening({ backstopMs: OFTEN });
    const heard: (readonly string[] | null)[] = [];
    let organisation = 0;
    changes.listen({
      credentialsChanged: (names) => heard.push(names),
      organisationChanged: () => (organisation += 1),
    });
    await publishSignal(redis, 'changes', '*app_a,app_b');
    await expect.poll(() => heard, SOON).toEqual([['app_a', 'app_b']]);
    await transaction(database.pool, (client) => countCredentialChange(client, ['app_c']));
    await expect.poll(() => heard.slice(1), SOON).toEqual([['app_c']]);
    await database.pool.query('UPDATE organisation SET credentials_revision = credentials_revision + 1');
    await expect.poll(() => heard.slice(2), SOON).toEqual([null]);
    const many = Array.from({ length: 1_001 }, (_, n) => `app_${n}`);
    await transaction(database.pool, (client) => countCredentialChange(client, many));
    await expect.poll(() => heard.slice(3), SOON).toEqual([null]);
    await database.pool.query('UPDATE organisation SET credentials_revision = credentials_revision - 2');
    await expect.poll(() => heard.slice(4), SOON).toEqual([null]);
    expect(organisation).toBe(0);
  });

  test('only the last 1,000 changes of credentials are kept', async () => {
    const { pool } = database;
    const before = (await readRevisions(pool))!.credentials;
    await pool.query('UPDATE organisation SET credentials_revision = $1', [before + 2_000]);
    await transaction(pool, (client) => countCredentialChange(client, ['app_d']));
    expect((await pool.query('SELECT revision, names FROM credential_changes')).rows).toEqual([
      { revision: before + 2_001, names: ['app_d'] },
    ]);
  });
});

test('keeps the loaded catalog while Postgres does not answer, and reloads it afterwards', async () => {
  const pool = createPool(database.stack.databaseUrl, { max: 1 });
  // Holding the pool's only connection simulates a Postgres that hangs.
  const gated = new Catalogs(pool);
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

test('retries a failed load', async () => {
  const failing = createPool(database.stack.databaseUrl, { max: 1 });
  const retrying = new Catalogs(failing);
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
