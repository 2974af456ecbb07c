/** Merges a user into another. Decision 49 has the reasons for one commit, and decision 54 those of merges across shards. */
import type { Redis } from 'ioredis';
import type { Pool } from 'pg';
import type { CompiledCatalog } from '../../catalog/compiled-catalog.ts';
import type { Clock } from '../../clock.ts';
import type { Author } from '../../domain/administration/author.ts';
import type { MergeUsersRequest, UserMerge } from '../../domain/administration/merge.ts';
import { AppError } from '../../errors.ts';
import type { RecordAudit } from '../../postgres/access/audit.ts';
import { storableText } from '../../postgres/storable-json.ts';
import { mergeOf } from '../../postgres/users/merges.ts';
import { aliasOf, directAlias } from '../../redis/aliases.ts';
import { quarantineKey, type TenantPart } from '../../redis/keys.ts';
import { userPart } from '../../redis/parts.ts';
import type { Block } from '../changes/block.ts';
import { callsOf } from '../changes/calls.ts';
import { changeUsers, type ReadUser, type Subject } from '../changes/change-users.ts';
import { eventId } from '../ids.ts';
import { besideClearing } from '../leaderboards/beside-clearing.ts';
import { Overload } from '../refusals.ts';
import { isControl } from '../responses/users.ts';
import type { Scripts } from '../scripts.ts';
import {
  blockOfFrom,
  blockOfInto,
  type ComputedMerge,
  type MergeChange,
  type Pair,
  recordAbout,
} from './merge-blocks.ts';
import { boardsOfMerge, computeMerge, HOLD_MS, holdOf, isSameUser, requireQuiet } from './merge-computation.ts';
import { createMergesAcross, type SealMoment } from './merges-across.ts';

interface UserMergesOptions {
  redis: Redis;
  pool: Pool;
  scripts: Scripts;
  clock: Clock;
  controlShare: () => number;
  /** See `ServicesCore`. */
  persisted: (tenantNo: number, userId?: string) => Promise<void>;
  /** Notes, before the first merge of a tenant, that IDs may stand for other users. */
  noteMerges: (tenantNo: number) => Promise<void>;
  /** The sorted sets of boards that may contain users of a tenant's part whose states do not name them. */
  setsOfBoards: (part: TenantPart) => Promise<string[]>;
  recordAudit: RecordAudit;
  /** Wakes the workers that end merges across shards. */
  wakeJobs: () => Promise<void>;
  /** Called at each moment of a merge, so that tests can stop there. */
  onMoment?: (moment: MergeMoment) => void | Promise<void>;
}

/** The tenant is noted; the merge is computed; it is in Redis. */
export type MergeMoment = 'noted' | 'computed' | 'committed' | SealMoment;

/** How often a merge is computed again because one of the two has changed meanwhile. */
const TRIES = 32;
/** After this many, events of both users wait (503), each time for at most this long. A merge that stops leaves nothing to undo. */
const FREE_TRIES = 2;
/** Merges that a process makes at once for each tenant; each takes some queries. More are refused. */
const MOST_AT_ONCE = 16;

export class UserMerges {
  private readonly options: UserMergesOptions;
  /** How many merges of each tenant run now. */
  private readonly running = new Map<number, number>();
  private readonly across: ReturnType<typeof createMergesAcross>;

  constructor(options: UserMergesOptions) {
    this.options = options;
    this.across = createMergesAcross({ ...options, onMoment: (moment) => this.options.onMoment?.(moment) });
  }

  /**
   * Merges `from` into `into`, once. Users of one shard change in one atomic step, which is computed from Postgres and holds only if
   * neither has changed since; others are merged by a worker. A repeated request gets the first answer (`unchanged`). Throws 404 for an
   * unknown user; 409 for one who cannot be merged now, or was merged into another; 422 for a user who is too large, or the same one; 503 if they change too often.
   */
  async merge(compiled: CompiledCatalog, request: MergeUsersRequest, by: Author): Promise<UserMerge> {
    const { tenantNo } = compiled.catalog;
    this.options.scripts.refuseOverload();
    const running = this.running.get(tenantNo) ?? 0;
    if (running >= MOST_AT_ONCE) throw new Overload('Too many merges run at once; try again in a moment.');
    this.running.set(tenantNo, running + 1);
    try {
      return await this.mergeNow(compiled, request, by);
    } finally {
      this.running.set(tenantNo, this.running.get(tenantNo)! - 1);
    }
  }

