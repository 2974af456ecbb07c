import * as call from '../packed/call-fields.ts';
import * as guard from '../packed/guard-fields.ts';
import * as record from '../packed/record-fields.ts';
import * as refusal from '../packed/refusal-fields.ts';
import * as user from '../packed/user-fields.ts';
import { SUM_BOUND } from '../domain/decimal.ts';
import { PROFILE_BYTES, STATE_BYTES } from '../packed/state.ts';
import { USED } from './idempotency.ts';
import { lineAt, luaTokens } from './lua-tokens.ts';
import { TOTALS } from './points-totals.ts';

type Shape = Readonly<Record<string, string | number>>;

/** Names of positions, which count from 0 in TypeScript and from 1 in Lua. */
const POSITIONS: Readonly<Record<string, Shape>> = {
  USER: user.USER,
  TOTAL: user.TOTAL,
  PAUSE: user.PAUSE,
  STREAK_RULE: user.STREAK_RULE,
  DAYS_OFF: user.DAYS_OFF,
  SIGN_UP: user.SIGN_UP,
  THRESHOLD: user.THRESHOLD,
  EVENT_RECORD: record.EVENT_RECORD,
  RECORDED_STREAK: record.RECORDED_STREAK,
  RECORDED_POINTS: record.RECORDED_POINTS,
  AWARD: record.AWARD,
  RECORDED_BOARD: record.RECORDED_BOARD,
  SETTLEMENT: record.SETTLEMENT,
  REVERSAL: record.REVERSAL,
  RECOMPUTATION: record.RECOMPUTATION,
  RECOMPUTED_SCORE: record.RECOMPUTED_SCORE,
  COMPENSATED: record.COMPENSATED,
  COMPLETED: record.COMPLETED,
  SHORTFALL: record.SHORTFALL,
  LOOKED_UP: call.LOOKED_UP,
  LEFT: call.LEFT,
  ROW: call.ROW,
  EARNING: call.EARNING,
  CONDITION: call.CONDITION,
  PEAK: call.PEAK,
  CHANGE: call.CHANGE,
  APPLIED: call.APPLIED,
  TOUCHED: call.TOUCHED,
  GUARDED: guard.GUARDED,
  GUARD_SUMS: guard.GUARD_SUMS,
  HISTORY_SUM: call.HISTORY_SUM,
  UNSENT_EVENT: call.UNSENT_EVENT,
};

/** Names of keys, offsets, values and limits, which are the same on both sides. */
const CONSTANTS: Readonly<Record<string, Shape>> = {
  STATE: { size: user.STATE_SIZE },
  STREAK: user.STREAK,
  FREQUENCY: user.FREQUENCY,
  SCORE: user.SCORE,
  GUARD: guard.GUARD,
  GUARD_ACTION: guard.GUARD_ACTION,
  QUARANTINED: guard.QUARANTINED,
  KIND: record.KIND,
  RECORD: record.RECORD,
  SETTLED: record.SETTLED,
  REFUSAL: refusal.REFUSAL,
  REPLAY: refusal.REPLAY,
  BLOCKED: refusal.BLOCKED,
  OUT_OF_RANGE: refusal.OUT_OF_RANGE,
  TOO_MANY_KEYS: refusal.TOO_MANY_KEYS,
  SUM: refusal.SUM,
  SERVER_ONLY: refusal.SERVER_ONLY,
  UNKNOWN_OFFSET: refusal.UNKNOWN_OFFSET,
  UNKNOWN_USE: refusal.UNKNOWN_USE,
  UNCHANGED: refusal.UNCHANGED,
  STREAK_REFUSAL: refusal.STREAK_REFUSAL,
  OUTDATED: refusal.OUTDATED,
  MAYBE_STORED: refusal.MAYBE_STORED,
  UNSENT: refusal.UNSENT,
  EVENT: call.EVENT,
  EVENT_KEY: call.EVENT_KEY,
  BATCH_KEY: call.BATCH_KEY,
  BATCH_ARG: call.BATCH_ARG,
  BATCH_RESULT: call.BATCH_RESULT,
  SENT: call.SENT,
  ROW_OFFSET: call.ROW_OFFSET,
  STEP: call.STEP,
  RECOMPUTED: call.RECOMPUTED,
  COUNTER: call.COUNTER,
  OUTBOX: call.OUTBOX,
  OLD_KEYS: call.OLD_KEYS,
  LISTENED: call.LISTENED,
  HANDED: call.HANDED,
  ANNOUNCED: call.ANNOUNCED,
  LIMIT: { sum: SUM_BOUND, stateBytes: STATE_BYTES, profileBytes: PROFILE_BYTES },
  USED,
  USED_KEYS: user.USED_KEYS,
  TOTALS,
};

const SHAPE = /^[A-Z][A-Z_]*$/;

/**
 * Puts the keys and positions in the place of their names: `record[RECORD.userId]` becomes `record['u']`, which Lua compiles
 * as it does `record.u`, and `state[USER.name]` becomes `state[31]`. So the names cost nothing when a script runs. Lines stay what they were. Throws on a name that
 * `src/packed` does not declare; `file` names the text in the message.
 */
export function inlineNames(text: string, file: string): string {
  const tokens = luaTokens(text);
  let inlined = '';
  for (let n = 0; n < tokens.length; n += 1) {
    const { kind, text: shape, at } = tokens[n]!;
    if (kind !== 'name' || !SHAPE.test(shape) || tokens[n + 1]?.text !== '.' || tokens[n - 1]?.text === '.') {
      inlined += shape;
      continue;
    }
    const name = tokens[n + 2]!.text;
    const literal = literalOf(shape, name);
    if (literal === undefined) throw new Error(`${file}:${lineAt(text, at)}: ${shape}.${name} is not declared`);
    inlined += literal;
    n += 2;
  }
  return inlined;
}

function literalOf(shape: string, name: string): string | undefined {
  const position = declared(POSITIONS, shape, name);
  if (position !== undefined) return String(Number(position) + 1);
  const constant = declared(CONSTANTS, shape, name);
  return typeof constant === 'string' ? `'${constant}'` : constant?.toString();
}

const declared = (shapes: Readonly<Record<string, Shape>>, shape: string, name: string): string | number | undefined =>
  Object.hasOwn(shapes, shape) && Object.hasOwn(shapes[shape]!, name) ? shapes[shape]![name] : undefined;
