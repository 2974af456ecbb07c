import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { publishSignal, Signals } from '../../src/redis/signals.ts';
import { Changes } from '../../src/catalog/catalogs.ts';
import { createAuthenticator } from '../../src/http/access/auth.ts';
import type { Caller } from '../../src/operations/operation.ts';
import { createAdminKeys, type CreatedAdminKey } from '../../src/postgres/access/admin-keys.ts';
import { createApplicationKeys } from '../../src/postgres/access/application-keys.ts';
import { keyHash, keyLookup, type KeyRecord } from '../../src/postgres/access/keys.ts';
import { testDatabase } from '../postgres/database.ts';
import { opened } from '../stack/opened.ts';

const stored = (prefix: string, rest: Partial<KeyRecord> = {}): KeyRecord => ({
  id: prefix,
  kind: 'admin',
  prefix,
  hash: keyHash('body'),
  userId: null,
  tenantNo: null,
  active: true,
  scope: 'all',
  expiresMs: null,
  rateLimit: null,
  usedMs: null,
  ...rest,
});

/** Keys in memory that count the lookups. */
function countedKeys(records: KeyRecord[]) {
  const asked: string[] = [];
  return {
    asked,
    lookup: {
      find: async (prefix: string) => {
        asked.push(prefix);
        return records.find((record) => record.prefix === prefix) ?? null;
      },
    },
  };
}

const outcome = async (attempt: () => Caller | Promise<Caller>): Promise<Caller | number> => {
  try {
    return await attempt();
  } catch (error) {
    return (error as { status: number }).status;
  }
};

