import { Redis } from 'ioredis';
import pg from 'pg';
import { outboxKey } from '../../src/redis/keys.ts';
import { eventRecord, newId, NOW, pack, packedState } from '../engine/persist/outbox-writer.ts';
import { HOT_USER } from './client.ts';
import { eventually } from './processes.ts';
import type { ChaosStack } from './stack.ts';

type Fields = (string | number | Buffer)[];

/** Nobody among the clients' users: should any of these records be stored after all, the audit finds a user without events. */
const NOBODY = 'nobody';
/** The clients' tenant, which is of this shard. */
const TENANT = 0;
const SHARD = 0;
/** What no msgpack begins with. */
const SENSELESS = Buffer.from([0xc1]);

const records = (...some: Buffer[]): Fields => ['t', TENANT, 'r', Buffer.concat(some)];
const state = (userId: string, packed: Buffer): Fields => ['u', userId, 's', packed];
const event = (damage: object): Fields => records(pack({ ...eventRecord({ u: NOBODY }), ...damage }));

/** Entries of which nothing can be stored, each damaged in another way. `takenId`: of an event that is stored. */
const damagedEntries = (takenId: string): Fields[] => [
  // Records that make no sense, or break off.
  records(SENSELESS),
  records(pack(eventRecord({ u: NOBODY })).subarray(0, -3)),
  records(pack(7)),
  records(pack({ i: newId(), u: NOBODY, at: NOW, d: 1 })),
  records(pack({ k: 'b', p: 'nowhere' })),
  records(pack({ k: 'g', i: newId(), u: 7, at: NOW })),
  // No tenant, fields of no known name.
  ['r', pack(eventRecord({ u: NOBODY })), ...state(NOBODY, packedState())],
  ['a', 'b', 'c', 'd'],
  // One field of an event that is otherwise as the script writes it.
  event({ i: 'no ID' }),
  event({ v: ['none', 0] }),
  event({ t: null }),
  event({ at: 2 ** 60 }),
  event({ d: 'today' }),
  event({ m: -3_000_000_000 }),
  event({ c: [0.5] }),
  event({ p: [[1, 0, 5, [[1, 'many', 5, []]]]] }),
  event({ w: [[1, 3, 'x', 20_774, 5]] }),
  event({ pa: [[20_780, 20_790, 'no\0ID']] }),
  event({ x: '{"3":' }),
  // The ID of another event.
  event({ i: takenId }),
  // A state of a client's user that cannot be read: the user's next event mends it.
  [...records(), ...state(HOT_USER, SENSELESS)],
  [...records(), ...state(HOT_USER, Buffer.alloc(0))],
];

/** Adds damaged entries to the outbox among the clients' own, and notes where each of them is. */
export async function plantDamagedEntries(stack: ChaosStack): Promise<void> {
  const takenId = await anyEventId(stack);
  const redis = new Redis(stack.redisUrl);
  try {
    for (const fields of damagedEntries(takenId)) {
      const position = (await redis.xadd(outboxKey(SHARD), '*', ...fields)) as string;
      stack.planted.push({ shard: SHARD, position });
    }
  } finally {
    redis.disconnect();
  }
}

/** 32 hex digits. */
async function anyEventId(stack: ChaosStack): Promise<string> {
  const sql = new pg.Client({ connectionString: stack.databaseUrl });
  await sql.connect();
  try {
    let id: string | undefined;
    await eventually('an event is stored', async () => {
      const { rows } = await sql.query<{ id: string }>(`SELECT replace(id::text, '-', '') AS id FROM events LIMIT 1`);
      id = rows[0]?.id;
      return id !== undefined;
    });
    return id!;
  } finally {
    await sql.end();
  }
}
