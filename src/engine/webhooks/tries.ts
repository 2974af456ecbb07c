import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../telemetry/log.ts';
import { signingAt } from '../../postgres/webhooks/secrets.ts';
import { type DueMessage, type RecordedTry, recordTries, type ServerHealth } from '../../postgres/webhooks/tries.ts';
import { type Endpoint, MOST_AT_A_TIME, OPENS_AFTER, type ReadyMessage } from './endpoint.ts';
import { type Outcome, retryDelayMs, type Sender, type Try } from './sender.ts';

/** A tenant's slots, and its webhooks that wait for one since (`performance.now()`), longest wait first. */
interface TenantSlots {
  taken: number;
  failing: number;
  readonly waiting: Map<Endpoint, number>;
}

/** Shares of a tenant's remaining slots for webhooks without a try in flight, and for failing webhooks. */
const FOR_IDLE = 1 / 8;
const FOR_FAILING = 1 / 2;

/**
 * Shares a process's slots for tries among tenants and their webhooks. A tenant may hold at most as many slots as
 * remain free: alone half of them, a second tenant half of the rest, and so on. So some slots stay free for a tenant
 * without any, however long the others' tries take. Shares become equal as slots are given back. The last slots of a
 * tenant's share are for webhooks without any. Failing webhooks share half of all slots in the same way.
 */
class Slots {
  private readonly most: number;
  private readonly tenants = new Map<number, TenantSlots>();
  private all = 0;
  private failing = 0;

  constructor(most: number) {
    this.most = most;
  }

  get taken(): number {
    return this.all;
  }

  /** Whether a webhook may take another slot. */
  isOpenTo({ tenantNo, lanes, health }: Endpoint): boolean {
    const tenant = this.tenants.get(tenantNo);
    const freeSlots = this.most - this.all - (tenant?.taken ?? 0);
    if (freeSlots <= (lanes.inFlight > 0 ? this.most * FOR_IDLE : 0)) return false;
    return health.failures === 0 || this.most * FOR_FAILING - this.failing > (tenant?.failing ?? 0);
  }

  /** Takes a slot. Pass the same `failing` (whether the webhook's last try failed) to `release`. */
  take({ tenantNo }: Endpoint, failing: boolean): void {
    this.add(tenantNo, 1, failing);
  }

  release({ tenantNo }: Endpoint, failing: boolean): void {
    this.add(tenantNo, -1, failing);
    this.tidy(tenantNo);
  }

  wait(endpoint: Endpoint): void {
    const { waiting } = this.tenant(endpoint.tenantNo);
    if (!waiting.has(endpoint)) waiting.set(endpoint, performance.now());
  }

  /** Removes and returns the longest waiting webhook that may take a slot; `null` if there is none. */
  next(): Endpoint | null {
    let longest: { endpoint: Endpoint; sinceMs: number } | null = null;
    for (const { waiting, taken } of this.tenants.values()) {
      if (taken >= this.most - this.all) continue;
      for (const [endpoint, sinceMs] of waiting) {
        if (longest !== null && sinceMs >= longest.sinceMs) break;
        if (!this.isOpenTo(endpoint)) continue;
        longest = { endpoint, sinceMs };
        break;
      }
    }
    if (longest === null) return null;
    const { endpoint } = longest;
    this.tenant(endpoint.tenantNo).waiting.delete(endpoint);
    this.tidy(endpoint.tenantNo);
    return endpoint;
  }

  private tenant(tenantNo: number): TenantSlots {
    let tenant = this.tenants.get(tenantNo);
    if (tenant === undefined) this.tenants.set(tenantNo, (tenant = { taken: 0, failing: 0, waiting: new Map() }));
    return tenant;
  }

  private add(tenantNo: number, slots: 1 | -1, failing: boolean): void {
    const tenant = this.tenant(tenantNo);
    tenant.taken += slots;
    this.all += slots;
    if (!failing) return;
    tenant.failing += slots;
    this.failing += slots;
  }

  private tidy(tenantNo: number): void {
    const { taken, waiting } = this.tenant(tenantNo);
    if (taken === 0 && waiting.size === 0) this.tenants.delete(tenantNo);
  }
}

/** Why Laurel disables a webhook: it answered 410 Gone, or has only failed for days. */
export type DisableReason = 'gone' | 'failing';