describe('authenticate', () => {
  test('malformed keys are 401 and are not looked up', async () => {
    const { asked, lookup } = countedKeys([stored('adm_a')]);
    const { authenticate } = createAuthenticator({ lookup });
    for (const header of [
      null,
      '',
      'adm_a',
      'adm_a.',
      '.body',
      'adm a.body',
      'adm_a.bo dy',
      `${'x'.repeat(65)}.body`,
      `adm_a.${'x'.repeat(257)}`,
    ])
      expect([String(header), await outcome(() => authenticate(header))]).toEqual([String(header), 401]);
    expect(asked).toEqual([]);
  });

  test('unknown keys, wrong bodies and revoked keys are 401', async () => {
    const { lookup } = countedKeys([
      stored('adm_a'),
      stored('adm_old', { active: false }),
      stored('adm_odd', { hash: Buffer.alloc(0) }),
    ]);
    const { authenticate } = createAuthenticator({ lookup });
    for (const header of ['adm_b.body', 'adm_a.Body', 'adm_a.body0', 'ADM_a.body', 'adm_old.body', 'adm_odd.body'])
      for (const _again of [1, 2]) expect([header, await outcome(() => authenticate(header))]).toEqual([header, 401]);
    expect(await outcome(() => authenticate('adm_a.body'))).toEqual({
      kind: 'admin',
      prefix: 'adm_a',
      rateLimit: null,
      userId: null,
      tenantNo: null,
      scope: 'all',
    });
  });

  test('refuses a cached key from the moment of its expiry, by the injected clock', async () => {
    let clockMs = 0;
    const { asked, lookup } = countedKeys([stored('app_a', { kind: 'application', expiresMs: 1_000 })]);
    const { authenticate } = createAuthenticator({ lookup, nowMs: () => 0, clockMs: () => clockMs });
    expect(await outcome(() => authenticate('app_a.body'))).toMatchObject({ prefix: 'app_a' });
    clockMs = 999;
    expect(await outcome(() => authenticate('app_a.body'))).toMatchObject({ prefix: 'app_a' });
    clockMs = 1_000;
    expect(await outcome(() => authenticate('app_a.body'))).toBe(401);
    expect(asked).toEqual(['app_a']);
  });

  test('records a use once a minute per key, and not if another process just recorded it', async () => {
    let clockMs = 100_000;
    const used: [string, number][] = [];
    const { lookup } = countedKeys([stored('adm_a'), stored('app_b', { kind: 'application', usedMs: 99_000 })]);
    const { authenticate } = createAuthenticator({
      lookup,
      clockMs: () => clockMs,
      onUse: ({ prefix }, atMs) => used.push([prefix, atMs]),
    });
    const use = async (): Promise<void> => {
      for (const header of ['adm_a.body', 'app_b.body']) await authenticate(header);
      await outcome(() => authenticate('app_b.wrong'));
    };
    await use();
    clockMs = 158_999;
    await use();
    expect(used).toEqual([['adm_a', 100_000]]);
    clockMs = 160_000;
    await use();
    expect(used.slice(1)).toEqual([
      ['adm_a', 160_000],
      ['app_b', 160_000],
    ]);
  });

  test('looks up a known key once and then answers from memory; simultaneous lookups are one', async () => {
    const { asked, lookup } = countedKeys([stored('adm_a')]);
    const { authenticate } = createAuthenticator({ lookup });
    await Promise.all([
      authenticate('adm_a.body'),
      authenticate('adm_a.body'),
      outcome(() => authenticate('adm_a.wrong')),
    ]);
    expect(authenticate('adm_a.body')).not.toBeInstanceOf(Promise);
    expect(asked).toEqual(['adm_a']);
  });

  test('an entry expires: a known key after a minute, an unknown one sooner', async () => {
    let nowMs = 0;
    const records = [stored('adm_a')];
    const { asked, lookup } = countedKeys(records);
    const { authenticate } = createAuthenticator({
      lookup,
      nowMs: () => nowMs,
      limits: { knownMs: 1_000, unknownMs: 100 },
    });
    await authenticate('adm_a.body');
    expect(await outcome(() => authenticate('adm_b.body'))).toBe(401);
    records.push(stored('adm_b'));
    nowMs = 99;
    expect(await outcome(() => authenticate('adm_b.body'))).toBe(401);
    nowMs = 100;
    expect(await outcome(() => authenticate('adm_b.body'))).toMatchObject({ prefix: 'adm_b' });
    nowMs = 999;
    await authenticate('adm_a.body');
    expect(asked).toEqual(['adm_a', 'adm_b', 'adm_b']);
    nowMs = 1_000;
    await authenticate('adm_a.body');
    expect(asked).toHaveLength(4);
  });

  test('while lookups fail or hang, a known key stays valid for a time; an unknown one fails', async () => {
    let nowMs = 0;
    let find: () => Promise<KeyRecord | null> = async () => stored('adm_a');
    const { authenticate, forget } = createAuthenticator({
      lookup: { find: () => find() },
      nowMs: () => nowMs,
      limits: { knownMs: 1_000, staleMs: 60_000 },
    });
    await authenticate('adm_a.body');
    const away = async (): Promise<never> => Promise.reject(new Error('Connection terminated'));
    find = away;
    nowMs = 1_000;
    const both = await Promise.all([authenticate('adm_a.body'), authenticate('adm_a.body')]);
    expect(both).toMatchObject([{ prefix: 'adm_a' }, { prefix: 'adm_a' }]);
    expect(await outcome(() => authenticate('adm_a.wrong'))).toBe(401);
    await expect(authenticate('adm_b.body')).rejects.toThrow('Connection terminated');
    // Not every request waits for a hanging lookup.
    find = () => new Promise(() => undefined);
    nowMs = 10_000;
    expect(await authenticate('adm_a.body')).toMatchObject({ prefix: 'adm_a' });
    expect(authenticate('adm_a.body')).not.toBeInstanceOf(Promise);
    // A change of keys ends it, and so does its time.
    forget(null);
    find = away;
    await expect(authenticate('adm_a.body')).rejects.toThrow('Connection terminated');
    find = async () => stored('adm_a');
    await authenticate('adm_a.body');
    find = away;
    nowMs += 61_000;
    await expect(authenticate('adm_a.body')).rejects.toThrow('Connection terminated');
  });

  test('keeps no more than the limit, and keeps what is in use', async () => {
    const { asked, lookup } = countedKeys(['a', 'b', 'c', 'd'].map((prefix) => stored(prefix)));
    const { authenticate } = createAuthenticator({ lookup, limits: { entries: 2 } });
    for (const prefix of ['a', 'b', 'a', 'c', 'a']) await authenticate(`${prefix}.body`);
    expect(asked).toEqual(['a', 'b', 'c']);
    await authenticate('b.body');
    expect(asked).toEqual(['a', 'b', 'c', 'b']);
    // Unknown prefixes do not evict known keys.
    for (let i = 0; i < 10; i += 1) await outcome(() => authenticate(`x${i}.body`));
    expect(authenticate('b.body')).not.toBeInstanceOf(Promise);
  });

  test('does not keep an answer that was in flight when keys changed', async () => {
    const answers: ((record: KeyRecord | null) => void)[] = [];
    const keys = createAuthenticator({ lookup: { find: () => new Promise((resolve) => answers.push(resolve)) } });
    const before = outcome(() => keys.authenticate('adm_a.body'));
    keys.forget(null);
    const after = outcome(() => keys.authenticate('adm_a.body'));
    answers[0]!(stored('adm_a'));
    expect(await before).toMatchObject({ prefix: 'adm_a' });
    answers[1]!(null);
    expect(await after).toBe(401);
    expect(await outcome(() => keys.authenticate('adm_a.body'))).toBe(401);
    expect(answers).toHaveLength(2);
  });

  test('forgets the named keys only, also an answer in flight; the others stay valid while lookups fail', async () => {
    const { asked, lookup } = countedKeys(['a', 'b', 'c'].map((prefix) => stored(prefix)));
    let find = lookup.find;
    const { authenticate, forget } = createAuthenticator({ lookup: { find: (prefix) => find(prefix) } });
    await authenticate('a.body');
    await authenticate('b.body');
    const inFlight = authenticate('c.body');
    forget(['a', 'c', 'never seen']);
    expect(await inFlight).toMatchObject({ prefix: 'c' });
    expect(authenticate('b.body')).not.toBeInstanceOf(Promise);
    expect(await outcome(() => authenticate('c.body'))).toMatchObject({ prefix: 'c' });
    expect(asked).toEqual(['a', 'b', 'c', 'c']);
    find = async () => Promise.reject(new Error('Connection terminated'));
    await expect(authenticate('a.body')).rejects.toThrow('Connection terminated');
    expect(await authenticate('b.body')).toMatchObject({ prefix: 'b' });
  });

  test('a failed lookup is no verdict: the next request asks again', async () => {
    let fails = true;
    const keys = createAuthenticator({
      lookup: {
        find: async () => {
          if (fails) throw new Error('Connection terminated');
          return stored('adm_a');
        },
      },
    });
    await expect(keys.authenticate('adm_a.body')).rejects.toThrow('Connection terminated');
    fails = false;
    expect(await outcome(() => keys.authenticate('adm_a.body'))).toMatchObject({ prefix: 'adm_a' });
  });
});

