import { Redis } from 'ioredis';
import pg from 'pg';
import { outboxKey } from '../../src/redis/keys.ts';
import { eventRecord, newId, NOW, pack, packedState } from '../engine/persist/outbox-writer.ts';
import { HOT_USER } from './client.ts';
import { eventually } from './processes.ts';
import type { ChaosStack } from './stack.ts';

type Fields = (string | number | Buffer)[];

/** A user of no client: if one of these records is stored after all, the audit finds a user without events. */
const NOBODY = 'nobody';
/** The clients' tenant, which is on this shard. */
const TENANT = 0;
const SHARD = 0;
/** No msgpack value begins with this. */
const SENSELESS = Buffer.from([0xc1]);

const records = (...some: Buffer[]): Fields => ['t', TENANT, 'r', Buffer.concat(some)];
const state = (userId: string, packed: Buffer): Fields => ['u', userId, 's', packed];
const event = (damage: object): Fields => records(pack({ ...eventRecord({ u: NOBODY }), ...damage }));

/** Entries that cannot be stored, each damaged in another way. `takenId`: ID of a stored event. */
const damagedEntries = (takenId: string): Fields[] => [
  // Records without sense, or truncated.
  records(SENSELESS),
  records(pack(eventRecord({ u: NOBODY })).subarray(0, -3)),
  records(pack(7)),
  records(pack({ i: newId(), u: NOBODY, at: NOW, d: 1 })),
  records(pack({ k: 'b', p: 'nowhere' })),
  records(pack({ k: 'g', i: newId(), u: 7, at: NOW })),
  // No tenant, and unknown field names.
  ['r', pack(eventRecord({ u: NOBODY })), ...state(NOBODY, packedState())],
  ['a', 'b', 'c', 'd'],
  // One wrong field in an event that is otherwise as the script writes it.
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
  // An unreadable state of a client's user: the user's next event repairs it.
  [...records(), ...state(HOT_USER, SENSELESS)],
  [...records(), ...state(HOT_USER, Buffer.alloc(0))],
];

/** Adds damaged entries to the outbox among the clients' own, and records their positions. */
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
