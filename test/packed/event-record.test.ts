import { join } from 'node:path';
import { expect, test } from 'vitest';
import { recordOf, unpack } from '../../src/packed/state.ts';
import { pack } from '../../src/packed/pack-state.ts';
import { EVENT_RECORD, KIND, kindField, RECORD } from '../../src/packed/record-fields.ts';
import { PACKAGE_ROOT } from '../../src/package-root.ts';
import { inlineNames, readScript } from '../../src/redis/lua-library.ts';
import { connectedRedis } from '../stack/connected-redis.ts';

const redis = await connectedRedis();
const ID = '018bcfe56800700080000000000a0000';

/** The record of an event of Ada's, packed by Redis; `outcome` and `args`: Lua. */
const packedEvent = async (outcome: string, args: string): Promise<Buffer> =>
  (await redis.callBuffer(
    'EVAL',
    `${readScript(join(PACKAGE_ROOT, 'lua/lib/event_record.lua'))}
${inlineNames(
  `local state = { [USER.totals] = { [9] = { 5, 250000, 8 } }, [USER.freezes] = 2 }
for offset, value in ipairs({ 3, 19998, 20000, 1700000000000, 20000 }) do
  state[streak_at[1] + offset - 1] = value
end
local event = { plan = { version = 4, metric = 9, streak = { frequency = 1 } }, now = 1700000000000, whole = 1, micros = 500000 }
local record = event_record(event, ${outcome}, state, ${args})
record[EVENT_RECORD.boards] = { { 8, 20000, '', -1, 2, 0 } }
return cmsgpack.pack(record)`,
  'event record',
)}`,
    0,
  )) as Buffer;

const PLAIN = {
  [kindField]: KIND.event,
  [RECORD.id]: ID,
  [RECORD.userId]: 'ada',
  [RECORD.atMs]: 1700000000000,
  [RECORD.day]: 20000,
  [RECORD.metric]: 9,
  [RECORD.value]: [1, 500000],
  [RECORD.total]: [5, 250000],
  [RECORD.streak]: [3, 19998, 20000, 0, 2],
  [RECORD.boards]: [[8, 20000, '', -1, 2, 0]],
};

test('a plain event is a list, and is read by the names of records', async () => {
  const packed = await packedEvent('{ day = 20000, completed = {}, ledgers = {} }', `false, '${ID}', 'ada', '', ''`);
  expect(unpack(packed)).toEqual(PLAIN);
  // A list of 16: without the rare fields.
  expect(packed[0]).toBe(0xdc);
  expect(packed.readUInt16BE(1)).toBe(EVENT_RECORD.more);
});

test('an event with all that it may have is read whole', async () => {
  const outcome = `{ day = 20000, completed = { 6 }, extended = true, due_moved = true, active_before = 19998, settlements = { { 1, 1, 19999, 19999 }, earned = 1 },
    ledgers = { { system = { no = 5 }, before = 10, total = 15, awards = { { 7, 5, 15, {} } } } } }`;
  const packed = await packedEvent(outcome, `true, '${ID}', 'ada', '{"x":1}', 'key-1'`);
  expect(unpack(packed)).toEqual({
    ...PLAIN,
    [RECORD.streak]: [3, 19998, 20000, 1, 2],
    [RECORD.points]: [[5, 10, 15, [[7, 5, 15, []]]]],
    [RECORD.version]: 4,
    [RECORD.attributes]: '{"x":1}',
    [RECORD.idempotencyKey]: 'key-1',
    [RECORD.isNew]: 1,
    [RECORD.activeBefore]: 19998,
    [RECORD.completed]: [6],
    [RECORD.due]: 1,
    [RECORD.settlements]: [[1, 1, 19999, 19999]],
    [RECORD.freezes]: 2,
    [RECORD.freezesEarned]: 1,
  });
});

test('values that are not an event record are returned unchanged', () => {
  for (const other of [[KIND.event, ID, 'ada'], ['x', 1], [], null, 7, PLAIN]) expect(recordOf(other)).toEqual(other);
});

test('a retry finds what an earlier try recorded', async () => {
  const other = await packedEvent('{ day = 20000, completed = {}, ledgers = {} }', `false, '${ID}', 'ada', '', ''`);
  const outbox = 'event-record:outbox';
  const since = (await redis.xadd(outbox, '*', 't', '0', 'r', ''))!;
  await redis.xadd(outbox, '*', 't', '0', 'r', Buffer.concat([pack({ [RECORD.id]: 'another' }), other]));
  const found = (await redis.callBuffer(
    'EVAL',
    `${readScript(join(PACKAGE_ROOT, 'lua/lib/calls.lua'))}
return open_retry(KEYS[1], ARGV[1]).record(ARGV[2])`,
    1,
    outbox,
    since,
    ID,
  )) as Buffer;
  expect(unpack(found)).toEqual(PLAIN);
  await redis.del(outbox);
});
