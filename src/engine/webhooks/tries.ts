/** Tries: starts them within each webhook's share, and records the outcomes. */
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import type { Clock } from '../../clock.ts';
import type { Log } from '../../telemetry/log.ts';
import { signingAt } from '../../postgres/webhooks/secrets.ts';
import { type DueMessage, type RecordedTry, recordTries, type WebhookHealth } from '../../postgres/webhooks/tries.ts';
import { type Endpoint, MOST_AT_A_TIME, OPENS_AFTER, type ReadyMessage } from './endpoint.ts';
import { type Outcome, retryDelayMs, type Sender, type Try } from './sender.ts';

/** What a tenant has of the slots, and which of its webhooks wait for one: since when (`performance.now()`), the longest first. */
interface TenantSlots {
  taken: number;
  failing: number;
  readonly waiting: Map<Endpoint, number>;
}

/** Of the slots so many, that a tenant has left, are for webhooks that have nothing under way; and so many for those that fail. */
const FOR_IDLE = 1 / 8;
const FOR_FAILING = 1 / 2;

/**
 * The tries that a process may have under way, shared between tenants and their webhooks. A tenant may hold as many slots as are
 * free: alone half of them, a second one half of what that leaves, and so on, so that some stay free for a tenant that has
 * none, however long the tries of others take. Shares become equal as slots are given back. The last slots of a tenant's share
 * are for webhooks that have none. Those whose last try failed share half of all slots likewise.
 */
class Slots {
  private readonly most: number;
  private readonly tenants = new Map<number, TenantSlots>();
  private all = 0;
  private failing = 0;

  constructor(most: number) {
    this.most = most;
  }

  /** Slots that are taken. */
  get taken(): number {
    return this.all;
  }

  /** Whether a webhook may have one more. */
  isOpenTo({ tenantNo, lanes, health }: Endpoint): boolean {
    const tenant = this.tenants.get(tenantNo);
    const left = this.most - this.all - (tenant?.taken ?? 0);
    if (left <= (lanes.inFlight > 0 ? this.most * FOR_IDLE : 0)) return false;
    return health.failures === 0 || this.most * FOR_FAILING - this.failing > (tenant?.failing ?? 0);
  }

  /** Takes a slot, which `release` gives back with the same `failing`: whether the webhook's last try failed. */
  take({ tenantNo }: Endpoint, failing: boolean): void {
    this.add(tenantNo, 1, failing);
  }

  release({ tenantNo }: Endpoint, failing: boolean): void {
    this.add(tenantNo, -1, failing);
    this.tidy(tenantNo);
  }

  /** Has a webhook wait for a slot; one that waits keeps its place. */
  wait(endpoint: Endpoint): void {
    const { waiting } = this.tenant(endpoint.tenantNo);
    if (!waiting.has(endpoint)) waiting.set(endpoint, performance.now());
  }

  /** The webhook that has waited longest of those that may have a slot now; it waits no longer. Null: none may. */
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

/** Why Laurel disables a webhook: it answered that it is gone, or has only failed for days. */
export type DisableReason = 'gone' | 'failing';

interface TriesOptions {
  sender: Pick<Sender, 'send'>;
  recorder: TryRecorder;
  clock: Clock;
  log: Log;
  /** Tries that may be under way in this process. */
  slots?: number | undefined;
  /** Called when messages can be taken from the queue, or tried, at some time. */
  onLater: (later: { atOnce?: true; dueMs?: number; openMs?: number }) => void;
  /** Called for a webhook that is to be disabled; nothing more is sent to it until its target is read again. */
  onHopeless: (endpoint: Endpoint, url: string, reason: DisableReason) => void;
  /** Called with every try. */
  onTried?: ((outcome: Outcome) => void) | undefined;
  /** Called when an answer is there: for tests, which stop the world there. */
  onAnswered?: (() => void | Promise<void>) | undefined;
}

const SLOTS = 2_048;

/**
 * The tries under way: begins as many as each webhook, its tenant and this process may have, and has recorded what became of
 * them. A slot that a try leaves goes to the webhook that has waited longest of those that may have one.
 */
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

