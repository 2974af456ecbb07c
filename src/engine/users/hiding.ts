import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { compileBoard } from '../../catalog/compile/boards.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import { epochDay } from '../../domain/periods.ts';
import { kindField } from '../../packed/record-fields.ts';
import { REFUSAL } from '../../packed/refusal-fields.ts';
import type { User } from '../../rules/user.ts';
import { HIDDEN_BY } from '../../packed/user-fields.ts';
import { boardKey, boardOfKey, type TenantPart } from '../../redis/keys.ts';
import { userPart } from '../../redis/parts.ts';
import { type BoardSet, leaveSets, setHidden } from '../../rules/hiding.ts';
import type { Plan } from '../../rules/plan.ts';
import { requestRecord } from '../../rules/record.ts';
import { decodeUser, encodeUser } from '../../rules/user-codec.ts';
import { dayOfUser } from '../../rules/user.ts';
import { type Block, countsOf, mapPart, movesPart } from '../changes/block.ts';
import { callsOf } from '../changes/calls.ts';
import { changeUsers, type ReadUser } from '../changes/change-users.ts';
import { eventId } from '../ids.ts';
import { besideClearing, type IsCleared } from '../leaderboards/beside-clearing.ts';
import { refusalError } from '../refusals.ts';
import type { Scripts } from '../scripts.ts';

export interface HidingOptions {
  redis: Redis;
  pool: Pool;
  scripts: Scripts;
  /** The sorted sets of boards that may contain users of a tenant's part whose states do not name them. */
  setsOfBoards: (part: TenantPart) => Promise<string[]>;
  clock: Clock;
}

/** Who hides a user, or ends that. */
interface HideRequest {
  by: keyof typeof HIDDEN_BY;
  hidden: boolean;
}

export function createHiding({ redis, pool, scripts, setsOfBoards, clock }: HidingOptions) {
  /**
   * Hides a user, or ends that, for an administrator or the user. Returns the state afterwards. A hidden user keeps
   * everything but is absent from rankings that are not final; a user who is shown again takes the place of the score.
   * Idempotent. Throws 404 for an unknown user, 503.
   */
  async function set(compiled: CompiledCatalog, userId: string, request: HideRequest): Promise<User> {
    scripts.refuseOverload();
    return besideClearing({ redis, pool }, compiled.catalog.tenantNo, (isCleared) =>
      setBeside(compiled, userId, request, isCleared),
    );
  }

  async function setBeside(
    compiled: CompiledCatalog,
    userId: string,
    { by, hidden }: HideRequest,
    isCleared: IsCleared,
  ): Promise<User> {
    const { tenantNo } = compiled.catalog;
    const part = userPart(redis, tenantNo, userId);
    const nowMs = clock.now();
    const today = epochDay(nowMs);
    const days = [today - 1, today, today + 1];
    const around: Surroundings = {
      part,
      userId,
      id: eventId(nowMs),
      nowMs,
      plan: compiled.userPlan(today).plan,
      boards: compiled.catalog.leaderboards.map((board) => compileBoard(compiled, board, { metric: null, days })),
      // Cleared runs have no sets any longer, and must not get new ones.
      isCleared,
      sets: hidden ? (await setsOfBoards(part)).map((key) => boardSetOf(part, key)) : [],
    };
    const subject = {
      userId,
      keys: [],
      isGuarded: false,
      compute: (read: ReadUser) => hidingOf(read, { by: HIDDEN_BY[by], hidden }, around),
    };
    const { changed } = await changeUsers(callsOf(scripts, part), part, [subject]);
    const { state } = changed[0]!.change;
    if (state === null) throw refusalError(compiled, { [kindField]: REFUSAL.unknownUser });
    return decodeUser(state);
  }

  return { set };
}

export type Hiding = ReturnType<typeof createHiding>;

interface Surroundings extends Pick<Parameters<typeof setHidden>[2], 'boards' | 'isCleared' | 'nowMs'> {
  part: TenantPart;
  userId: string;
  /** ID of the record. */
  id: string;
  plan: Plan;
  /** Sorted sets in which the user may be although the state does not name them. */
  sets: readonly BoardSet[];
}

/** The change of a user. `state`: the state afterwards; `null` for an unknown user. */
function hidingOf(
  { packed, generation }: ReadUser,
  request: { by: number; hidden: boolean },
  { part, userId, id, plan, sets, ...around }: Surroundings,
): { block: Block | null; state: Buffer | null } {
  if (packed === null) return { block: null, state: null };
  const user = decodeUser(packed);
  const scores = setHidden(user, request, around);
  if (scores === null) return { block: null, state: packed };
  const { nowMs } = around;
  const nothing = { settlements: null, completed: [], quests: [], ledgers: [] };
  const effects = { day: dayOfUser(user, nowMs), ...nothing, scores };
  const record = requestRecord(user, effects, { plan, nowMs, isNew: false, id, userId });
  const state = encodeUser(user);
  const block = {
    userId,
    expected: packed,
    generation,
    state,
    uses: [],
    counts: countsOf(part, { isNew: false, ...effects }),
    fields: [],
    records: [mapPart(record, scores), ...(user.hidden === 0 ? [] : [movesPart(leaveSets(user, sets))])],
  };
  return { block, state };
}

/** The sorted set with a key. */
export function boardSetOf(part: TenantPart, key: string): BoardSet {
  const { boardNo, runDay } = boardOfKey(key)!;
  return { board: boardNo, runDay, group: key.slice(boardKey(part, { boardNo, runDay, group: '' }).length) };
}
