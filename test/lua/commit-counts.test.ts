import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { type Block, mapPart } from '../../src/engine/changes/block.ts';
import { callsOnce } from '../../src/engine/changes/calls.ts';
import { changeUsers } from '../../src/engine/changes/change-users.ts';
import { KIND, RECORD } from '../../src/packed/record-fields.ts';
import { countersKey } from '../../src/redis/keys.ts';
import { connectedRedis } from '../stack/connected-redis.ts';
import { onlyPart } from '../stack/only-part.ts';

const redis = await connectedRedis();
const part = onlyPart(7);
const key = countersKey(part);

type Added = Record<string, number>;

/** Commits one block for each list of counts, together. */
const commit = (...lists: readonly Added[]): Promise<void> => commitWithout(-1, ...lists);

/** The same, but the user of one block has changed, whose change is then given up. */
async function commitWithout(outdated: number, ...lists: readonly Added[]): Promise<void> {
  const blocks = lists.map((counts, at): Block => {
    const userId = randomUUID();
    const record = { [RECORD.kind]: KIND.user, [RECORD.id]: userId.replaceAll('-', ''), [RECORD.userId]: userId };
    return {
      userId,
      expected: at === outdated ? Buffer.from('former state') : null,
      generation: '',
      state: Buffer.from('state'),
      uses: [],
      counts: Object.entries(counts).map(([field, added]) => ({ key, field, added })),
      fields: [],
      records: [mapPart(record, null)],
    };
  });
  const computed = new Set<Block>();
  const subjects = blocks.map((block) => ({
    userId: block.userId,
    keys: [],
    isGuarded: false,
    compute: () => {
      const isFirst = !computed.has(block);
      computed.add(block);
      return { block: isFirst ? block : null };
    },
  }));
  await changeUsers(callsOnce(redis), part, subjects);
}

/** More fields than are added one by one, with those that the test is about. */
const amongOthers = (counts: Added): Added => ({ some: 1, others: 1, too: 1, ...counts });

test.each([
  ['a few counts', (counts: Added) => counts],
  ['many counts', amongOthers],
])('%s: blocks of a call add up, and counts that become 0 are removed', async (_, with_) => {
  await redis.del(key);
  await commit(with_({ a: 2 }), with_({ a: 3, b: 1 }));
  expect(await redis.hgetall(key)).toMatchObject({ a: '5', b: '1' });
  await commit(with_({ a: -5 }), with_({ b: 4 }), with_({ b: -2 }));
  const counts = await redis.hgetall(key);
  expect(counts).toMatchObject({ b: '3' });
  expect(counts).not.toHaveProperty('a');
});

test.each([
  ['a few counts', (counts: Added) => counts],
  ['many counts', amongOthers],
])('%s: a block that does not hold adds nothing to those of its call', async (_, with_) => {
  await redis.del(key);
  await commitWithout(1, with_({ a: 2 }), with_({ a: -2, b: 1 }), with_({ c: 4 }));
  const counts = await redis.hgetall(key);
  expect(counts).toMatchObject({ a: '2', c: '4' });
  expect(counts).not.toHaveProperty('b');
});

test.each([
  ['a few counts', (counts: Added) => counts],
  ['many counts', amongOthers],
])('%s: sums beyond 2^53 are exact', async (_, with_) => {
  await redis.del(key);
  await redis.hset(key, 'large', '9007199254740993');
  await commit(with_({ large: 1 }));
  expect(await redis.hget(key, 'large')).toBe('9007199254740994');
  await redis.hset(key, 'nearly', '9007199254740991');
  await commit(with_({ nearly: 4 }));
  expect(await redis.hget(key, 'nearly')).toBe('9007199254740995');
  await redis.hset(key, 'below', '-9007199254740993');
  await commit(with_({ below: -2 }));
  expect(await redis.hget(key, 'below')).toBe('-9007199254740995');
});

test('more counts than one command takes are added', async () => {
  await redis.del(key);
  await commit(Object.fromEntries(Array.from({ length: 3_500 }, (_, no) => [`field ${no}`, no + 1])));
  const counts = await redis.hgetall(key);
  expect(Object.keys(counts)).toHaveLength(3_500);
  expect(counts['field 3499']).toBe('3500');
});
