/*
Decides whether one process may use one shard of Redis: a state machine without I/O. `Gate` (`src/redis/gate.ts`) keeps the states.
`RedisGuard` (`src/engine/availability`) observes Redis and Postgres, sends events and carries out effects.
`docs/architecture.md` has the transition table.
 */

/** Identity of a shard's data when this process last opened the shard. */
export interface Accepted {
  /** The epoch under which Postgres stores the shard's outbox; see the end of this file. */
  storageEpoch: string;
  /** The shard's mark, see `markKey`. */
  mark: string;
}

export type ClosedReason =
  | 'not inspected'
  | 'connection lost'
  /** The server is a replica or a former master, or it refuses to serve the shard. */
  | 'served elsewhere'
  /** The cluster serves the shard on another node than when it was accepted. */
  | 'moved'
  /** The cluster is moving the shard's keys to another node, one by one. */
  | 'moved key by key'
  /** The Redis process, the mark or the storage epoch differs from the accepted one. */
  | 'changed'
  /** Redis and Postgres contradict each other: one of them lost data. */
  | 'contradiction'
  /** REDIS_URL leads to the wrong server. */
  | 'wrong server'
  /** A process of another version still runs. */
  | 'other version';

/** The API answers requests for the shard's tenants with 503. */
export interface Closed {
  readonly name: 'closed';
  readonly reason: ClosedReason;
  /** The identity accepted last; `null` if the shard was never open. */
  readonly last: Accepted | null;
  /** Earliest time of the next inspection. */
  readonly retryAtMs: number;
}

export interface Inspecting {
  readonly name: 'inspecting' | 'rebuilding';
  readonly reason: ClosedReason;
  readonly last: Accepted | null;
  /** Number of the inspection. */
  readonly attempt: number;
}

interface Open {
  readonly name: 'open';
  readonly accepted: Accepted;
}

export type ShardState = Closed | Inspecting | Open;

export interface Sight {
  redisProcessId: string;
  /** `null` if the shard has no mark; `undefined` if the mark was not read. */
  mark: string | null | undefined;
  /** The epoch in Postgres; `undefined` if Postgres was not asked or did not answer in time. */
  storageEpoch?: string | undefined;
}

export type ShardEvent =
  | { type: 'disconnected' }
  /** A reply READONLY, MOVED, CLUSTERDOWN or LOADING, or a replica. `keyByKey`: ASK or TRYAGAIN. */
  | { type: 'redirected'; keyByKey?: boolean }
  /** A Redis function refused a call because its Redis process or the shard's mark is not the expected one. */
  | { type: 'refused' }
  /** Redis and Postgres contradict each other. `retryAtMs`: time of the next inspection. */
  | { type: 'contradicted'; retryAtMs?: number }
  /** `asOf`: the accepted identity when the observation began. */
  | { type: 'seen'; sight: Sight; asOf: Accepted | null; nowMs: number }
  | { type: 'inspection began'; attempt: number }
  | { type: 'rebuild began'; attempt: number }
  | { type: 'accepted'; attempt: number; accepted: Accepted }
  /** The inspection ended without accepting the shard. `reason` replaces the previous reason if set. */
  | { type: 'inspection ended'; attempt: number; reason?: ClosedReason; retryAtMs?: number }
  /** The cluster now serves the shard on this server. `last`: the identity accepted last, on whichever server. */
  | { type: 'placed here'; last: Accepted | null }
  | { type: 'placed elsewhere' };

/** `announce`: the shard opened or closed. `inspect`: compare the shard with Postgres. */
export type ShardEffect = 'announce' | 'inspect';

interface Transition {
  state: ShardState;
  effects: readonly ShardEffect[];
}

export const NOT_INSPECTED: Closed = { name: 'closed', reason: 'not inspected', last: null, retryAtMs: -Infinity };

/** The identity accepted last; `null` if the shard was never open. */
export const lastAccepted = (state: ShardState): Accepted | null =>
  state.name === 'open' ? state.accepted : state.last;

/** Whether the observation matches the accepted identity. A closed shard can then reopen without an inspection. */
export function isAsAccepted(state: ShardState, sight: Sight): boolean {
  if (state.name === 'inspecting' || state.name === 'rebuilding') return false;
  if (state.name === 'closed' && LASTING.includes(state.reason)) return false;
  const last = lastAccepted(state);
  return (
    last !== null &&
    isOfRedisProcess(last.storageEpoch, sight.redisProcessId) &&
    (sight.mark === undefined || sight.mark === last.mark) &&
    (sight.storageEpoch === undefined || sight.storageEpoch === last.storageEpoch)
  );
}

