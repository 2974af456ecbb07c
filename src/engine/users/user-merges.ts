/** Merges a user into another. Decision 49 has the reasons for one commit. */
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import { compileBoard } from '../../catalog/compile/boards.ts';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import type { Author } from '../../domain/administration/author.ts';
import type { MergeUsersRequest, UserMerge } from '../../domain/administration/merge.ts';
import { LIMITS } from '../../domain/user.ts';
import { AppError } from '../../errors.ts';
import type { RecordAudit } from '../../postgres/access/audit.ts';
import { listFills } from '../../postgres/boards/progress.ts';
import { lettersAbout } from '../../postgres/corrections/dead-letters.ts';
import { storableText } from '../../postgres/storable-json.ts';
import { mergeOf } from '../../postgres/users/merges.ts';
import { clearedRuns } from '../../postgres/users/stored-states.ts';
import { aliasOf, directAlias } from '../../redis/aliases.ts';
import { quarantineKey, type TenantPart } from '../../redis/keys.ts';
import { userPart } from '../../redis/parts.ts';
import { mergeUsers } from '../../rules/merge.ts';
import { decodeUser, encodeUser } from '../../rules/user-codec.ts';
import type { User } from '../../rules/user.ts';
import { type Block, mapPart } from '../changes/block.ts';
import { callsOf } from '../changes/calls.ts';
import { changeUsers, type ReadUser, type Subject } from '../changes/change-users.ts';
import { lackOfRoom } from '../changes/event-change.ts';
import { eventId } from '../ids.ts';
import { openBoards } from '../recomputations/open-boards.ts';
import { Overload } from '../refusals.ts';
import { isControl } from '../responses.ts';
import type { Scripts } from '../scripts.ts';
import { mergeAnswer } from './merge-answer.ts';
import { MOST_MERGED, readTwoUsers, type TwoUsers } from './merge-facts.ts';
import { blockOfFrom, blockOfInto, type MergeChange, type Pair, recordAbout } from './merge-blocks.ts';

interface UserMergesOptions {
  redis: Redis;
  pool: Pool;
  scripts: Scripts;
  clock: Clock;
  controlShare: () => number;
  /** See `FrontendCore`. */
  persisted: (tenantNo: number, userId?: string) => Promise<void>;
  /** Notes, before the first merge of a tenant, that IDs may stand for other users. */
  noteMerges: (tenantNo: number) => Promise<void>;
  /** The sorted sets of boards that may contain users of a tenant's part whose states do not name them. */
  setsOfBoards: (part: TenantPart) => Promise<string[]>;
  recordAudit: RecordAudit;
  /** Called at each moment of a merge, so that tests can stop there. */
  onMoment?: (moment: MergeMoment) => void | Promise<void>;
}

/** The tenant is noted; the merge is computed; it is in Redis. */
export type MergeMoment = 'noted' | 'computed' | 'committed';

/** How often a merge is computed again because one of the two has changed meanwhile. */
const TRIES = 32;
/** After this many, events of both users wait (503), each time for at most this long. A merge that stops leaves nothing to undo. */
const FREE_TRIES = 2;
const HOLD_MS = 5_000;
/** Merges that a process makes at once for each tenant; each takes some queries. More are refused. */
const MOST_AT_ONCE = 16;

export class UserMerges {
  private readonly options: UserMergesOptions;
  /** How many merges of each tenant run now. */
  private readonly running = new Map<number, number>();

  constructor(options: UserMergesOptions) {
    this.options = options;
  }

  /**
   * Merges `from` into `into`, once: the users change in one atomic step, which is computed from Postgres and holds only if neither has
   * changed since. A repeated request gets the first answer (`unchanged`). Throws 404 for an unknown user; 409 for one who cannot be
   * merged now, or was merged into another; 422 for a user who is too large, or the same one; 503 if they change too often.
   */
  async merge(compiled: CompiledCatalog, asked: MergeUsersRequest, by: Author): Promise<UserMerge> {
    const { tenantNo } = compiled.catalog;
    this.options.scripts.refuseOverload();
    const running = this.running.get(tenantNo) ?? 0;
    if (running >= MOST_AT_ONCE) throw new Overload('Too many merges run at once; try again in a moment.');
    this.running.set(tenantNo, running + 1);
    try {
      return await this.mergeNow(compiled, asked, by);
    } finally {
      this.running.set(tenantNo, this.running.get(tenantNo)! - 1);
    }
  }

