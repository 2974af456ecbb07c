import type { Span } from '@opentelemetry/api';
import type { Redis } from 'ioredis';
import { createHash } from 'node:crypto';
import type { CompiledCatalog } from '../catalog/compiled-catalog.ts';
import type { PlanAchievement } from '../catalog/plan.ts';
import type { Clock } from '../clock.ts';
import type { Author } from '../domain/administration/author.ts';
import { DAY_MS } from '../domain/periods.ts';
import { AppError } from '../errors.ts';
import { kindField } from '../packed/record-fields.ts';
import type { ScriptReply } from '../packed/record.ts';
import { MAYBE_STORED, REFUSAL, UNKNOWN_OFFSET } from '../packed/refusal-fields.ts';
import { type PackedPause, unpack } from '../packed/state.ts';
import { ConnectionKiller, isConnectionLost } from '../redis/outage.ts';
import { connectionOf, onServer } from '../redis/endpoints.ts';
import { gateOf, isOpen, RedisNotReady } from '../redis/gate.ts';
import { boardKeyPrefix, countersKey, outboxKey, pointsKeyPrefix, shardOf, userKey } from '../redis/keys.ts';
import { comparePositions, OUTBOX_START } from '../redis/outbox.ts';
import { NotReplicated, type ReplicaAcknowledgement } from '../redis/replica-acknowledgement.ts';
import { type JoinedCalls, type Script, scriptNamed, type Words } from '../redis/script.ts';
import { problemOf, scriptSpan } from '../telemetry/spans.ts';
import type { Traces } from '../telemetry/traces.ts';
import type { ReversalPlan } from './corrections/reversal-plan.ts';
import { eventId } from './ids.ts';
import type { PlannedUser } from './recomputations/planned-user.ts';
import { refuseOverload } from './refusals.ts';
import { type SentUser, withZone } from './users/sent-user.ts';

/** A request as the engine knows it: its author, and its span if it is sampled. */
export interface Asked {
  by: Author;
  span?: Span | undefined;
}

/** A change of one user's streak, see `lua/adjust_streak.lua`. Days are epoch days. */
export type StreakChange =
  | { freeze: true; max: number }
  | { pause: PackedPause }
  | { unpause: PackedPause }
  | { reset: true }
  | { restore: { length: number; first: number; last: number; since: number } };

/** The scripts about one user, and what each takes besides what all of them do. The scripts' headers document it. */
interface UserScripts {
  identify_user: { mustExist: boolean };
  complete_achievement: { achievement: PlanAchievement };
  adjust_streak: { change: StreakChange };
  reverse_event: { reversal: ReversalPlan; dryRun: boolean };
  hide_user: { boards: readonly object[]; by: number; hidden: boolean };
  delete_user: object;
  import_user: { import: string; counters: readonly string[]; sets: readonly { score?: string; group?: string }[] };
}

/** A user in a call about many: the ID of the record that it may make, the user's own boosts. */
interface BoostedUser {
  userId: string;
  id: string;
  boosts: string | undefined;
}

/** The offset of the zone that a user is expected to be in, at a time. */
interface ZonedUser extends BoostedUser {
  /** IANA name; '' is UTC. */
  zone: string;
  offsetSeconds: number;
}

/** The scripts about many users of a tenant, and what each takes. */
interface UsersScripts {
  backdate_achievements: {
    users: (BoostedUser & { counts?: { no: number; total: [number, number] }[]; digest?: string })[];
  };
  count_years: { users: (ZonedUser & { atMs: number; signUpDay: number; years: number })[] };
  pay_time_triggers: { payments: (ZonedUser & { dueMs: number; triggers: number[] })[] };
  recompute_users: {
    step: number;
    job: string;
    reverts: boolean;
    users: { userId: string; id: string; planned: PlannedUser }[];
  };
  fill_board: { users: { userId: string; sums: readonly unknown[] }[] };
  sweep_streaks: {
    zone: string;
    offsetSeconds: number;
    untilMs: number | undefined;
    idPrefix: string;
    users: readonly string[];
  };
}

interface ScriptsOptions {
  redis: Redis;
  clock: Clock;
  /** Called when entries were written to the outbox of a shard. */
  onWritten: (shard: number) => void;
  /** Whether the outbox holds more than it may: calls about one user answer 503 then. Left out: never. */
  overloaded?: () => boolean;
  /** Makes a span of each call that a sampled request waits for; null: none. */
  traces?: Traces | null;
}

