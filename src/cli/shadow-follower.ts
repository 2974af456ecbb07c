import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';
import { systemClock } from '../clock.ts';
import { type Answer, bodyValue, type Exchange, headerOf, headersWhere, Kept } from './shadow-exchange.ts';
import { differencesOf } from './shadow-differences.ts';
import { type Report } from './shadow-report.ts';

export interface FollowerOptions {
  /** Laurel's Application API, without `/v1`. */
  to: string;
  key: string;
  /** Laurel's tenant; `undefined` for the one in the client's request. */
  tenant?: string | undefined;
  /** The source's Application API, which is asked when a user was created. */
  source: { pool: Pool; prefix: string };
  ignored: readonly string[];
  concurrency: number;
  /** Maximum number of requests that wait for Laurel. */
  queue: number;
  report: Report;
}

/** The client's headers that are passed on to Laurel. Its key and cookies belong to the source. */
const HEADERS_FOR_LAUREL =
  /^(content-type|content-encoding|accept|idempotency-key|tenant-id|user-agent|x-sdk-version|x-fern-.*)$/;
/** The client's headers with which the source is asked about a user. */
const HEADERS_FOR_SOURCE = /^(x-api-key|authorization|tenant-id|user-agent)$/;
/** Maximum size of all bodies that wait for Laurel. */
const MOST_HELD_BYTES = 268_435_456;
/** Up to this many waiting requests run in order, so that ranks can be compared; beyond it only each user's. */
const MOST_IN_ORDER = 16;
/** Maximum number of users known to exist in Laurel. Others are looked up again. */
const MOST_KNOWN = 200_000;
const PAUSES_MS = [200, 500, 1_000, 2_000, 5_000];
/** How often a request is retried if Laurel answers with an internal error. */
const MOST_FAULTS = 3;
const TIMEOUT_MS = 30_000;

interface Waiting {
  /** Increases in the order in which exchanges are accepted. */
  no: number;
  exchange: Exchange;
  done: Promise<void>;
}

/**
 * Lets Laurel answer the requests that the source has answered, and compares the answers. Requests of one user go to
 * Laurel one after another, in the order of the source's answers. A read of several users waits for all earlier writes.
 * Never delays or fails the client's requests.
 */
export class Follower {
  private readonly options: FollowerOptions;
  private readonly laurel: Pool;
  private readonly prefix: string;
  /** The last unfinished request of each user. */
  private readonly lanes = new Map<string, Waiting>();
  /** Unfinished writes, oldest first. */
  private readonly writes = new Set<Waiting>();
  /** The last unfinished read of several users. */
  private readAll: Promise<void> = Promise.resolve();
  private readonly unfinished = new Set<Waiting>();
  private heldBytes = 0;
  private taken = 0;
  /** Number of the latest write that was sent to Laurel. */
  private latestWrite = 0;
  private running = 0;
  private readonly slots: (() => void)[] = [];
  private isEnding = false;
  /** Users who exist in Laurel, and whether this run created them. */
  private readonly known = new Map<string, { isNew: boolean }>();
  private readonly aside = new Set<string>();
  private readonly startedMs = performance.now();

  constructor(options: FollowerOptions) {
    this.options = options;
    const url = new URL(options.to);
    this.laurel = new Pool(url.origin, { connections: Math.max(options.concurrency, 1) });
    this.prefix = url.pathname.replace(/\/+$/, '');
  }

  /** Laurel's status for a read that only an admin key may make. Throws if Laurel does not answer. */
  async probe(): Promise<number> {
    const { status } = await this.send({
      method: 'GET',
      path: '/v1/users/laurel-shadow-probe',
      headers: [],
      body: null,
    });
    return status;
  }

  get waiting(): number {
    return this.unfinished.size;
  }

  take(exchange: Exchange): void {
    const bytes = exchange.body.length;
    if (this.unfinished.size >= this.options.queue || this.heldBytes + bytes > MOST_HELD_BYTES)
      return this.drop(exchange, 'the queue for Laurel was full');
    this.heldBytes += bytes;
    const lane = this.laneOf(exchange);
    const isReadOfAll = exchange.user === null && !exchange.writes;
    const before = isReadOfAll
      ? [...this.writes].map(({ done }) => done)
      : this.unfinished.size < MOST_IN_ORDER
        ? [...this.unfinished].map(({ done }) => done)
        : [this.readAll, ...(this.lanes.has(lane) ? [this.lanes.get(lane)!.done] : [])];
    const waiting: Waiting = { no: (this.taken += 1), exchange, done: Promise.resolve() };
    waiting.done = Promise.all(before)
      .then(() => this.slot())
      .then(() => this.follow(waiting))
      .catch((error: unknown) => this.options.report.notCompared(`comparing failed: ${(error as Error).message}`))
      .then(() => {
        this.heldBytes -= bytes;
        this.unfinished.delete(waiting);
        this.writes.delete(waiting);
        if (this.lanes.get(lane) === waiting) this.lanes.delete(lane);
        this.release();
      });
    this.unfinished.add(waiting);
    if (exchange.writes) this.writes.add(waiting);
    if (isReadOfAll) this.readAll = waiting.done;
    else this.lanes.set(lane, waiting);
  }