describe('with the stored keys', () => {
  const database = opened(() => testDatabase());
  const redis = opened(() => new Redis(database.stack.redisUrl), 'disconnect');

  test('another process refuses a deleted key in under a second, and remembers the others', async () => {
    const { pool } = database;
    const publish = (message: string): Promise<void> => publishSignal(redis, 'changes', message);
    const admins = createAdminKeys(pool, publish);
    const users = createApplicationKeys(pool, publish);
    const [made] = await admins.create([{ name: 'Test', access: 'full', tenantId: null }], { who: 'test' });
    const { key: adminKey } = made as CreatedAdminKey;
    const wanted = { userId: 'ada', scope: 'all', expiresMs: null, rateLimit: null } as const;
    const [created, other] = await users.create(0, [wanted, wanted], { who: 'test' });
    const keys = createAuthenticator({ lookup: keyLookup(pool) });
    const signals = new Signals(redis);
    const changes = new Changes({ pool, signals });
    changes.listen({ credentialsChanged: keys.forget });
    await changes.start();

    expect(await outcome(() => keys.authenticate(adminKey))).toMatchObject({
      kind: 'admin',
      userId: null,
      tenantNo: null,
    });
    expect(await outcome(() => keys.authenticate(created!.key))).toMatchObject({
      kind: 'application',
      userId: 'ada',
      tenantNo: 0,
    });
    await keys.authenticate(other!.key);
    await users.delete(0, [created!.id], { who: 'test' });
    await expect.poll(async () => await outcome(() => keys.authenticate(created!.key))).toBe(401);
    for (const key of [adminKey, other!.key]) expect(keys.authenticate(key)).not.toBeInstanceOf(Promise);
    changes.close();
    await signals.close();
  });
});