/** The next state and the effects to carry out. Returns the same state object if nothing changes. */
export function nextState(state: ShardState, event: ShardEvent): Transition {
  switch (event.type) {
    case 'disconnected':
      return close(state, 'connection lost');
    case 'redirected':
      return close(state, event.keyByKey === true ? 'moved key by key' : 'served elsewhere');
    case 'refused':
      return state.name === 'open' ? close(state, 'changed') : stay(state);
    case 'contradicted':
      return close(state, 'contradiction', event.retryAtMs);
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
      return { state: { ...NOT_INSPECTED, reason: 'moved', last: event.last }, effects: ['announce'] };
    case 'placed elsewhere':
      return { state: { ...NOT_INSPECTED, reason: 'served elsewhere' }, effects: ['announce'] };
  }
}

const stay = (state: ShardState): Transition => ({ state, effects: [] });

const open = (accepted: Accepted): Transition => ({ state: { name: 'open', accepted }, effects: ['announce'] });

/** Reasons that only an inspection ends. Until then, only a later one in this list replaces them. */
const LASTING: readonly ClosedReason[] = ['moved', 'moved key by key', 'contradiction'];

/** Closing cancels an inspection under way. */
function close(state: ShardState, reason: ClosedReason, retryAtMs = -Infinity): Transition {
  if (state.name === 'open')
    return { state: { name: 'closed', reason, last: state.accepted, retryAtMs }, effects: ['announce'] };
  const earliestMs = state.name === 'closed' ? Math.max(state.retryAtMs, retryAtMs) : retryAtMs;
  const lasting = LASTING.indexOf(state.reason) > LASTING.indexOf(reason) ? state.reason : reason;
  if (state.name === 'closed' && state.reason === lasting && state.retryAtMs === earliestMs) return stay(state);
  return stay({ name: 'closed', reason: lasting, last: state.last, retryAtMs: earliestMs });
}

function seen(state: ShardState, { sight, asOf, nowMs }: ShardEvent & { type: 'seen' }): Transition {
  if (state.name === 'open') {
    // The shard opened after this observation began, so the observation is older than the inspection that opened it.
    if (state.accepted !== asOf || isAsAccepted(state, sight)) return stay(state);
    return { state: close(state, 'changed').state, effects: ['announce', 'inspect'] };
  }
  if (state.name !== 'closed') return stay(state);
  if (isAsAccepted(state, sight)) return open(state.last!);
  return { state, effects: nowMs < state.retryAtMs ? [] : ['inspect'] };
}

const isAttempt = (state: ShardState, attempt: number): state is Inspecting =>
  (state.name === 'inspecting' || state.name === 'rebuilding') && state.attempt === attempt;

/*
Postgres stores a shard's outbox under the shard's storage epoch (`outbox_cursors.storage_epoch`). A persister that read the outbox
under another storage epoch stores nothing. It has one of three forms:

  ''                            no Redis was ever filled from this Postgres
  rebuild <epoch>               the shard is being rebuilt
  <epoch>/<Redis process ID>    the shard is complete in this Redis process
*/

/** The storage epoch of a shard that is complete in a Redis process. */
export const storageEpochOf = (epoch: number, redisProcessId: string): string => `${epoch}/${redisProcessId}`;

/** The storage epoch of a shard during its rebuild. */
export const rebuildingEpochOf = (epoch: number): string => `rebuild ${epoch}`;

const NUMBER = /^(?:rebuild )?(\d+)/;

/** The number of a storage epoch. Each rebuild increases it; 0 if the shard was never filled. */
export const epochNumberOf = (storageEpoch: string): number => Number(NUMBER.exec(storageEpoch)?.[1] ?? 0);

/** The Redis process in a storage epoch; `''` if there is none. */
export const redisProcessIdOf = (storageEpoch: string): string => storageEpoch.split('/')[1] ?? '';

/** Whether a storage epoch names a Redis process. Allocates nothing: each process checks 256 shards twice a second. */
export const isOfRedisProcess = (storageEpoch: string, redisProcessId: string): boolean =>
  storageEpoch.endsWith(redisProcessId) && storageEpoch.at(-redisProcessId.length - 1) === '/';

/** The part of a Redis process ID that a Lua function can read: Redis's `run_id`. */
export const runIdOf = (redisProcessId: string): string => redisProcessId.split('.')[0]!;