interface TriesOptions {
  sender: Pick<Sender, 'send'>;
  recorder: TryRecorder;
  clock: Clock;
  log: Log;
  /** Maximum number of tries in flight in this process. */
  slots?: number | undefined;
  /** Called when messages can be taken from the queue or tried at a certain time. */
  onLater: (later: { atOnce?: true; dueMs?: number; openMs?: number }) => void;
  /** Called for a webhook that must be disabled. Nothing more is sent to it until its target is read again. */
  onHopeless: (endpoint: Endpoint, url: string, reason: DisableReason) => void;
  onTried?: ((outcome: Outcome) => void) | undefined;
  /** Called when an answer arrived, so that tests can stop there. */
  onAnswered?: (() => void | Promise<void>) | undefined;
}

const SLOTS = 2_048;

/** The tries in flight. A free slot goes to the longest waiting webhook that may take it. */
export class Tries {
  private readonly options: TriesOptions;
  private readonly slots: Slots;
  private readonly calledOff = new AbortController();
  private ended = false;

  constructor(options: TriesOptions) {
    this.options = options;
    this.slots = new Slots(options.slots ?? SLOTS);
    // One for each try.
    setMaxListeners(0, this.calledOff.signal);
  }

  /** Starts at most `most` tries of a webhook's messages; the others wait for free slots. */
  begin(endpoint: Endpoint, most = Infinity): void {
    const { recorder, onLater } = this.options;
    const nowMs = performance.now();
    for (let begun = 0; !this.ended && !recorder.isBehind && endpoint.maySend(nowMs); begun += 1) {
      if (begun === most || !this.slots.isOpenTo(endpoint)) {
        if (endpoint.lanes.isReady) this.slots.wait(endpoint);
        break;
      }
      const message = endpoint.lanes.start();
      if (message === null) break;
      void this.make(endpoint, message, endpoint.health.failures > 0);
    }
    if (endpoint.needsMore(nowMs)) onLater({ atOnce: true });
  }

  /** Removes a message from the queue that is missing from the log because its user was deleted. */
  drop(endpoint: Endpoint, message: DueMessage): void {
    endpoint.lanes.ended(message.lane);
    const nothing = { ...message, logged: null, delivered: false, dueMs: null };
    this.options.recorder.add(nothing, null, () => this.recorded(endpoint, message.lane));
  }

  /** Starts no more tries, waits `graceMs` for those in flight, and aborts the others. */
  async end(graceMs: number): Promise<void> {
    this.ended = true;
    const endMs = performance.now() + graceMs;
    while (this.slots.taken > 0 && performance.now() < endMs) await sleep(5);
    this.calledOff.abort();
    while (this.slots.taken > 0) await sleep(1);
  }

  private async make(endpoint: Endpoint, message: ReadyMessage, failing: boolean): Promise<void> {
    const { sender, clock, onAnswered } = this.options;
    // The previous secret may have expired since the target was read.
    const target = signingAt(endpoint.target!, clock.now());
    const { url } = target;
    this.slots.take(endpoint, failing);
    const beganMs = performance.now();
    const tried = await sender.send(target, message, this.calledOff.signal).catch(() => null);
    if (tried !== null) await onAnswered?.();
    this.slots.release(endpoint, failing);
    if (tried === null) endpoint.lanes.calledOff(message.lane);
    else this.settle(endpoint, message, { tried, beganMs, url });
    // Goes behind those already waiting: a webhook does not keep its slot.
    this.slots.wait(endpoint);
    this.handOut();
  }

  private handOut(): void {
    while (!this.ended && !this.options.recorder.isBehind) {
      const next = this.slots.next();
      if (next === null) return;
      this.begin(next, 1);
    }
  }

  private settle(
    endpoint: Endpoint,
    message: ReadyMessage,
    { tried, beganMs, url }: { tried: Try; beganMs: number; url: string },
  ): void {
    const { recorder, clock, onLater, onTried, onHopeless } = this.options;
    const nowMs = clock.now();
    const delivered = tried.outcome === 'delivered';
    const { retryAfterMs } = tried;
    const delayMs = delivered ? null : retryDelayMs(message.tries + 1, { retryAfterMs, random: Math.random() });
    const dueMs = delayMs === null ? null : nowMs + delayMs;
    const health = this.judge(endpoint, tried, { beganMs, nowMs });
    const hopeless = tried.outcome === 'gone' ? 'gone' : endpoint.health.isGivenUp(nowMs) ? 'failing' : null;
    const { atMs: at, durationMs, status, error, answer } = tried;
    const logged = { at, durationMs, status, error, answer };
    // A disabled webhook starts without failures once it is enabled.
    const noted = hopeless === null && endpoint.target !== null ? health : null;
    endpoint.lanes.ended(message.lane);
    recorder.add({ ...message, logged, delivered, dueMs }, noted, () => this.recorded(endpoint, message.lane));
    onTried?.(tried.outcome);
    if (dueMs !== null) onLater({ dueMs });
    if (hopeless === null || endpoint.target === null) return;
    endpoint.target = null;
    endpoint.forget();
    onHopeless(endpoint, url, hopeless);
  }