  private async mergeNow(compiled: CompiledCatalog, asked: MergeUsersRequest, by: Author): Promise<UserMerge> {
    const { redis, persisted, noteMerges, recordAudit } = this.options;
    const { tenantNo } = compiled.catalog;
    const { from, dryRun = false } = asked;
    const into = await aliasOf(redis, tenantNo, asked.into);
    const earlier = await this.earlier(tenantNo, { from, into });
    if (earlier !== null) return earlier;
    const part = this.requireMergeable(tenantNo, { ...asked, into });
    if (!dryRun) await noteMerges(tenantNo);
    await this.options.onMoment?.('noted');
    let heldUntilMs = 0;
    for (let tries = 0; tries < TRIES; tries += 1) {
      await this.requireQuiet(tenantNo, { from, into });
      if (tries >= FREE_TRIES && !dryRun && heldUntilMs - this.options.clock.now() < HOLD_MS / 2)
        heldUntilMs = await this.hold(part, [from, into]);
      const quarantined = await this.quarantined(part, [from, into]);
      await persisted(tenantNo, from);
      const answer = await this.tryOnce({ compiled, part, from, into }, { dryRun, quarantined });
      if (answer === null) {
        const done = await this.earlier(tenantNo, { from, into });
        if (done !== null) return { ...done, status: 'merged' };
        continue;
      }
      if (!dryRun)
        void recordAudit({
          tenantNo,
          by,
          entries: [
            { action: 'merge', kind: 'user', userId: from, after: { into } },
            { action: 'merge', kind: 'user', userId: into, after: { from } },
          ],
        });
      return answer;
    }
    throw new AppError('unavailable', 'The users do too much at once for a merge; try again in a moment.');
  }

  /** The answer to an earlier merge of the same users. Throws 409 if `from` was merged into another; 422 for one user. */
  private async earlier(tenantNo: number, { from, into }: { from: string; into: string }): Promise<UserMerge | null> {
    const { redis, pool, persisted } = this.options;
    if (storableText(from) === storableText(into))
      throw new AppError(
        'unprocessable',
        "from: must be another user than into, and than the one for whom into's ID stands.",
      );
    if ((await directAlias(redis, tenantNo, from)) === null) return null;
    const now = await aliasOf(redis, tenantNo, from);
    if (now !== into) throw new AppError('conflict', `from: the user was merged into '${now}' before.`);
    await persisted(tenantNo, from);
    const row = await mergeOf(pool, tenantNo, from);
    if (row === null) throw new AppError('unavailable', 'The merge is not stored yet; try again in a moment.');
    return { ...(row.answer as UserMerge), into, status: 'unchanged' };
  }

  /** The part that holds both users. Throws 409. */
  private requireMergeable(
    tenantNo: number,
    { from, into, acrossControlGroup = false }: MergeUsersRequest,
  ): TenantPart {
    const { redis, controlShare } = this.options;
    const part = userPart(redis, tenantNo, from);
    if (userPart(redis, tenantNo, into) !== part)
      throw new AppError(
        'conflict',
        'from: the tenant is spread over several shards, and the two users are on different ones. Only users of one shard can be merged.',
      );
    const isIn = (userId: string): boolean => isControl(userId, controlShare());
    if (!acrossControlGroup && isIn(from) !== isIn(into))
      throw new AppError(
        'conflict',
        `from: ${isIn(from) ? 'the user is in the control group, and into is not' : 'the user is not in the control group, and into is'}. With acrossControlGroup, the merged user is where into is.`,
      );
    return part;
  }

  /** Throws 409 or 503 while something else must come first. */
  private async requireQuiet(tenantNo: number, users: { from: string; into: string }): Promise<void> {
    const { pool } = this.options;
    for (const field of ['from', 'into'] as const) {
      const letters = await lettersAbout(pool, { tenantNo, userId: users[field] });
      if (letters.length > 0)
        throw new AppError(
          'conflict',
          `${field}: a dead letter has data of the user that Postgres lacks. Retry or drop it first (laurel dead-letters).`,
        );
    }
    const fills = await listFills(pool, tenantNo);
    if (fills.some(({ status }) => status !== 'done'))
      throw new AppError('unavailable', 'Leaderboards are being filled from history; try again in a moment.');
  }

  /** The users' events in quarantine. A new one uses a key without changing the user's state. */
  private quarantined(part: TenantPart, userIds: readonly string[]): Promise<(string | null)[]> {
    return this.options.redis.hmget(quarantineKey(part), ...userIds);
  }

