import { isOfRedisProcess } from './storage-epoch.ts';

/*
Whether one process may use one shard of Redis, as a state machine without I/O. `Gate` (`src/redis/gate.ts`) keeps the states and
`RedisGuard` (`src/engine/availability`) observes Redis and Postgres, sends the events and carries out the effects.
`docs/architecture.md` has the table.
*/

/** What identified a shard's data when the process last opened the shard. */
export interface Accepted {
  /** Under which Postgres stores the shard's outbox, see `storage-epoch.ts`. */
  storageEpoch: string;
  /** The shard's mark, see `markKey`. */
  mark: string;
}

/** Why a shard is not open. */
export type ClosedReason =
  | 'not inspected'
  | 'connection lost'
  /** The server is a replica or a former master, or it refuses to serve the shard. */
  | 'served elsewhere'
  /** The Redis process, the mark or the storage epoch differs from the accepted one. */
  | 'changed'
  /** Redis and Postgres contradict each other: one of them lost data. */
  | 'contradiction'
  /** REDIS_URL leads to the wrong server. */
  | 'wrong server'
  /** A process of another version still runs. */
  | 'other version'
  /** Postgres places the shard on another independent server. */
  | 'placed elsewhere';

/** Requests for the shard's tenants are answered 503. */
export interface Closed {
  readonly name: 'closed';
  readonly reason: ClosedReason;
  /** What was accepted before; null if nothing was. */
  readonly last: Accepted | null;
  /** When to inspect the shard, at the earliest. */
  readonly retryAtMs: number;
}

/** Closed as well; an inspection is under way, or a rebuild in this process. */
export interface Inspecting {
  readonly name: 'inspecting' | 'rebuilding';
  readonly reason: ClosedReason;
  readonly last: Accepted | null;
  /** Number of the inspection. */
  readonly attempt: number;
}

/** Redis is known to hold what Postgres does. */
export interface Open {
  readonly name: 'open';
  readonly accepted: Accepted;
}

export type ShardState = Closed | Inspecting | Open;

/** What a look at Redis shows of a shard. */
export interface Sight {
  redisProcessId: string;
  /** null if the shard has no mark; undefined if the look did not include it. */
  mark: string | null | undefined;
  /** As Postgres has it; undefined if Postgres was not asked or did not answer in time. */
  storageEpoch?: string | undefined;
}

export type ShardEvent =
  /** The connection to the server closed. */
  | { type: 'disconnected' }
  /**
   * The server does not serve the shard: it is a replica or a former master, or a reply says so (READONLY, MOVED, CLUSTERDOWN,
   * LOADING). The connection is made again.
   */
  | { type: 'redirected' }
  /** A function refused a call: it runs in another Redis process, or found another mark. */
  | { type: 'refused' }
  /** Redis and Postgres contradict each other. `retryAtMs`: when to inspect again. */
  | { type: 'contradicted'; retryAtMs?: number }
  | { type: 'misconfigured' }
  /** `asOf`: what was accepted when the look began. */
  | { type: 'seen'; sight: Sight; asOf: Accepted | null; nowMs: number }
  | { type: 'inspection began'; attempt: number }
  | { type: 'rebuild began'; attempt: number }
  | { type: 'accepted'; attempt: number; accepted: Accepted }
  /** The inspection ended without accepting the shard. `reason`: the new reason, if there is one. */
  | { type: 'inspection ended'; attempt: number; reason?: ClosedReason; retryAtMs?: number }
  | { type: 'placed here' }
  | { type: 'placed elsewhere' };

/** `announce`: the shard opened or closed. `inspect`: compare the shard with Postgres. */
export type ShardEffect = 'announce' | 'inspect';

export interface Transition {
  state: ShardState;
  effects: readonly ShardEffect[];
}

export const NOT_INSPECTED: Closed = { name: 'closed', reason: 'not inspected', last: null, retryAtMs: -Infinity };