  /** The webhook's health after a try; `null` if unchanged. */
  private judge(endpoint: Endpoint, tried: Try, { beganMs, nowMs }: { beganMs: number; nowMs: number }) {
    const { health, webhookId, tenantNo } = endpoint;
    const endedMs = performance.now();
    if (tried.outcome === 'delivered') {
      if (!health.succeeded(MOST_AT_A_TIME)) return null;
    } else health.failedTry({ beganMs, endedMs, nowMs });
    const openMs = health.openUntilMs(endedMs);
    if (openMs !== null) {
      endpoint.forget();
      this.options.onLater({ openMs });
      if (health.failures === OPENS_AFTER)
        this.options.log.warn(
          { webhookId, tenantNo, reason: tried.error },
          'a webhook accepts no messages; it is retried from time to time',
        );
    }
    const { failures, failingSinceMs } = health;
    return { webhookId, failures, failingSinceMs, openMs: openMs === null ? 0 : openMs - endedMs };
  }

  private recorded(endpoint: Endpoint, lane: number): void {
    endpoint.lanes.recorded(lane);
    endpoint.mayHaveMore = true;
    this.slots.wait(endpoint);
    this.handOut();
  }
}

interface Entry {
  tried: RecordedTry;
  onRecorded: () => void;
}

interface TryRecorderOptions {
  pool: Pool;
  clock: Clock;
  /** Called when Postgres did not accept outcomes, which are then retried. */
  onFailed: (error: unknown) => void;
  /** Called when Postgres has accepted outcomes, before the consequences; for tests. */
  onRecorded?: (() => void | Promise<void>) | undefined;
}

/** Outcomes within this time are recorded together; a statement then costs a third of single ones. */
const TOGETHER_MS = 10;
const MOST_TOGETHER = 250;
/** This many unrecorded outcomes hold up further tries. */
const MOST_WAITING = 2_000;
const RETRY_MS = 500;

/**
 * Records outcomes in Postgres, several at a time. While Postgres is away they wait in memory. Until they are recorded
 * the messages count as in flight; if the process dies, they are sent again.
 */
export class TryRecorder {
  private readonly options: TryRecorderOptions;
  private waiting: Entry[] = [];
  private health = new Map<string, ServerHealth>();
  private timer: NodeJS.Timeout | null = null;
  private writing: Promise<void> | null = null;
  private failed = false;

  constructor(options: TryRecorderOptions) {
    this.options = options;
  }

  /** Whether too many outcomes wait to start further tries. */
  get isBehind(): boolean {
    return this.waiting.length >= MOST_WAITING;
  }

  /** Records an outcome and calls `onRecorded`. `health`: the webhook's health since, if it changed. */
  add(tried: RecordedTry, health: ServerHealth | null, onRecorded: () => void): void {
    this.waiting.push({ tried, onRecorded });
    if (health !== null) this.health.set(health.webhookId, health);
    if (this.writing === null && !this.failed && this.waiting.length >= MOST_TOGETHER) this.begin();
    else this.timer ??= setTimeout(() => this.begin(), TOGETHER_MS);
  }

  /** Records waiting outcomes; false if Postgres did not accept them. Call it when no try is in flight. */
  async close(): Promise<boolean> {
    await this.writing;
    this.failed = false;
    while (this.waiting.length > 0 && !this.failed) await this.write();
    if (this.timer !== null) clearTimeout(this.timer);
    return this.waiting.length === 0;
  }

  private begin(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.writing ??= this.write().finally(() => {
      this.writing = null;
      if (this.waiting.length > 0) this.timer ??= setTimeout(() => this.begin(), this.failed ? RETRY_MS : 0);
    });
  }

  private async write(): Promise<void> {
    const { pool, clock, onFailed, onRecorded: onWritten } = this.options;
    const entries = this.waiting.slice(0, MOST_TOGETHER);
    const { health } = this;
    this.health = new Map();
    const tries = entries.map(({ tried }) => tried);
    try {
      await recordTries(pool, tries, [...health.values()], clock.now());
    } catch (error) {
      this.failed = true;
      this.health = new Map([...health, ...this.health]);
      onFailed(error);
      return;
    }
    await onWritten?.();
    this.failed = false;
    this.waiting.splice(0, entries.length);
    for (const { onRecorded } of entries) onRecorded();
  }
}
