import { describe, expect, test } from 'vitest';
import { readOutboxEnds } from '../../src/redis/handed-over.ts';
import { handedKey, outboxKey, SHARD_NUMBERS } from '../../src/redis/keys.ts';
import {
  backlog,
  comparePositions,
  lastPosition,
  OUTBOX_START,
  parseEntry,
  readOutbox,
  trimOutbox,
  waitingMs,
} from '../../src/redis/outbox.ts';
import { connectedRedis } from '../stack/connected-redis.ts';

const redis = await connectedRedis();

const add = (shard: number, id: string): Promise<string | null> =>
  redis.xadd(outboxKey(shard), id, 't', String(shard), 'r', 'records', 'u', 'zoë', 's', Buffer.from([0xff, 0]));

describe('the outbox of a shard', () => {
  test('is read in order after a position, up to a limit', async () => {
    for (const id of ['5-0', '5-1', '9007199254740993-18446744073709551614']) await add(0, id);
    const entries = await readOutbox(redis, { shard: 0, after: OUTBOX_START, count: 2 });
    expect(entries.map(parseEntry)).toEqual(
      ['5-0', '5-1'].map((id) => ({
        id,
        tenantNo: 0,
        records: Buffer.from('records'),
        states: [Buffer.from('zoë'), Buffer.from([0xff, 0])],
      })),
    );
    const rest = await readOutbox(redis, { shard: 0, after: '5-1', count: 2 });
    expect(rest.map((entry) => parseEntry(entry).id)).toEqual(['9007199254740993-18446744073709551614']);
    expect(await readOutbox(redis, { shard: 1, after: OUTBOX_START, count: 2 })).toEqual([]);
  });

  test('loses exactly what is trimmed, once or twice', async () => {
    expect(await backlog(redis, 0)).toBe(3);
    await trimOutbox(redis, 0, '5-0');
    expect(await backlog(redis, 0)).toBe(2);
    await trimOutbox(redis, 0, '5-0');
    expect(await backlog(redis, 0)).toBe(2);
    await trimOutbox(redis, 0, '9007199254740993-18446744073709551614');
    expect(await backlog(redis, 0)).toBe(0);
    expect(await lastPosition(redis, 0)).toBe('9007199254740993-18446744073709551614');
    await trimOutbox(redis, 1, '5-0');
    expect([await backlog(redis, 1), await lastPosition(redis, 1)]).toEqual([0, OUTBOX_START]);
  });

  test('says how long its oldest entry has been waiting', async () => {
    const [seconds] = await redis.time();
    await add(2, `${(Number(seconds) - 100) * 1000}-0`);
    await add(2, '*');
    const [empty, waiting] = await waitingMs(redis, [3, 2]);
    expect(empty).toBeNull();
    expect(waiting).toBeGreaterThanOrEqual(100_000);
    expect(waiting).toBeLessThan(130_000);
  });

  test('reports its end and how far it was handed over, with those of all shards, in few commands', async () => {
    const keep = { ms: 600_000, bytes: 1_000_000 };
    const [seconds] = await redis.time();
    const now = Number(seconds) * 1000;
    const positions = [0, 1, 2].map((sequence) => `${now}-${sequence}`);
    for (const id of positions) for (const shard of [70, 71, 72]) await add(shard, id);
    await trimOutbox(redis, 70, positions[1]!, keep);
    await trimOutbox(redis, 71, positions[1]!, keep);
    await redis.del(handedKey(71));
    await redis.config('RESETSTAT');
    const ends = await readOutboxEnds(redis, SHARD_NUMBERS);
    expect(await redis.info('commandstats')).toMatch(/cmdstat_eval_ro:calls=4,/);
    expect(ends).toHaveLength(SHARD_NUMBERS.length);
    const nothing = { position: OUTBOX_START, floor: OUTBOX_START };
    expect(ends[0]!.last).toBe(await lastPosition(redis, 0));
    expect(ends[3]).toEqual({ last: OUTBOX_START, handed: nothing });
    expect(ends[70]).toEqual({ last: positions[2], handed: { position: positions[1], floor: positions[0] } });
    // What was kept is gone.
    expect(ends[71]).toEqual({ last: positions[2], handed: { position: positions[1], floor: positions[1] } });
    expect(ends[72]).toEqual({ last: positions[2], handed: nothing });
    expect(await readOutboxEnds(redis, [72, 3, 70])).toEqual([ends[72], ends[3], ends[70]]);
  });

  test('is checked with those of all shards in one command', async () => {
    const calls = async (): Promise<(string | undefined)[]> => {
      const stats = await redis.info('commandstats');
      return ['xread', 'xrange'].map((command) => new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1]);
    };
    await waitingMs(redis, [0]);
    const [reads, ranges] = await calls();
    const waits = await waitingMs(redis, SHARD_NUMBERS);
    expect(SHARD_NUMBERS.filter((shard) => waits[shard] !== null)).toContain(2);
    expect(await calls()).toEqual([String(Number(reads) + 1), ranges]);
  });
});

test.each([
  [['t', '0', 'r'], 'does not begin'],
  [['x', '0', 'r', ''], 'does not begin'],
  [['t', 'no', 'r', ''], 'tenant'],
  [['t', '0', 'r', '', 'u', 'ada'], 'pairs'],
])('refuses an entry of another format with its position: %j', (fields, message) => {
  const entry: [Buffer, Buffer[]] = [Buffer.from('7-1'), fields.map((field) => Buffer.from(field))];
  expect(() => parseEntry(entry)).toThrow(message);
  expect(() => parseEntry(entry)).toThrow('7-1');
});

test.each([
  ['5-0', '5-0', 0],
  ['5-9', '5-10', -1],
  ['10-0', '9-9', 1],
  ['5-18446744073709551614', '5-18446744073709551615', -1],
])('position %s against %s', (a, b, sign) => {
  expect(Math.sign(comparePositions(a, b))).toBe(sign);
});