/** What was accepted last; null if nothing was. */
export const lastAccepted = (state: ShardState): Accepted | null =>
  state.name === 'open' ? state.accepted : state.last;

/** Whether an open shard still is what was accepted, or a closed one is again, so that it can open without an inspection. */
export function isAsAccepted(state: ShardState, sight: Sight): boolean {
  if (state.name === 'inspecting' || state.name === 'rebuilding') return false;
  if (state.name === 'closed' && state.reason === 'contradiction') return false;
  const last = lastAccepted(state);
  return (
    last !== null &&
    isOfRedisProcess(last.storageEpoch, sight.redisProcessId) &&
    (sight.mark === undefined || sight.mark === last.mark) &&
    (sight.storageEpoch === undefined || sight.storageEpoch === last.storageEpoch)
  );
}

/** The state after an event, and what has to be done. The same object if nothing changes. */
export function nextState(state: ShardState, event: ShardEvent): Transition {
  switch (event.type) {
    case 'disconnected':
      return close(state, 'connection lost');
    case 'redirected':
      return close(state, 'served elsewhere');
    case 'refused':
      return state.name === 'open' ? close(state, 'changed') : stay(state);
    case 'contradicted':
      return close(state, 'contradiction', event.retryAtMs);
    case 'misconfigured':
      return close(state, 'wrong server');
    case 'seen':
      return seen(state, event);
    case 'inspection began':
      if (state.name !== 'closed') return stay(state);
      return stay({ name: 'inspecting', reason: state.reason, last: state.last, attempt: event.attempt });
    case 'rebuild began':
      return isAttempt(state, event.attempt) ? stay({ ...state, name: 'rebuilding' }) : stay(state);
    case 'accepted':
      return isAttempt(state, event.attempt) ? open(event.accepted) : stay(state);
    case 'inspection ended':
      if (!isAttempt(state, event.attempt)) return stay(state);
      return close(state, event.reason ?? state.reason, event.retryAtMs);
    case 'placed here':
      return { state: NOT_INSPECTED, effects: ['announce'] };
    case 'placed elsewhere':
      return { state: { ...NOT_INSPECTED, reason: 'placed elsewhere' }, effects: ['announce'] };
  }
}

const stay = (state: ShardState): Transition => ({ state, effects: [] });

const open = (accepted: Accepted): Transition => ({ state: { name: 'open', accepted }, effects: ['announce'] });

/** A contradiction stays the reason until an inspection accepts the shard. An inspection under way counts no longer. */
function close(state: ShardState, reason: ClosedReason, retryAtMs = -Infinity): Transition {
  if (state.name === 'open')
    return { state: { name: 'closed', reason, last: state.accepted, retryAtMs }, effects: ['announce'] };
  const earliestMs = state.name === 'closed' ? Math.max(state.retryAtMs, retryAtMs) : retryAtMs;
  const kept = state.reason === 'contradiction' ? state.reason : reason;
  if (state.name === 'closed' && state.reason === kept && state.retryAtMs === earliestMs) return stay(state);
  return stay({ name: 'closed', reason: kept, last: state.last, retryAtMs: earliestMs });
}

function seen(state: ShardState, { sight, asOf, nowMs }: ShardEvent & { type: 'seen' }): Transition {
  if (state.name === 'open') {
    // Opened since the look began: the look is older than the inspection that opened it.
    if (state.accepted !== asOf || isAsAccepted(state, sight)) return stay(state);
    return { state: close(state, 'changed').state, effects: ['announce', 'inspect'] };
  }
  if (state.name !== 'closed') return stay(state);
  if (isAsAccepted(state, sight)) return open(state.last!);
  return { state, effects: nowMs < state.retryAtMs ? [] : ['inspect'] };
}

const isAttempt = (state: ShardState, attempt: number): state is Inspecting =>
  (state.name === 'inspecting' || state.name === 'rebuilding') && state.attempt === attempt;