  /** Lets events of both users wait. Other changes do not: they are rare, and the merge is computed again. Returns until when. */
  private async hold(part: TenantPart, userIds: readonly string[]): Promise<number> {
    const { scripts, clock } = this.options;
    const nowMs = clock.now();
    const subjects = userIds.map((userId): Subject<{ block: Block | null }> => ({
      userId,
      keys: [],
      isGuarded: false,
      compute: ({ packed, generation }) => {
        if (packed === null) return { block: null };
        const user = decodeUser(packed);
        user.heldUntilMs = nowMs + HOLD_MS;
        const records = [mapPart(recordAbout(userId, eventId(nowMs), nowMs), null)];
        const state = encodeUser(user);
        return { block: { userId, expected: packed, generation, state, uses: [], counts: [], fields: [], records } };
      },
    }));
    await changeUsers(callsOf(scripts, part), part, subjects);
    return nowMs + HOLD_MS;
  }

  /** `null`: one of the users has changed, or the merge may be stored. */
  private async tryOnce(
    pair: Pair,
    { dryRun, quarantined }: { dryRun: boolean; quarantined: readonly (string | null)[] },
  ): Promise<UserMerge | null> {
    const { pool, clock } = this.options;
    const { compiled, from, into } = pair;
    const nowMs = clock.now();
    const two = await readTwoUsers(pool, compiled, { from, into, nowMs });
    if (two === 'from' || two === 'into') throw new AppError('not_found', `${two}: there is no user with this ID.`);
    if (two === 'tooLarge')
      throw new AppError(
        'unprocessable',
        `from: the user has more than ${MOST_MERGED.events} events or ${MOST_MERGED.keys} used idempotency keys. Merge the smaller user into the larger one.`,
      );
    const after = mergedUser(compiled, two, nowMs);
    const packed = encodeUser(after);
    if (lackOfRoom(after, packed, null) !== null)
      throw new AppError('unprocessable', 'from: the merged user would have more data than a user may have.');
    const answer = mergeAnswer(compiled, two, after, { from, into, dryRun, nowMs });
    if (dryRun) return answer;
    await this.options.onMoment?.('computed');
    const isDone = await this.commit(pair, { two, after, packed, answer, nowMs, quarantined });
    if (!isDone) return null;
    await this.options.onMoment?.('committed');
    return answer;
  }

  private async commit(
    pair: Pair,
    change: Omit<MergeChange, 'isCleared' | 'boards' | 'sets' | 'ids'>,
  ): Promise<boolean> {
    const { pool, scripts, setsOfBoards } = this.options;
    const { compiled, part, from, into } = pair;
    const { tenantNo, leaderboards } = compiled.catalog;
    const cleared = await clearedRuns(pool, tenantNo);
    const whole: MergeChange = {
      ...change,
      isCleared: ({ board, runDay }) => cleared.get(board)?.has(runDay) === true,
      boards: leaderboards.map((board) => compileBoard(compiled, board, { metric: null, days: [] })),
      sets: await setsOfBoards(part),
      ids: { from: eventId(change.nowMs), into: eventId(change.nowMs) },
    };
    // The record of the other user is computed with these.
    let ofFrom: ReadUser | null = null;
    const same = (read: ReadUser, packed: Buffer, quarantined: string | null | undefined): boolean =>
      read.packed?.equals(packed) === true && read.quarantine.events === (quarantined ?? '');
    const subjects: Subject<{ block: Block | null }>[] = [
      {
        userId: from,
        keys: [],
        isGuarded: true,
        compute: (read) => {
          ofFrom = same(read, change.two.from.packed, change.quarantined[0]) ? read : null;
          return { block: ofFrom === null ? null : blockOfFrom(pair, whole, read) };
        },
      },
      {
        userId: into,
        keys: [],
        isGuarded: true,
        compute: (read) => {
          const isSame = ofFrom !== null && same(read, change.two.into.packed, change.quarantined[1]);
          return { block: isSame ? blockOfInto(pair, whole, { read, ofFrom: ofFrom! }) : null };
        },
      },
    ];
    const isStored = async (): Promise<boolean> => (await mergeOf(pool, tenantNo, from))?.id === whole.ids.into;
    const calls = callsOf(scripts, part, { foundElsewhere: isStored });
    const { ended } = await changeUsers(calls, part, subjects, { together: true });
    return ended !== 'held';
  }
}

function mergedUser(compiled: CompiledCatalog, { from, into, quests, streaks }: TwoUsers, nowMs: number): User {
  const open = new Map(openBoards(compiled, nowMs).map(({ board, runs }) => [board.no, { board, runs }]));
  return mergeUsers(into.user, from.user, {
    nowMs,
    streaks: streaks.streaks,
    length: streaks.length,
    quests,
    boards: Array.from(open.values(), ({ board }) => board),
    isOpen: ({ board, runDay }) => open.get(board)?.runs.some(({ first }) => first === runDay) === true,
    mostTokens: LIMITS.tokens,
  });
}
