/** Outages of Redis: errors, log messages, and connections that are killed and opened again. */
import type { Redis } from 'ioredis';
import { type Log, LogThrottle, OUTAGE_MS } from '../telemetry/log.ts';
import { codeOf, isNetworkError } from '../network-errors.ts';
import { isOfCluster, onServer } from './endpoints.ts';

/** First word of error replies from a Redis that cannot serve now. */
const REPLY = /^(LOADING|BUSY|OOM|MISCONF|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|MOVED|ASK|NOREPLICAS|UNBLOCKED)\b/;

/** Error replies from a Redis that is not the master, or that has not loaded its data. */
const ELSEWHERE = /^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|MOVED|ASK|TRYAGAIN)\b/;

/** Error replies from a cluster node that serves other slots. */
const OTHER_SLOT = /^(MOVED|ASK|TRYAGAIN|CLUSTERDOWN)\b/;

/** Error replies from a cluster node that is moving the slot to another node, key by key. */
const KEY_BY_KEY = /^(ASK|TRYAGAIN)\b/;

const NAMES = new Set([
  'MaxRetriesPerRequestError',
  'ClusterAllFailedError',
  'AbortError',
  'RedisNotReady',
  'NotReplicated',
  'ServerSilent',
]);

/** The client's messages when a connection breaks during a command. These errors have neither a code nor a name of their own. */
const LOST = /^(Connection is closed|Stream isn't writeable|Command timed out)/;

/** The client's other messages about an unreachable Redis. */
const UNREACHABLE = /^(Socket timeout|Failed to refresh slots cache|None of startup nodes is available)/;

/** Whether an error means that Redis is unreachable or cannot serve now. Does not check the error's causes. */
export const isRedisOutage = (error: Error): boolean =>
  isNetworkError(error) ||
  NAMES.has(error.name) ||
  LOST.test(error.message) ||
  UNREACHABLE.test(error.message) ||
  (error.name === 'ReplyError' && REPLY.test(error.message));

/** Whether Redis refused a command because of `maxmemory`. A function is refused before it writes anything, never in between. */
export const isRedisFull = (error: Error): boolean => error.name === 'ReplyError' && /^OOM\b/.test(error.message);

/** Whether this server does not hold the data, or not yet. Nothing was done: find the right one. */
export const isElsewhere = (error: Error): boolean => ELSEWHERE.test(error.message);

/** Whether the reply concerns only the command's slot. */
export const isOtherSlot = (error: Error): boolean => OTHER_SLOT.test(error.message);

export const isKeyByKey = (error: Error): boolean => KEY_BY_KEY.test(error.message);

const LOST_CODES = new Set(['ECONNRESET', 'EPIPE']);

/** Whether a command may or may not have reached Redis. Find out before sending it again (`ConnectionKiller`). */
export const isConnectionLost = (error: unknown): boolean =>
  error instanceof Error &&
  (error.name === 'MaxRetriesPerRequestError' || LOST.test(error.message) || LOST_CODES.has(codeOf(error) ?? ''));

/** Logs connection problems, rate-limited. The returned function does so for another connection. */
export function logOutages(redis: Redis, log: Log): (more: Redis) => void {
  const throttle = new LogThrottle(OUTAGE_MS);
  const watch = (name: string, connection: Redis): void =>
    void connection.on('error', (error) =>
      throttle.log(name, () => log.warn({ err: error, ...(name !== '' && { redis: name }) }, 'Redis does not answer')),
    );
  const isCluster = isOfCluster(redis);
  onServer(redis, (server) => watch(isCluster ? server.name : '', server.redis));
  if (isCluster) watch('', redis);
  return (more) => watch('', more);
}

/**
 * Prevents Redis from executing a command that was sent over a broken connection. A hanging Redis may still have the command in
 * its buffers and execute it after the retry on a new connection. So the old connection is killed in Redis before anything is sent
 * again.
 */
export class ConnectionKiller {
  private static readonly killers = new WeakMap<Redis, ConnectionKiller>();
  private readonly redis: Redis;
  private id: number | null = null;

  /** The killer of a client. The first call starts requesting the connection's ID. */
  static of(redis: Redis): ConnectionKiller {
    let killer = ConnectionKiller.killers.get(redis);
    if (killer === undefined) ConnectionKiller.killers.set(redis, (killer = new ConnectionKiller(redis)));
    return killer;
  }

  private constructor(redis: Redis) {
    this.redis = redis;
    redis.on('ready', () => void this.ask());
    redis.on('close', () => (this.id = null));
    if (redis.status === 'ready') void this.ask();
  }

  /** Redis's ID of the current connection; `null` if not known yet. */
  get connectionId(): number | null {
    return this.id;
  }

  /** Resolves when Redis will execute nothing more from a connection. Throws errors of Redis and of the new connection. */
  async killConnection(id: number): Promise<void> {
    await this.redis.client('KILL', 'ID', id);
  }

  private async ask(): Promise<void> {
    const id = await this.redis.client('ID').catch(() => null);
    if (this.redis.status === 'ready') this.id = id;
  }
}

/** A server counts as silent if a reply has been due this long: longer than a full disk cache or a fork usually takes. */
export const SILENT_MS = 500;

class ServerSilent extends Error {
  constructor() {
    super(`Redis has not answered for ${SILENT_MS / 1000} s.`);
    this.name = 'ServerSilent';
  }
}

interface Silence {
  isSilent: boolean;
  /** Called when the server becomes silent. */
  readonly waiting: Set<() => void>;
}

const silences = new WeakMap<Redis, Silence>();

function silenceOf(redis: Redis): Silence {
  let silence = silences.get(redis);
  if (silence === undefined) silences.set(redis, (silence = { isSilent: false, waiting: new Set() }));
  return silence;
}

/** Whether a reply has been due for `SILENT_MS` on a connection from `createRedis` or `connectRedis`. */
export const isSilent = (redis: Redis): boolean => silenceOf(redis).isSilent;

/** Notes that a connection's server has become silent, or answers again. */
export function noteSilence(redis: Redis, isSilent: boolean): void {
  const silence = silenceOf(redis);
  silence.isSilent = isSilent;
  if (isSilent) for (const giveUp of silence.waiting) giveUp();
}

/**
 * Asks some servers something that the caller can do without. Rejects with ServerSilent if one of them is silent or becomes so
 * (`SILENT_MS`), which takes much less time than a connection that breaks. `connections`: from `createRedis` or `connectRedis`.
 */
export function unlessSilent<T>(connections: Iterable<Redis>, ask: () => Promise<T>): Promise<T> {
  const silences = Array.from(connections, silenceOf);
  if (silences.some((silence) => silence.isSilent)) return Promise.reject(new ServerSilent());
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(new ServerSilent());
    for (const { waiting } of silences) waiting.add(giveUp);
    const done = (): void => {
      for (const { waiting } of silences) waiting.delete(giveUp);
    };
    ask().then(resolve, reject).finally(done);
  });
}

/** Reconnects to where the name or the Sentinels now lead, unless the client connects already. */
export function connectAgain(redis: Redis): void {
  if (redis.status === 'ready' || redis.status === 'connect') redis.disconnect(true);
}