/** A call of a script that ends its reply with the outbox position after it ('' if it wrote nothing). */
export interface ShardCall {
  script: Script;
  keysAndArgs: (at: { nowMs: number; retryPosition: string }) => { keys: string[]; args: Words };
  /**
   * Asked by a retry whose first try may have left the outbox for Postgres: true ends the call, as its answer
   * was found; false, or without it, runs it again: for calls that change nothing the second time.
   */
  foundElsewhere?: () => Promise<boolean>;
  /** The caller waits for a replica itself (`replicated`), before anybody hears of the replies. */
  isAcknowledgedLater?: boolean;
  /** Calls that its first try goes with; a retry goes alone. */
  joined?: JoinedCalls | undefined;
  /** Spans of the sampled requests that wait for it. */
  spans?: readonly Span[] | undefined;
  /** How many events it carries; left out: it carries none. */
  events?: number;
}

/** A call about one user. */
interface UserCall<S extends keyof UserScripts> {
  script: S;
  userId: string;
  body: UserScripts[S];
  /** Whose plan of no metric, and boosts, the script takes; left out: it takes none. */
  compiled?: CompiledCatalog;
  /** What a request says of the user; null, or left out: nothing. */
  sent?: SentUser | null;
  /** Further keys, which belong to the tenant. */
  keys?: readonly string[];
  states?: readonly Buffer[];
  /** Whether Postgres holds what the call (32 hex digits) did; left out: it changes nothing the second time. */
  isStored?: (id: string) => Promise<boolean>;
  span?: Span | undefined;
}

/** What a call about one user came to. */
interface UserReply {
  reply: ScriptReply;
  /** The user's packed state; empty where there is none, or a script does not say. */
  state: Buffer;
  /** Whether it was tried more than once: an earlier try may have done it. */
  retried: boolean;
}

/** What every script that changes users of a tenant takes: CALL_KEY, CALL_ARG. */
function keysAndArgs(
  tenantNo: number,
  {
    nowMs,
    retryPosition = '',
    plan = '',
    body,
    keys = [],
    states = [],
  }: {
    nowMs: number;
    retryPosition?: string;
    plan?: string;
    body: object;
    keys?: readonly string[];
    states?: readonly (Buffer | string)[];
  },
): { keys: string[]; args: Words } {
  const { keys: ofTenant, args } = tenantCall(tenantNo, { nowMs, retryPosition });
  return { keys: [...ofTenant, ...keys], args: [...args, plan, JSON.stringify(body), ...states] };
}

/** The beginning of it, with which calls of `record_events` begin, too. */
export const tenantCall = (
  tenantNo: number,
  { nowMs, retryPosition }: { nowMs: number; retryPosition: string },
): { keys: string[]; args: (string | number)[] } => ({
  keys: [outboxKey(shardOf(tenantNo)), countersKey(tenantNo)],
  args: [nowMs, tenantNo, boardKeyPrefix(tenantNo), pointsKeyPrefix(tenantNo), retryPosition],
});

/** How long a call whose outcome is unknown is tried again before it answers 503. */
const RETRY_MS = 2_000;

/**
 * Calls the scripts that write: their keys and arguments, the shard's connection and what is believed of it, spans, retries.
 *
 * A call whose connection broke is retried with the same IDs and an outbox position from before it, by which the script
 * recognises what the first try applied. The broken connection is closed in Redis first, so that the first try cannot come after
 * the second.
 */
export class Scripts {
  private readonly options: ScriptsOptions;
  /** The position after the last write, by shard. */
  private readonly positions = new Map<number, string>();
  /** The position after the last write that a caller may have heard of, by shard: where replicas have to have it, they do. */
  readonly acknowledged = new Map<number, string>();

  constructor(options: ScriptsOptions) {
    this.options = options;
    // They need to know the connections before a first one breaks.
    onServer(options.redis, ({ redis }) => void ConnectionKiller.of(redis));
  }

  /** Whether spans are made. */
  get traced(): boolean {
    return this.options.traces !== null && this.options.traces !== undefined;
  }