  /** Excludes a user whose request was not sent to Laurel, or whose outcome at the source is unknown. */
  setAside(exchange: Exchange, why: string): void {
    const lane = this.laneOf(exchange);
    if (exchange.user === null || this.aside.has(lane)) return;
    if (this.aside.size < MOST_KNOWN) this.aside.add(lane);
    this.options.report.setAside(exchange.user, why);
  }

  /** Waits until all is done, or up to a time limit; drops the rest. */
  async end(drainMs: number): Promise<void> {
    const drained = Promise.all([...this.unfinished].map(({ done }) => done)).then(() => true);
    const isDrained = await Promise.race([drained, sleep(drainMs, false, { ref: false })]);
    this.isEnding = true;
    if (!isDrained) for (const { exchange } of this.unfinished) this.drop(exchange, 'the run ended');
    await this.laurel.destroy();
  }

  private laneOf({ user, headers }: Exchange): string {
    return `${this.options.tenant ?? headerOf(headers, 'tenant-id') ?? ''} ${user ?? ''}`;
  }

  private drop(exchange: Exchange, reason: string): void {
    this.options.report.drop(reason);
    if (exchange.writes) this.setAside(exchange, `a request was not given to Laurel: ${reason}`);
  }

  /** Resolves when a request may be sent to Laurel. */
  private async slot(): Promise<void> {
    if (this.running < this.options.concurrency) this.running += 1;
    else await new Promise<void>((free) => this.slots.push(free));
  }

  private release(): void {
    const next = this.slots.shift();
    if (next === undefined) this.running -= 1;
    else next();
  }

  private async follow(waiting: Waiting): Promise<void> {
    const { exchange, no } = waiting;
    const { report } = this.options;
    if (this.isEnding) return;
    const lane = this.laneOf(exchange);
    if (exchange.user !== null && !this.aside.has(lane)) await this.meet(exchange, lane);
    if (this.aside.has(lane)) return report.notCompared('the user is set aside');
    const [oldest] = this.writes;
    const areEarlierDone = oldest === undefined || oldest.no >= no;
    if (exchange.writes) this.latestWrite = Math.max(this.latestWrite, no);
    const { answer, isCertain } = await this.applied(exchange);
    if (answer === null || this.isEnding) return;
    if (answer.status >= 500 && exchange.writes)
      this.setAside(exchange, `Laurel answered ${answer.status} to ${exchange.operation}`);
    const source = await exchange.sourceAnswer;
    // Both have applied exactly the same writes of other users.
    const withShared = areEarlierDone && this.latestWrite <= no && !exchange.othersOverlapped;
    const reason = whyNotCompared({ exchange, source, laurel: answer, isCertain, withShared });
    if (reason !== null) return report.notCompared(reason);
    const hasIdempotencyKey = headerOf(exchange.headers, 'idempotency-key') !== undefined;
    const { ignored } = this.options;
    report.compared(exchange, differencesOf(source!, answer, { hasIdempotencyKey, withShared, ignored }), {
      withShared,
      isNewUser: this.known.get(lane)?.isNew ?? false,
    });
  }

  /**
   * Ensures that both servers know a user from the beginning. A user whom Laurel lacks is new if the source created the
   * user during this run. Otherwise the user is excluded: the user's history would have to be imported first, which an
   * existing user in Laurel would prevent.
   */
  private async meet(exchange: Exchange, lane: string): Promise<void> {
    // A read of a user unknown to the source creates none.
    if (this.known.has(lane) || (!exchange.writes && exchange.sourceStatus === 404)) return;
    const path = `/v1/users/${encodeURIComponent(exchange.user!)}`;
    const headers = headersWhere(exchange.headers, (name) => name === 'tenant-id');
    const { answer } = await this.retried({ method: 'GET', path, headers, body: null });
    if (answer === null) return;
    let isNew = false;
    if (answer.status === 404) {
      const since = await this.atSourceSince(exchange, path);
      if (since === 'before')
        return this.setAside(exchange, 'the source has the user since before this run: import the user first');
      if (since === 'unknown')
        return this.setAside(
          exchange,
          'Laurel does not have the user, and the source did not answer since when it has',
        );
      if (since === 'never') return;
      isNew = true;
    }
    if (this.known.size >= MOST_KNOWN) this.known.delete(this.known.keys().next().value!);
    this.known.set(lane, { isNew });
  }