  /** Begins tries of messages that the webhook's lanes hold, `most` of them at most; for the others it waits until slots are left. */
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

  /** Takes a message from the queue that the log does not have: its user was deleted. */
  drop(endpoint: Endpoint, message: DueMessage): void {
    endpoint.lanes.ended(message.lane);
    const nothing = { ...message, logged: null, delivered: false, dueMs: null };
    this.options.recorder.add(nothing, null, () => this.recorded(endpoint, message.lane));
  }

  /** Begins no more tries; waits `graceMs` for those under way and calls the others off. */
  async end(graceMs: number): Promise<void> {
    this.ended = true;
    const endMs = performance.now() + graceMs;
    while (this.slots.taken > 0 && performance.now() < endMs) await sleep(5);
    this.calledOff.abort();
    while (this.slots.taken > 0) await sleep(1);
  }

  private async make(endpoint: Endpoint, message: ReadyMessage, failing: boolean): Promise<void> {
    const { sender, clock, onAnswered } = this.options;
    // What is known of a webhook may be older than the end of its previous secret.
    const target = signingAt(endpoint.target!, clock.now());
    const { url } = target;
    this.slots.take(endpoint, failing);
    const beganMs = performance.now();
    // Rejects when it is called off: what became of the message is not known then, so it is sent again.
    const tried = await sender.send(target, message, this.calledOff.signal).catch(() => null);
    if (tried !== null) await onAnswered?.();
    this.slots.release(endpoint, failing);
    if (tried === null) endpoint.lanes.calledOff(message.lane);
    else this.settle(endpoint, message, { tried, beganMs, url });
    // Behind those that wait already: a webhook does not keep a slot because its try was the one that ended.
    this.slots.wait(endpoint);
    this.handOut();
  }

  /** Hands out the slots that are free, one at a time. */
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
    // What is disabled begins with no failures once it is enabled.
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

  /** How the webhook fares since a try; null: as before. */
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
          'a webhook takes no messages; it is tried now and then',
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
  /** Called when Postgres did not take tries; they are tried again. */
  onFailed: (error: unknown) => void;
  /** Called when Postgres has taken some, before anything follows from it: for tests. */
  onRecorded?: (() => void | Promise<void>) | undefined;
}

/** Tries that are recorded together come within this time; a statement takes them at a third of what single ones cost. */
const TOGETHER_MS = 10;
const MOST_TOGETHER = 250;
/** So many tries that are not recorded hold further ones up. */
const MOST_WAITING = 2_000;
const RETRY_MS = 500;

/**
 * Records tries in Postgres, some at a time. While Postgres is away they wait in memory: until they are recorded the messages
 * count as under way, and a process that dies has them sent once more.
 */
export class TryRecorder {
  private readonly options: TryRecorderOptions;
  private waiting: Entry[] = [];
  private health = new Map<string, WebhookHealth>();
  private timer: NodeJS.Timeout | null = null;
  private writing: Promise<void> | null = null;
  private failed = false;

  constructor(options: TryRecorderOptions) {
    this.options = options;
  }

  /** Whether so much waits that nothing further should be sent. */
  get isBehind(): boolean {
    return this.waiting.length >= MOST_WAITING;
  }

  /** Has a try recorded. `health`: how its webhook fares since, if that changed. `onRecorded` is called when it is. */
  add(tried: RecordedTry, health: WebhookHealth | null, onRecorded: () => void): void {
    this.waiting.push({ tried, onRecorded });
    if (health !== null) this.health.set(health.webhookId, health);
    if (this.writing === null && !this.failed && this.waiting.length >= MOST_TOGETHER) this.begin();
    else this.timer ??= setTimeout(() => this.begin(), TOGETHER_MS);
  }

  /** Records what waits; false: Postgres did not take it. To be called when no try is under way. */
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
      await recordTries(pool, { tries, health: [...health.values()], nowMs: clock.now() });
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