  /** Throws 503 while the outbox is full: before work that calls about many single users. */
  refuseOverload(): void {
    if (this.options.overloaded !== undefined) refuseOverload(this.options.overloaded);
  }

  /**
   * Calls a script about one user, with the present offset of the user's zone where the script asks for it. Applied once, even if
   * the connection breaks under it. Null: an earlier try did it, and Postgres holds it (`isStored`). 503 if the outbox is full or
   * Redis does not answer; other refusals are replies.
   */
  async callUser<S extends keyof UserScripts>(
    tenantNo: number,
    { script, userId, body, compiled, sent = null, keys = [], states = [], isStored, span }: UserCall<S>,
  ): Promise<UserReply | null> {
    const { clock } = this.options;
    this.refuseOverload();
    const id = eventId(clock.now());
    let said = sent;
    let retried = false;
    for (;;) {
      const replies = await this.callShard(tenantNo, {
        script: scriptNamed(script),
        spans: span && [span],
        keysAndArgs: ({ nowMs, retryPosition }) => {
          retried = retryPosition !== '';
          return keysAndArgs(tenantNo, {
            nowMs,
            retryPosition,
            plan: compiled?.userPlan(Math.floor(nowMs / DAY_MS)).json ?? '',
            body: {
              ...body,
              userId,
              id,
              sent: said === null ? undefined : JSON.stringify(said),
              boosts: compiled?.personalBoosts.get(userId),
            },
            keys: [userKey(tenantNo, userId), ...keys],
            states,
          });
        },
        ...(isStored && { foundElsewhere: () => isStored(id) }),
      });
      if (replies === null) return null;
      const [packed, state] = replies as [Buffer, Buffer];
      const reply = unpack(packed) as ScriptReply;
      if (reply[kindField] !== REFUSAL.unknownOffset) return { reply, state, retried };
      said = withZone(said, reply[UNKNOWN_OFFSET.zone], clock.now());
    }
  }

  /** Drops events from quarantine. A retry changes nothing. 503 if Redis does not answer. */
  async dropQuarantined(tenantNo: number, events: readonly { userId: string; id: string }[]): Promise<void> {
    const body = { events: events.map(({ userId, id }) => ({ userId, id })) };
    await this.callShard(tenantNo, {
      script: scriptNamed('drop_quarantined'),
      keysAndArgs: (at) => keysAndArgs(tenantNo, { ...at, body }),
    });
  }

  /**
   * The script's replies without the position; null if `foundElsewhere` ended it. 503 if Redis does not answer, which
   * leaves open whether the call was, or will be, applied.
   */
  async callShard(tenantNo: number, call: ShardCall): Promise<Buffer[] | null> {
    if (call.spans === undefined || call.spans.length === 0) return this.make(tenantNo, call);
    const traces = this.options.traces!;
    const span = traces.forRequests(scriptSpan(call.script, call.events), call.spans);
    try {
      const replies = await this.make(tenantNo, call);
      traces.ended(span);
      return replies;
    } catch (error) {
      traces.ended(span, problemOf(error));
      throw error;
    }
  }

  private async make(tenantNo: number, call: ShardCall): Promise<Buffer[] | null> {
    const { clock } = this.options;
    const shard = shardOf(tenantNo);
    let redis = connectionOf(this.options.redis, shard);
    if (redis.status !== 'ready' || !isOpen(redis, shard)) throw unavailable();
    const nowMs = clock.now();
    const before = this.positions.get(shard) ?? (await this.firstPosition(shard));
    const deadlineMs = Date.now() + RETRY_MS;
    let retryPosition = '';
    let sentOver: number | null = null;
    let toKill: number | null = null;
    for (;;) {
      try {
        const killer = ConnectionKiller.of(redis);
        if (toKill !== null) await killer.killConnection(toKill);
        toKill = null;
        sentOver = killer.connectionId;
        const { keys, args } = call.keysAndArgs({ nowMs, retryPosition });
        const running =
          call.isAcknowledgedLater === true
            ? call.script.runUnacknowledged(redis, keys, args, call.joined)
            : call.script.run(redis, keys, args);
        const replies = (await running) as Buffer[];
        const position = replies.pop()!.toString('latin1');
        if (retryPosition !== '') {
          const first = unpack(replies[0]!) as ScriptReply;
          if (first[kindField] === REFUSAL.maybeStored) {
            if (await call.foundElsewhere?.()) return null;
            retryPosition = first[MAYBE_STORED.upTo];
            continue;
          }
        }
        if (position !== '') {
          this.positions.set(shard, position);
          if (call.isAcknowledgedLater !== true || this.acknowledgementOf(shard) === null)
            this.noteAcknowledged(shard, position);
          this.options.onWritten(shard);
        }
        return replies;
      } catch (error) {
        if (error instanceof NotReplicated) throw unavailable();
        // What is not ready has done nothing: that try counts for nothing.
        const lost = isConnectionLost(error);
        if (!lost && !(error instanceof RedisNotReady)) throw error;
        if (lost) {
          retryPosition = before;
          toKill ??= sentOver;
        }
        const open = await reopened(this.options.redis, shard, deadlineMs);
        // A cluster moved the shard: the node that lost it executes nothing of what it was sent earlier.
        if (open !== null && open !== redis) toKill = null;
        else if (open === null || (lost && toKill === null)) throw unavailable();
        redis = open;
      }
    }
  }