  private async mergeNow(compiled: CompiledCatalog, request: MergeUsersRequest, by: Author): Promise<UserMerge> {
    const { redis, noteMerges, recordAudit } = this.options;
    const { tenantNo } = compiled.catalog;
    const { from, dryRun = false } = request;
    const into = await aliasOf(redis, tenantNo, request.into);
    const earlier = await this.earlier(tenantNo, from, into);
    if (earlier !== null) return earlier;
    this.requireSameGroup({ ...request, into });
    if (!dryRun) await noteMerges(tenantNo);
    await this.options.onMoment?.('noted');
    const part = userPart(redis, tenantNo, from);
    let answer: UserMerge;
    try {
      answer =
        userPart(redis, tenantNo, into) === part
          ? await this.mergeWithin({ compiled, part, from, into }, dryRun)
          : await this.across.merge(compiled, { from, into }, dryRun);
    } catch (error) {
      // Another request may have merged them meanwhile; then `from` is gone.
      const isGone = error instanceof AppError && error.code === 'not_found';
      const done = isGone ? await this.earlier(tenantNo, from, into) : null;
      if (done === null) throw error;
      return done;
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

  /** Merges two users of one shard. */
  private async mergeWithin(pair: Pair, dryRun: boolean): Promise<UserMerge> {
    const { pool, persisted } = this.options;
    const { compiled, part, from, into } = pair;
    const { tenantNo } = compiled.catalog;
    let heldUntilMs = 0;
    for (let tries = 0; tries < TRIES; tries += 1) {
      await requireQuiet(pool, tenantNo, { from, into });
      if (tries >= FREE_TRIES && !dryRun && heldUntilMs - this.options.clock.now() < HOLD_MS / 2)
        heldUntilMs = await this.hold(part, [from, into]);
      const quarantined = await this.quarantined(part, [from, into]);
      await persisted(tenantNo, from);
      const answer = await this.tryOnce(pair, { dryRun, quarantined });
      if (answer !== null) return answer;
      const done = await this.earlier(tenantNo, from, into);
      if (done !== null) return { ...done, status: 'merged' };
    }
    throw new AppError('unavailable', 'The users do too much at once for a merge; try again in a moment.');
  }

  /** The answer to an earlier merge of the same users. Throws 409 if `from` was merged into another; 422 for one user. */
  private async earlier(tenantNo: number, from: string, into: string): Promise<UserMerge | null> {
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

  /** Throws 409. */
  private requireSameGroup({ from, into, acrossControlGroup = false }: MergeUsersRequest): void {
    const { controlShare } = this.options;
    const isIn = (userId: string): boolean => isControl(userId, controlShare());
    if (!acrossControlGroup && isIn(from) !== isIn(into))
      throw new AppError(
        'conflict',
        `from: ${isIn(from) ? 'the user is in the control group, and into is not' : 'the user is not in the control group, and into is'}. With acrossControlGroup, the merged user is where into is.`,
      );
  }

  /** The users' events in quarantine. A new one uses a key without changing the user's state. */
  private quarantined(part: TenantPart, userIds: readonly string[]): Promise<(string | null)[]> {
    return this.options.redis.hmget(quarantineKey(part), ...userIds);
  }

  /** Lets events of both users wait. Returns until when. */
  private async hold(part: TenantPart, userIds: readonly string[]): Promise<number> {
    const { scripts, clock } = this.options;
    const nowMs = clock.now();
    const subjects = userIds.map((userId) => holdOf(userId, nowMs));
    await changeUsers(callsOf(scripts, part), part, subjects);
    return nowMs + HOLD_MS;
  }

  /** `null`: one of the users has changed, or the merge may be stored. */
  private async tryOnce(
    pair: Pair,
    { dryRun, quarantined }: { dryRun: boolean; quarantined: readonly (string | null)[] },
  ): Promise<UserMerge | null> {
    const { redis, pool, clock } = this.options;
    const { compiled, from, into } = pair;
    const computed = await computeMerge(pool, compiled, { from, into, dryRun, nowMs: clock.now() });
    if (dryRun) return computed.answer;
    return besideClearing({ redis, pool }, compiled.catalog.tenantNo, async (isCleared) => {
      await this.options.onMoment?.('computed');
      const isDone = await this.commit(pair, { ...computed, isCleared }, quarantined);
      if (!isDone) return null;
      await this.options.onMoment?.('committed');
      return computed.answer;
    });
  }

  private async commit(
    pair: Pair,
    computed: ComputedMerge & Pick<MergeChange, 'isCleared'>,
    quarantined: readonly (string | null)[],
  ): Promise<boolean> {
    const { pool, scripts, setsOfBoards } = this.options;
    const { compiled, part, from, into } = pair;
    const { two, nowMs, isCleared } = computed;
    const id = eventId(nowMs);
    const change: MergeChange = { ...computed, boards: boardsOfMerge(compiled), id };
    const sets = await setsOfBoards(part);
    // The record of the other user is computed with these.
    let ofFrom: ReadUser | null = null;
    const subjects: Subject<{ block: Block | null }>[] = [
      {
        userId: from,
        keys: [],
        isGuarded: true,
        compute: (read) => {
          ofFrom = isSameUser(read, two.from.packed, quarantined[0]) ? read : null;
          if (ofFrom === null) return { block: null };
          const record = recordAbout(from, eventId(nowMs), nowMs);
          const removal = { userId: from, user: two.from.user, alias: into, isCleared, sets, record };
          return { block: blockOfFrom(part, read, removal) };
        },
      },
      {
        userId: into,
        keys: [],
        isGuarded: true,
        compute: (read) => {
          if (ofFrom === null || !isSameUser(read, two.into.packed, quarantined[1])) return { block: null };
          return { block: blockOfInto(pair, change, read, ofFrom.quarantine.events) };
        },
      },
    ];
    const isStored = async (): Promise<boolean> => (await mergeOf(pool, compiled.catalog.tenantNo, from))?.id === id;
    const calls = callsOf(scripts, part, { foundElsewhere: isStored });
    const { ended } = await changeUsers(calls, part, subjects, { together: true });
    return ended !== 'held';
  }
}
