import { beforeAll, expect, test } from 'vitest';
import { Persister } from '../../../src/engine/persist/persister.ts';
import type { HappenedRecord } from '../../../src/packed/record.ts';
import { RECORD } from '../../../src/packed/record-fields.ts';
import { createRedis, redisReady } from '../../../src/redis/client.ts';
import { testDatabase } from '../../postgres/database.ts';
import { eventRecord, writeEntry } from './outbox-writer.ts';
import { opened } from '../../stack/opened.ts';

const database = opened(() => testDatabase());
const redis = opened(() => createRedis(database.stack.redisUrl), 'disconnect');
beforeAll(async () => {
  await redisReady(redis);
});

/** Users in the order in which their rows were last written, all on one page. */
async function written(records: HappenedRecord[]): Promise<string[]> {
  await writeEntry(redis, 0, { records });
  await new Persister({ redis, pool: database.pool }).drain(0, AbortSignal.abort());
  const { rows } = await database.pool.query<{ id: string }>('SELECT id FROM users ORDER BY ctid');
  return rows.map(({ id }) => id);
}

// Records whose users are written in different ways. The first creates the users of the others.
test.each([
  ['new', { [RECORD.isNew]: 1 }, ['bob', 'cyd', 'ada']],
  ['of another streak', { [RECORD.due]: 1 }, ['cyd', 'ada', 'bob']],
  ['of other points', { [RECORD.points]: [[21, 0, 5, [[22, 5, 5, []]]]] }, ['bob', 'ada', 'cyd']],
  ['changed in no other way', {}, ['cyd', 'bob', 'ada']],
] as [string, Partial<HappenedRecord>, string[]][])(
  'writes users who are %s in the order of their keys',
  async (_how, more, users) => {
    expect(await written(users.map((u) => eventRecord({ u, ...more })))).toEqual(['ada', 'bob', 'cyd']);
  },
);