  /** Resolves when what was replied so far to a tenant's calls is as safe as it has to be; null: it is. Rejects with 503. */
  replicated(tenantNo: number): Promise<void> | null {
    const shard = shardOf(tenantNo);
    const acknowledgement = this.acknowledgementOf(shard);
    if (acknowledgement === null) return null;
    const position = this.positions.get(shard);
    return acknowledgement.waitForNoted().then(
      () => void (position !== undefined && this.noteAcknowledged(shard, position)),
      (error: unknown) => {
        throw error instanceof NotReplicated ? unavailable() : error;
      },
    );
  }

  private acknowledgementOf(shard: number): ReplicaAcknowledgement | null {
    return gateOf(connectionOf(this.options.redis, shard))?.acknowledgement ?? null;
  }

  /** Calls overlap, and may be acknowledged in another order. */
  private noteAcknowledged(shard: number, position: string): void {
    const before = this.acknowledged.get(shard);
    if (before === undefined || comparePositions(before, position) < 0) this.acknowledged.set(shard, position);
  }

  private async firstPosition(shard: number): Promise<string> {
    const newest = await this.options.redis.xrevrange(outboxKey(shard), '+', '-', 'COUNT', 1);
    const position = newest[0]?.[0] ?? OUTBOX_START;
    this.positions.set(shard, position);
    return position;
  }
}

/**
 * Calls a script about many users, whose keys it gets in their order: the numbers that it answers. For work that is repeated as a
 * whole where it fails: nothing is retried. Errors are those of `Script.run`. `plan`: JSON. `onWritten`: see ScriptsOptions.
 */
export async function callUsers<S extends keyof UsersScripts>(
  { redis, onWritten }: Pick<ScriptsOptions, 'redis' | 'onWritten'>,
  tenantNo: number,
  {
    script,
    userIds,
    ...call
  }: {
    script: S;
    nowMs: number;
    plan: string;
    userIds: readonly string[];
    body: UsersScripts[S];
    states?: readonly (Buffer | string)[];
  },
): Promise<number[]> {
  const { keys, args } = keysAndArgs(tenantNo, { ...call, keys: userIds.map((id) => userKey(tenantNo, id)) });
  const replies = (await scriptNamed(script).run(redis, keys, args)) as (number | Buffer)[];
  if (String(replies.pop()) !== '') onWritten(shardOf(tenantNo));
  return replies as number[];
}

const unavailable = (): AppError =>
  new AppError('unavailable', 'The event store does not answer; try again, best with an idempotency key.');

/** The connection to the server on which the shard is open; null if it does not open in time. */
async function reopened(redis: Redis, shard: number, deadlineMs: number): Promise<Redis | null> {
  while (redis.status !== 'end' && Date.now() <= deadlineMs) {
    const server = connectionOf(redis, shard);
    if (server.status === 'ready' && isOpen(server, shard)) return server;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return null;
}

/** What a correction that was computed elsewhere rests on: SHA-1 of the user's packed state in hex, as `redis.sha1hex` has it. */
export const stateDigest = (packed: Buffer): string => createHash('sha1').update(packed).digest('hex');