  private async atSourceSince(exchange: Exchange, path: string): Promise<'this run' | 'before' | 'never' | 'unknown'> {
    if (exchange.operation === 'POST /v1/users' && exchange.sourceStatus === 201) return 'this run';
    const { pool, prefix } = this.options.source;
    this.options.report.count('asked');
    try {
      const headers = headersWhere(exchange.headers, (name) => HEADERS_FOR_SOURCE.test(name));
      const {
        statusCode,
        headers: answered,
        body,
      } = await pool.request({
        method: 'GET',
        path: prefix + path,
        headers,
        headersTimeout: TIMEOUT_MS,
        bodyTimeout: TIMEOUT_MS,
      });
      const { created } = Object(bodyValue(Buffer.from(await body.arrayBuffer()), undefined)) as { created?: unknown };
      const createdMs = statusCode === 200 && typeof created === 'string' ? Date.parse(created) : Number.NaN;
      // By the source's own clock, which may differ from this one.
      const nowMs = Date.parse(String(answered['date'] ?? '')) || systemClock.now();
      if (statusCode === 404) return 'never';
      if (Number.isNaN(createdMs)) return 'unknown';
      return nowMs - createdMs <= performance.now() - this.startedMs + 1_000 ? 'this run' : 'before';
    } catch {
      return 'unknown';
    }
  }

  /** Laurel's answer. `isCertain`: it answers the first try that arrived. */
  private applied(exchange: Exchange): Promise<{ answer: Answer | null; isCertain: boolean }> {
    const headers = headersWhere(exchange.headers, (name) => HEADERS_FOR_LAUREL.test(name));
    // A try whose answer is lost can then be repeated, and counts once.
    if (exchange.writes && headerOf(headers, 'idempotency-key') === undefined)
      headers.push('Idempotency-Key', `shadow-${randomUUID()}`);
    const { method, path, body } = exchange;
    return this.retried({ method, path, headers, body: body.length === 0 ? null : body });
  }

  /** Retries until Laurel answers; `null` if the run ends. */
  private async retried(request: LaurelRequest): Promise<{ answer: Answer | null; isCertain: boolean }> {
    let [faults, isCertain] = [0, true];
    for (let tries = 0; !this.isEnding; tries += 1) {
      try {
        const { retryAfterMs, ...answer } = await this.send(request);
        const isFault = answer.status >= 500 && answer.status !== 503;
        if (isFault) faults += 1;
        if ((answer.status < 500 && answer.status !== 429) || faults >= MOST_FAULTS) return { answer, isCertain };
        if (answer.status !== 429) isCertain = false;
        if (retryAfterMs !== null) await this.pause(retryAfterMs);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED') isCertain = false;
      }
      await this.pause(PAUSES_MS[Math.min(tries, PAUSES_MS.length - 1)]!);
    }
    return { answer: null, isCertain };
  }

  private async pause(ms: number): Promise<void> {
    for (let left = Math.min(ms, LONGEST_PAUSE_MS); left > 0 && !this.isEnding; left -= 100)
      await sleep(Math.min(left, 100));
  }

  private async send(sent: LaurelRequest): Promise<Answer & { retryAfterMs: number | null }> {
    const { method, path, headers, body } = sent;
    const { key, tenant } = this.options;
    const ofTenant = tenant === undefined ? headers : headersWhere(headers, (name) => name !== 'tenant-id');
    const answered = await this.laurel.request({
      method,
      path: this.prefix + path,
      headers: [...ofTenant, 'X-API-KEY', key, ...(tenant === undefined ? [] : ['Tenant-ID', tenant])],
      body,
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
    });
    const kept = new Kept();
    for await (const chunk of answered.body) kept.add(chunk as Uint8Array);
    const seconds = Number(answered.headers['retry-after'] ?? Number.NaN);
    return {
      status: answered.statusCode,
      body: bodyValue(kept.whole() ?? Buffer.alloc(0), undefined),
      retryAfterMs: Number.isNaN(seconds) ? null : seconds * 1000,
    };
  }
}

interface LaurelRequest {
  method: Exchange['method'];
  path: string;
  headers: string[];
  body: Buffer | null;
}

const LONGEST_PAUSE_MS = 60_000;

function whyNotCompared(outcome: {
  exchange: Exchange;
  source: Answer | null;
  laurel: Answer;
  isCertain: boolean;
  withShared: boolean;
}): string | null {
  const { exchange, source, laurel, isCertain, withShared } = outcome;
  if (exchange.userOverlapped) return 'another request of the same user was in flight';
  if (exchange.repeats) return 'the source repeats an answer that was lost';
  if (!isCertain && exchange.writes) return 'Laurel answered only when asked again';
  if (exchange.user === null && !withShared) return 'a read of several users while one of them was written';
  if (source === null || (source.status < 300 && source.body === undefined))
    return 'the answer of the source broke off, is not JSON or is too long';
  if (laurel.status < 300 && laurel.body === undefined) return 'the answer of Laurel is not JSON or is too long';
  return null;
}
